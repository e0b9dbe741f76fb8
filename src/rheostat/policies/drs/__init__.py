"""DRS: executors by a queueing model of the topology (see `policy`), and DRS-LB (see `drs_lb`)."""
