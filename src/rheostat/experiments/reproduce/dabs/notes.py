"""How the results are to be read beside the paper's, by figure."""

NOTES: dict[int, tuple[str, ...]] = {
    12: (
        "The order is the paper's, the losses are smaller. AUTOSCALE+ loses next to nothing, where the paper has 7 %: "
        "its few changes come early, when little waits. The incremental strategy changes the degree every minute, and "
        "stands still for half of the rise. Reinforcement learning follows the rate in 14 steps; the paper prints no "
        "loss for it. AUTOSCALE+ uses more units than the incremental strategy here, not fewer: with λ 0.3 it sizes "
        "for executors that are busy for less than a third of the time. Without restarts all three lose next to "
        "nothing, and AUTOSCALE+ is the most expensive of them.",
    ),
    13: (
        "AUTOSCALE+ loses less here than in the paper, the two others more. Reinforcement learning follows every step "
        "of the rate, and each costs a restart and what waits then; without restarts it loses about 8 %, more than "
        "AUTOSCALE+. The incremental strategy moves by one executor, and falls behind at every peak even without "
        "restarts. With them the losses of both differ much from seed to seed.",
    ),
    14: (
        "As on the insensitive topology, and the other way round than in the paper, where reinforcement learning "
        "loses least: what decides here is how often a strategy restarts everything. With OSG the value-dependent "
        "cost changes little beside figure 12.",
    ),
    15: (
        "AUTOSCALE+'s loss is near the paper's 4.8 %, and the incremental strategy loses most, as there. "
        "Reinforcement learning follows every step of the rate and pays a restart for each; without restarts it loses "
        "about 8 %.",
        "The incremental strategy uses fewer units than AUTOSCALE+ here, not more: λ 0.3 asks for many.",
    ),
    16: (
        "AUTOSCALE+ and reinforcement learning lose alike here, within what runs differ by, and less than the paper's "
        "10 %. With six operators AUTOSCALE+ changes one or another of them more than thirty times, and each change "
        "restarts them all: with β 0.2 it is half as often, at half the latency. Without restarts nobody loses "
        "anything to speak of.",
    ),
    17: ("The order is the paper's: AUTOSCALE+ loses least and has the lowest latency, at the most units.",),
}
