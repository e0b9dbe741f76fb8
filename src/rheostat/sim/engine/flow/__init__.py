"""Flow of tuples: from the sources through streams to operators, until a record and all derived from it are done."""
