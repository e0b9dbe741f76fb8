"""What Spark tells about the queries that run, as a snapshot."""
