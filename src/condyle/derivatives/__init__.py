"""Derivatives of functions, which are functions again: `vjp(FORWARD_DYNAMICS)` and its kin."""

from condyle.derivatives.derived import columns_of as columns_of
from condyle.derivatives.derived import derivative as derivative
from condyle.derivatives.derived import hessian as hessian
from condyle.derivatives.derived import jacobian as jacobian
from condyle.derivatives.derived import jvp as jvp
from condyle.derivatives.derived import taking as taking
from condyle.derivatives.derived import vjp as vjp
from condyle.specification.names import DERIVATIVE_KINDS as DERIVATIVE_KINDS
