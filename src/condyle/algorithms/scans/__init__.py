"""Dynamics parallel in the links: recursions along the tree written as scans over semigroups.

A recursion x_i = step_i(x_parent) can be scanned when the steps between two links compose to something of fixed size,
and composing is associative. Each file of elements here (sums, turns, lie, affine, articulated) is one such
composition.
"""
