"""What changed: models, groups of inputs, inputs, checkpoints and roles compared."""
