"""The checkpoints of a training run."""
