"""Dynamics parallel in the links: recursions along the tree written as prefix scans over semigroups.

A recursion x_i = step_i(x_parent) can be scanned if the composition of the steps of a segment of links has a fixed
size, and composition is associative. Such a composition is called an element. Files of elements: sums, rotations, lie,
affine, articulated. Files of functions: inverse_dynamics, forward_dynamics, derivatives, solve (a link a lane),
segments (a segment of links a lane). They are written with the primitives of `links.py`, which each runner implements.
"""
