"""The Spark and the Java that are installed, and what is made once for them: compiled helpers, archived classes."""
