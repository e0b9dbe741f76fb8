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
are service times of 0.15 to 0.5 ms, 15 % of a node's memory for each task, and 0.5 ms of a node's I/O for each record
at each task. With these, word count needs 7 nodes at 3,000/s, or 8 with the 5 % reserve of a plan. A record takes
3.2 ms from node to node and 0.35 ms from process to process: both were fitted to the latencies of Ra-Stream (on 7
nodes) and of the even scheduler for word count at 3,000/s, and are used for everything else. A record from another node
costs its receiver 0.26 ms more processor time, one from another process 0.1 ms.""",
)
