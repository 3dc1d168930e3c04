"""Functions of a robot on masked arrays of NumPy: a state with a masked entry has masked answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from condyle.calls.dynamics import Dynamics
from condyle.calls.rollouts import Options
from condyle.compile.options import numbers_of
from condyle.interop.wrapped import Form, Functions, Maker
from condyle.specification import Function


class MaskedMaker(Maker):
    """What all methods share."""

    framework, gradient = "numpy.ma", "vjp of a function"

    def __init__(self, dyn: Dynamics) -> None:
        self._dyn, self.sizes, options = dyn, dyn.sizes, dyn.__reduce__()[1]
        self.numbers = numbers_of(options.robot, options.inputs, options.dtype, options.contacts)

    def what(self, function: Function) -> Function:
        return function

    def repeated(self, what: Function, *options: Any) -> Function:
        return Options(*options).repeated(what)

    def number(self, name: str, like: Any) -> Any:
        return self.numbers[name]

    def filled(self, shape: tuple[int, ...], value: float, like: Any) -> Any:
        return np.full(shape, value, self._dyn.dtype)

    def call(self, what: Function, form: Form, arguments: Sequence[Any], method: str) -> Any:
        """Only states without masked entries are computed."""
        dims = [spec.dims for spec in self._dyn.binder(what).specs[0]]
        arrays = [np.ma.asarray(x, self._dyn.dtype) for x in arguments]
        axes = [tuple(range(-len(d), 0)) for d in dims]
        masks = [np.ma.getmaskarray(x).any(axis=axis) for x, axis in zip(arrays, axes, strict=True)]
        whole = ~np.any(np.broadcast_arrays(*masks), axis=0)
        inputs = [np.broadcast_to(x.data, whole.shape + d)[whole] for x, d in zip(arrays, dims, strict=True)]
        parts = self._dyn.function(what)(*inputs)
        answers: list[Any] = []
        for part in (parts,) if form.result is None else parts:
            answers.append(np.ma.array(np.zeros(whole.shape + part.shape[1:], part.dtype), mask=True))
            answers[-1][whole] = part
        return answers[0] if form.result is None else form.result(*answers)


def wrap(dyn: Dynamics) -> Functions:
    """The functions of a robot on masked arrays."""
    return Functions(dyn, MaskedMaker(dyn), (wrap, (dyn,)))
