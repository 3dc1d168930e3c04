"""Numbers of the robot as inputs."""
