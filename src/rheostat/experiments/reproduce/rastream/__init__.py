"""Ra-Stream (Fan et al.): few nodes, tasks with much traffic together, compared with SP-Ant and Storm's scheduler."""

from rheostat.experiments.reproduce.reproduction import Paper

PAPER = Paper(
    name="rastream",
    title="Ra-Stream: A fine-grained task scheduling strategy for resource auto-scaling",
    about="""Fan, Sun, Wu, Gao and Buyya: A fine-grained task scheduling strategy for resource auto-scaling over
fluctuating data streams.

The paper's cluster on the simulator: 14 nodes with two cores and two workers of two tasks each, and one queue per task.
Records go to the nearest task that keeps up, as Storm 2 shuffles them; words are counted by key. The 10 tasks of word
count in the paper's figure 2 cannot fill its 14 nodes. It has 20 here, as many as 5 nodes hold, the fewest that the
paper's figure 15 has, and 5 of each operator: then 4, 3 and 2 tasks fill a node at the rates at which the paper uses 5,
7 and 10 nodes. DEBS 2024 has 27, because it never uses fewer than 7.

The paper states neither service times, nor the memory and I/O demands of tasks, nor the costs of eq. 22 and 23. Chosen
are service times of 0.075 to 0.25 ms, with which a task can process its part of the paper's highest rates (figure 13),
and 15 % of a node's memory for each task. A node reads one record after the other, 0.33 ms for each at each task and
0.03 ms more if it comes from another node; a task waits for that. A record takes 2.8 ms from node to node and 0.2 ms
from process to process, and costs its receiver 0.13 or 0.05 ms more processor time. I/O, memory, these times and the
tasks were chosen, with one seed, by the latencies of figure 9 and by the nodes of figures 15 and 16 at all rates: I/O
of 0.33 ms with Ra-Stream's usual reserve of 5 %, from 0.27 ms with 30 % and 0.30 ms with 20 %. The claims of these
three figures are therefore not counted. SP-Ant fills a node up to 55 %, which gives it the lowest latency of word count
at 3,000/s: 8.2 ms; 10.0, 8.7 and 8.7 ms with 40, 70 and 80 %.""",
)
