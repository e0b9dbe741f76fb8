"""What Spark tells about a topology that runs, as a snapshot."""
