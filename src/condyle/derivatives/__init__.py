"""Derivatives of functions, which are functions again: `FUNCTIONS["vjp_fd"]` and its kin."""

from condyle.derivatives.derived import program_of as program_of
from condyle.derivatives.names import KINDS as KINDS
from condyle.derivatives.names import name_of as name_of
