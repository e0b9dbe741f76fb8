"""How the results are to be read beside the paper's, by figure."""

NOTES: dict[int, tuple[str, ...]] = {
    12: (
        "With half a minute of restart AUTOSCALE+ loses less than the paper's 7 % and the incremental strategy "
        "more than its 29 %: a restart is as long as the timeout, so a few changes cost next to nothing, while a "
        "strategy that changes the degree every minute stands still for half of the rise. Reinforcement learning "
        "follows the rate in 14 steps and does not see the queue that its restarts leave; the paper prints no "
        "loss for it. AUTOSCALE+ uses more units than the incremental strategy here, not fewer: with λ 0.3 it "
        "sizes for executors that are busy for less than a third of the time. Without restarts all three lose "
        "next to nothing, and AUTOSCALE+ is the most expensive of them.",
    ),
    13: (
        "Reinforcement learning comes out worse here than in the paper: it follows every step of the rate, pays a"
        " restart for each, and lets executors go while its queues are still long. Without restarts it loses "
        "about 8 %, less than the incremental strategy and more than AUTOSCALE+. Its runs with restarts differ "
        "much from seed to seed.",
    ),
    14: (
        "As on the insensitive topology, and the other way round than in the paper, where reinforcement learning "
        "loses least: what decides here is how often a strategy restarts everything. With OSG the value-dependent"
        " cost changes little beside figure 12.",
    ),
    15: (
        "Reinforcement learning comes out worse here than in the paper: it follows every step of the rate, pays a"
        " restart for each, and lets executors go while its queues are still long. Without restarts it loses "
        "about 8 %, less than the incremental strategy and more than AUTOSCALE+. Its runs with restarts differ "
        "much from seed to seed.",
        "The incremental strategy uses fewer units than AUTOSCALE+ here, not more: λ 0.3 asks for many.",
    ),
    16: ("The order is the paper's. Three runs leave wide intervals for the losses.",),
    17: ("The order is the paper's: AUTOSCALE+ loses least and has the lowest latency, at the most units.",),
}
