"""DABS-Storm (Kotto Kombi et al., 2019): AUTOSCALE+ scales ahead of the load, OSG balances within operators."""

from rheostat.experiments.reproduce.reproduction import Paper

PAPER = Paper(
    name="dabs",
    title="DABS-Storm: A Data-Aware Approach for Elastic Stream Processing",
    about="Kotto Kombi, Lumineau, Lamarre, Rivetti and Busnel, Transactions on Large-Scale Data- and "
    "Knowledge-Centered Systems 40, 2019.\n\n"
    "Three topologies under two input streams, with four strategies that change degrees: AUTOSCALE+ (`dabs`, with the "
    "β of table 2 and with a β near 0, which section 6 asks for together with OSG), the incremental strategy with "
    "thresholds on processor use (`threshold`), reinforcement learning (`q-learning`, trained on the test streams as "
    "in the paper), and the static strategy with one executor for each operator. Nine machines with two cores and four "
    "slots each. As in the paper, all strategies use round robin on the insensitive topology and OSG on the others. "
    "Counters are read every 10 s; a record that takes longer than 30 s counts as lost.\n\n"
    "The paper shows rates only as curves and does not state how long a change of degree takes. Chosen here are "
    "streams of 40 minutes, service times with which one executor cannot keep up and 6 to 7 of the 18 cores are busy "
    "at the peak, half a minute for Storm's restart of the whole topology at each change, which loses the backlog of "
    "the operators that change, and at least a minute between two changes. The last two durations were chosen from "
    "four combinations tried with one seed, when restarts did not yet lose records; losses depend on them. α of eq. 12 "
    "and 13 is 0.6. The two rivals are shown with the best of three settings of their own, by loss: thresholds, and "
    "levels of the rate that are told apart; the fewer of these, the fewer restarts. Nothing is measured during a "
    "restart. Each table has the results with restarts, which are comparable with the paper's and "
    "decide about its claims, and without restarts.",
)
