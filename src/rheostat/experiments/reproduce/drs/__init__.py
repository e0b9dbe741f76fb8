"""DRS (Fu et al., 2017): optimal allocation with a queueing model, and reallocation at run time."""

from rheostat.experiments.reproduce.reproduction import Paper

PAPER = Paper(
    name="drs",
    title="DRS: Auto-Scaling for Real-Time Stream Analytics",
    about="""Fu, Ding, Ma, Winslett, Yang and Zhang, IEEE/ACM Transactions on Networking, 2017.

The paper's two applications run on the simulator with one queue per executor, a network between five machines (5 ms),
and the features of a frame emitted in bulk; with one shared M/M/k queue the model would only confirm itself. Frames,
features and tweets are dealt to executors in turn, as in the authors' published topologies (Storm's shuffle grouping);
candidate patterns, which have state, are hashed, and so is what goes to the last operator. The paper does not state the
rates λ and μ. They are chosen so that the model recommends the paper's allocations:

| application | λ0 | records at each operator per input record | mean service times |
| --- | --- | --- | --- |
| VLD, many logos (figures 6 to 8) | 13 frames/s, drawn each second from 1 to 25 | 1, 8 at once, 8 | 440, 66.25, 2 ms |
| VLD, few logos (figures 9 and 10) | 5 to 18 frames/s | 1, 4 at once, 4 | 210, 80, 4 ms |
| FPD | 320 tweets/s (160 enter, 160 leave) | 1, 3.16 (5 % of them through the loop), 0.32 | 12.5, 9.1, 16.82 ms |

Service times vary like exponential ones (log-normal, squared coefficient of variation 1) unless stated otherwise. DRS
runs as published: M/M/k, arrivals as measured, no margin, no cost of an action, one turn per minute.""",
)
