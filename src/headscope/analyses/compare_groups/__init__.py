"""Two groups of inputs."""
