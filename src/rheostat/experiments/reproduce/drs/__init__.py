"""DRS (Fu et al., 2017): optimal allocation by a model of queues, and re-allocation at run time."""

from rheostat.experiments.reproduce.reproduction import Paper

PAPER = Paper(
    name="drs",
    title="DRS: Auto-Scaling for Real-Time Stream Analytics",
    about="Fu, Ding, Ma, Winslett, Yang and Zhang, IEEE/ACM Transactions on Networking, 2017.",
)
