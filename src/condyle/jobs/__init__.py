"""What users do with a robot, made of its functions and nothing else.

`closures` (states that close a robot's loops), `inverse_kinematics`, `controllers` (of arms and legs, with limits).
"""
