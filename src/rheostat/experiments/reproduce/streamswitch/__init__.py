"""StreamSwitch: latency guarantees for keyed operators, by scaling and by moving substreams."""

from rheostat.experiments.reproduce.reproduction import Paper

PAPER = Paper(
    name="streamswitch",
    title="StreamSwitch: Fulfilling Latency Service-Layer Agreement for Stateful Streaming",
    about="""Each operator has 64 substreams, and each executor has its own queue. A switch pauses the two executors
involved for 0.3 s (0.5 s in figures 14 and 15) plus the transfer time of 1 MB of state per substream; a new executor
takes a second to start. l = δ = 0.1 s, η = 1/8, (L, T) = (1 s, 1 s) unless stated otherwise. The success rate is the
share of windows of one second that meet L, computed for each substream from true latencies, averaged over substreams.

Input rates and service rates are a twentieth of the paper's, and runs take minutes instead of hours:

| experiment | λ (records/s) | μ per executor | keys |
| --- | --- | --- | --- |
| orders (figures 5 to 9, 17) | 500 to 1,500, spikes of 80,000 and 70,000 | 180/s | 1,156 stocks |
| Q8 (10, 11) | 1,500 ± 1,500 | 200/s | 1,000, Zipf 0.3 |
| Q2 (12, 13) | 1,500 ± 500 | 200/s, α times that for odd executors | 1,000, Zipf 0.3 |
| Q5 (14, 15) | 1,500 ± 500 to 1,500 | 500/s | 1,000, Zipf 0.3 |
| word count (16) | 750 ± 25 % sentences, 3,000 words | 100/s and 200/s | 1,000, words Zipf 0.5 |

The heaviest stock has over 2 % of the orders and the top 1 % of stocks over 10 %; the hot stocks change every minute.

DRS is the variant that the paper compares with: M/M/k with (1 − ε)μ, where StreamSwitch chooses the substreams that
move, one executor at a time. DRS-LB also balances load while DRS holds (the policy `drs-lb` with
`substreams=switched`, for DRS also `balance=false`).""",
)
