"""Dynamics parallel in the links: recursions along the tree written as prefix scans over semigroups.

A recursion x_i = step_i(x_parent) can be scanned when the steps between two links compose to something of fixed size,
and composing is associative. Files of elements (sums, rotations, lie, affine, articulated) are such compositions; files
of functions say what is scanned, in terms of the primitives of `links.py`, which each runner brings.
"""
