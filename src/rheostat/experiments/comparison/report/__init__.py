"""Report: a comparison as one HTML page with pictures, without any other file."""
