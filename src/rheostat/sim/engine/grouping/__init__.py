"""Which executor a record goes to, compiled: what `rheostat.grouping` says, on the tables of the event loop."""
