"""DABS-Storm (Kotto Kombi et al., 2019): AUTOSCALE+ sets degrees ahead of the load, OSG balances within operators."""

from rheostat.experiments.reproduce.reproduction import Paper

PAPER = Paper(
    name="dabs",
    title="DABS-Storm: A Data-Aware Approach for Elastic Stream Processing",
    about="Kotto Kombi, Lumineau, Lamarre, Rivetti and Busnel, Transactions on Large-Scale Data- and "
    "Knowledge-Centered Systems 40, 2019.\n\n"
    "Three topologies under two streams, with four strategies that change degrees: AUTOSCALE+ (`dabs`, with the β of "
    "its table 2 and with one near 0, as its section 6 asks for beside OSG), the incremental one by thresholds on "
    "processor use (`threshold`), reinforcement learning (`q-learning`, trained on the test streams, as there), and "
    "the static one with one executor for each operator. Nine machines with two cores and four slots. As in the paper "
    "every strategy goes round robin on the insensitive topology and has OSG on the others. Counters are read every "
    "10 s; a record that takes longer than 30 s counts as lost.\n\n"
    "The paper draws rates and prints none, and does not say how long a change of degree takes. Chosen here are "
    "streams of 40 minutes, service times for which one executor cannot keep up and 6 to 7 of the 18 cores are busy at "
    "the peak, half a minute for Storm's restart of the whole topology at each change, which loses what waits at the "
    "operators that change, and a minute at least between two changes. Those two lengths were settled after a look at "
    "four combinations of them on one seed, when a restart here did not lose anything yet: how much is lost depends on "
    "them. Nothing is measured while a restart lasts. Each table has the results with the restart, "
    "which are the ones to set beside the paper's and from which its claims are judged, and without it.",
)
