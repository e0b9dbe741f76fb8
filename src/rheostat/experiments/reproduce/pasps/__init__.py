"""PA-SPS (Wladdimiro et al., 2024): replicas from a forecast of the input."""

from rheostat.experiments.reproduce.reproduction import Paper

PAPER = Paper(
    name="pasps",
    title="PA-SPS: A predictive adaptive approach for an elastic stream processing system",
    about="""Wladdimiro, Arantes, Sens and Hidalgo, Journal of Parallel and Distributed Computing 192, 2024.

As in the paper td is 30 s, forecasts are made from 100 samples of 1 s, a queue holds 100,000 events, and every operator
has one queue. The execution time of an event is not printed; it is exponential here, with a mean for which
over-provisioned replicas come near the paper's latency. All replicas of the pool are started and warm: an activation
takes no time. Saved resources count the active ones, as there; whoever also pays for the inactive ones saves nothing.

Neither the paper's Twitter data nor its DNS and log data come with the package. Inputs are generated from what the
paper says about them; `--traces DIR` uses recorded ones in their place, a row for each second: rates of the paper's own
sample application for Twitter's stream, and from the Numenta Anomaly Benchmark mentions of Amazon for the raw one,
requests to a load balancer for DNS, and mentions of Facebook, which have high peaks, for the logs. The predictors get
the number of the second as their only feature, as the paper's own service has it.

How to read the differences. r = λ·et/td leaves no reserve: whatever a forecast misses waits for the next decision, up
to 30 s, so a mean latency is a few misses shared out over all events, and it differs more than saved resources do. FFT
without a trend expects the beginning of its window again, which is right for a stationary input and far off on a wave
that the window does not hold as a whole. The network is trained on scaled samples here; on unscaled ones, as printed,
its forecast depends on the unit of the samples.

That the lowest error is not the best control is the paper's observation, and shows here on the generated logs and on
the recorded inputs of tables 6 to 8; on the others one predictor is best in both. Differences in latency are often
within their intervals. Most telling is the recorded table 7, where Holt-Winters has the largest error and the lowest
latency, and in the picture latency follows from what is saved: what is expected beyond need costs replicas, not
latency. The paper's own table 7 looks the same, with FFT in that place.""",
)
