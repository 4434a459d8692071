"""What needs both legs: load and check a model, measure a corpus, write a report."""
