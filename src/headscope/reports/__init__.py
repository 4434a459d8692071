"""The report: one page about a model."""
