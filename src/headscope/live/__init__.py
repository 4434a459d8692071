"""The explorer of a model: views that can run it again."""
