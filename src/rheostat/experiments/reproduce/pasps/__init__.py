"""PA-SPS (Wladdimiro et al., 2024): replicas computed from a forecast of the input."""

from rheostat.experiments.reproduce.reproduction import Paper

PAPER = Paper(
    name="pasps",
    title="PA-SPS: A predictive adaptive approach for an elastic stream processing system",
    about="""Wladdimiro, Arantes, Sens and Hidalgo, Journal of Parallel and Distributed Computing 192, 2024.

As in the paper, td is 30 s, forecasts are made from 100 samples of 1 s, every replica has a queue of 100,000 events,
and Algorithm 1 gives the next event to the replica that was least busy. The paper does not state the execution time of
an event; it is exponential here, with a mean for which over-provisioned replicas come close to the paper's latency. All
replicas of the pool are started and warm, so that an activation takes no time. Saved resources count only active
replicas, as in the paper; if inactive replicas are paid for as well, nothing is saved.

The package does not include the paper's Twitter, DNS and log data. Inputs are generated from the paper's description of
them. `--traces DIR` uses recorded inputs instead, one row per second: rates of the paper's own sample application for
the Twitter stream, and data of the Numenta Anomaly Benchmark for the others: mentions of Amazon for the raw stream,
requests to a load balancer for DNS, and mentions of Facebook, which have high peaks, for the logs. The only feature of
the predictors is the number of the second, as in the paper's own service.

How to read the differences: r = λ·et/td leaves no reserve. Input that a forecast misses waits for the next decision, up
to 30 s. The mean latency therefore comes from a few misses and varies more than saved resources. FFT without a trend
predicts that the beginning of its window repeats, which is right for a stationary input and far off for a wave that is
longer than the window; the row "FFT, trend" has one. ANN is the network as the authors' service has it, trained on
plain samples: its forecast then depends on their unit, which is events per second here, up to 230 of them (86 for DNS)
in the generated inputs. The row "ANN, scaled" has samples between 0 and 1, as the policy `pa-sps` uses them.

The paper observes that the predictor with the lowest error does not give the best control: input that is overestimated
costs replicas, not latency. Differences in latency are often within their confidence intervals.""",
)
