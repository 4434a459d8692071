"""Two inputs."""
