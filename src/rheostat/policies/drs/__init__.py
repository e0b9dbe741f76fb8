"""DRS (Fu et al., IEEE/ACM ToN 2017): executors where queueing theory says they shorten the way most."""
