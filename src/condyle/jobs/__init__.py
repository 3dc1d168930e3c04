"""What users do with a robot, made of its functions."""
