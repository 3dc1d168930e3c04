"""Derivatives of functions, which are functions again: `vjp(FORWARD_DYNAMICS)` and its kin."""

from condyle.derivatives.ports import KINDS as KINDS
from condyle.derivatives.ports import columns_of as columns_of
from condyle.derivatives.ports import derivative as derivative
from condyle.derivatives.ports import hessian as hessian
from condyle.derivatives.ports import jacobian as jacobian
from condyle.derivatives.ports import jvp as jvp
from condyle.derivatives.ports import taking as taking
from condyle.derivatives.ports import vjp as vjp
