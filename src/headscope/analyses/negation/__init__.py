"""Negation scope."""
