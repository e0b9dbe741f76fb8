"""StreamSwitch: latency guarantees for keyed operators, by scaling and by moving substreams."""

from rheostat.experiments.reproduce.reproduction import Paper

PAPER = Paper(
    name="streamswitch",
    title="StreamSwitch: Fulfilling Latency Service-Layer Agreement for Stateful Streaming",
    about="""Each operator has 64 substreams, and each executor a queue of its own. A switch pauses the two executors it
is between for 0.3 s (0.5 s in figures 14 and 15) and the time for 1 MB of state of each substream; a new executor takes
a second to start. l = δ = 0.1 s, η = 1/8, (L, T) = (1 s, 1 s) unless said otherwise. Success is the share of
windows of a second that meet L, for each substream by the true latencies, and its mean over substreams.

Rates are a twentieth of the paper's and so is what an executor serves, and runs take minutes instead of hours:

| experiment | λ (records/s) | μ of an executor | keys |
| --- | --- | --- | --- |
| orders (figures 5 to 9, 17) | 500 to 1,500, spikes of 80,000 and 70,000 | 180/s | 1,156 stocks |
| Q8 (10, 11) | 1,500 ± 1,500 | 200/s | 1,000, Zipf 0.3 |
| Q2 (12, 13) | 1,500 ± 500 | 200/s, odd ones α times that | 1,000, Zipf 0.3 |
| Q5 (14, 15) | 1,500 ± 500 to 1,500 | 500/s | 1,000, Zipf 0.3 |
| word count (16) | 750 ± 25 % sentences, 3,000 words | 100/s and 200/s | 1,000, words Zipf 0.5 |

The heaviest stock has over 2 % of the orders and the top 1 % over 10 %; every minute other stocks are the hot ones.

DRS is the one that the paper compares with: M/M/k with (1 − ε)μ, its sizes realised by StreamSwitch's choice of
substreams, one executor at a time; DRS-LB balances load while DRS holds (the policy `drs-lb` with
`substreams=switched`, for DRS also `balance=false`).""",
)
