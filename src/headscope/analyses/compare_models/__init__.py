"""Two models."""
