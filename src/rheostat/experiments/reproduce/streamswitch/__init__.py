"""StreamSwitch: latency guarantees for keyed operators, by scaling and by moving substreams."""

from rheostat.experiments.reproduce.reproduction import Paper

PAPER = Paper(
    name="streamswitch",
    title="StreamSwitch: Fulfilling Latency Service-Layer Agreement for Stateful Streaming",
    about="""Each operator has 64 substreams, and each executor has its own queue. A switch pauses the two executors
involved for 0.6 s plus the transfer time of 1 MB of state per substream (Samza; figures 5 to 9 and 16 to 18); with
Flink (figures 10 to 15 and 18) both first do what is before the barrier in their queues, and wait for each other. The
paper does not state these times: 0.6 s let the latency of the substreams that move overshoot a second slightly, as in
its figures 7 to 9; for the queries over auctions on Flink it is 0.3 s, with which a switch takes half a second at
first, as in figure 14. A new executor takes a second to start. l = δ = 0.1 s, η = 1/8, (L, T) = (1 s, 1 s) unless
stated otherwise. The success rate is the share of windows of one second that meet L, computed for each substream from
true latencies, averaged over substreams.

Rates and periods are the paper's; runs take minutes instead of hours:

| experiment | λ (records/s) | μ per executor | keys |
| --- | --- | --- | --- |
| orders (figures 5 to 9, 17 and 18) | 600 to 2,600, spikes of 80,000 and 70,000 | 195/s | 1,156 stocks |
| Q8 (10, 11) | 30,000 ± 30,000 | 4,000/s | 1,000, Zipf 0.3 |
| Q2 (12, 13) | 30,000 ± 10,000 | 4,000/s, α times that for odd executors | 1,000, Zipf 0.3 |
| Q5 (14, 15) | 30,000 ± 10,000 to 30,000 | 10,000/s | 1,000, Zipf 0.3 |
| word count (16) | 15,000 ± 25 % sentences, 60,000 words | 2,000/s and 4,000/s | 1,000, words Zipf 0.5 |

The paper does not state the service rates of the orders and of Q8; that of the orders lets Switch(0.2) use about as
many executors as in the paper. The heaviest stock has over 2 % of the orders and the top 1 % of stocks over 10 %; the
hot stocks change every minute.

DRS is the variant that the paper compares with: M/M/k with (1 − ε)μ, where StreamSwitch chooses the substreams that
move, one executor at a time. DRS-LB also balances load while DRS holds (the policy `drs-lb` with
`substreams=switched`, for DRS also `balance=false`).""",
)
