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
}
