"""Written by `tools/reference.py`: what type checkers know of the methods of `Dynamics`."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.runtime.packed import Packed
from condyle.specification import Function

Array = NDArray[np.floating]
Out = Array | Packed | Sequence[Array] | Sequence[Packed] | None

def result_of(function: Function) -> type[tuple[object, ...]] | None: ...
def method_of(function: Function) -> Callable[..., object]: ...
def document_of(function: Function) -> str: ...

class InverseDynamicsDerivatives(NamedTuple):
    dtau_dq: Array
    dtau_dv: Array

class ForwardDynamicsDerivatives(NamedTuple):
    da_dq: Array
    da_dv: Array
    da_dtau: Array

class DynamicsDerivatives(NamedTuple):
    da_dq: Array
    da_dv: Array

class Methods:
    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, f_ext: ArrayLike | None = None, out: Out = None) -> Array: ...
    def forward_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None, out: Out = None) -> Array: ...
    def mass_matrix(self, q: ArrayLike, out: Out = None) -> Array: ...
    def mass_matrix_inverse(self, q: ArrayLike, out: Out = None) -> Array: ...
    def inverse_dynamics_derivatives(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, f_ext: ArrayLike | None = None, out: Out = None) -> InverseDynamicsDerivatives: ...
    def forward_dynamics_derivatives(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None, out: Out = None) -> ForwardDynamicsDerivatives: ...
    def dynamics_derivatives(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, Minv: ArrayLike, f_ext: ArrayLike | None = None, out: Out = None) -> DynamicsDerivatives: ...
