"""The roles of two models."""
