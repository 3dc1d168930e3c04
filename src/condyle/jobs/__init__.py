"""What users do with a robot, made of its functions and nothing else.

`closures` (states that close a robot's loops).
"""
