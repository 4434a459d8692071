"""Dimensions of queries and keys that carry a pattern."""
