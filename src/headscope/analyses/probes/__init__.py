"""Probing classifiers for trees."""
