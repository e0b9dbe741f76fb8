"""Ra-Stream (Fan et al.): few nodes, tasks with much traffic together, compared with SP-Ant and Storm's scheduler."""

from rheostat.experiments.reproduce.reproduction import Paper

PAPER = Paper(
    name="rastream",
    title="Ra-Stream: A fine-grained task scheduling strategy for resource auto-scaling",
    about="""Fan, Sun, Wu, Gao and Buyya: A fine-grained task scheduling strategy for resource auto-scaling over
fluctuating data streams.

The paper's cluster on the simulator: 14 nodes with two cores and two workers of two tasks each, and one queue per task.
Records go to the nearest task that keeps up, as Storm 2 shuffles them; words are counted by key. Word count has 4, 6, 6
and 4 tasks, because the 10 of the paper's figure 2 cannot fill its 14 nodes; DEBS 2024 has 23.

The paper states neither service times, nor the memory and I/O demands of tasks, nor the costs of eq. 22 and 23. Chosen
are service times of 0.15 to 0.5 ms and 15 % of a node's memory for each task. A node reads one record after the other,
0.33 ms for each at each task and 0.03 ms more if it comes from another node; a task waits for that. A record takes 2.8
ms from node to node and 0.2 ms from process to process. I/O, memory and these times were chosen from six combinations,
tried with one seed, by the latencies of figure 9 and by the nodes of figures 15 and 16 at all rates; so was Ra-Stream's
reserve, 12 % more load than was measured, of 5, 12 and 20 %, because records follow a task to its new node. The claims
of these three figures are therefore not counted. A record from another node costs its receiver 0.26 ms more processor
time, one from another process 0.1 ms. SP-Ant fills a node up to 55 %, which gives it the lowest latency of word count
at 3,000/s: 9.7 ms; 11.6, 21.6 and 13.5 ms with 40, 70 and 80 %.""",
)
