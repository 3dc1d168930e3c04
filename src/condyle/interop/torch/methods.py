"""The methods of `Dynamics` and of users' functions on tensors."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, cast

from condyle import specification
from condyle.calls.dynamics import Dynamics
from condyle.calls.rollouts import shape_warning
from condyle.compile.options import numbers_of_compiled
from condyle.errors import DTypeError, ShapeError
from condyle.interop.gradients import is_plain, layout_of
from condyle.interop.torch.calls import Engine, repeated
from condyle.interop.torch.gradients import Options, called, charted, charts_of, uncharted
from condyle.interop.wrapped import Form, Function, Functions, Maker
from condyle.user.function import CompiledFunction

torch: Any = import_module("torch")


@torch.compiler.assume_constant_result
def _repeated(what: str, *options: Any) -> str:
    """A rollout, which a compiled graph has as a constant."""
    return repeated(what, *options)


@torch.compiler.assume_constant_result
def _warn(message: str) -> None:
    """A compiled graph warns when it is made."""
    shape_warning(message)


class TorchMaker(Maker):
    """What all methods of one object share."""

    framework, gradient = "PyTorch", "backward()"

    def __init__(self, dyn: Dynamics, held: object, user: specification.Function | None, is_tangent: bool) -> None:
        self.engine, options = Engine(dyn, held, user), dyn.__reduce__()[1]
        self.sizes = self.engine.sizes
        layout = layout_of(options.robot)
        compiled = Options(options.target, options.dtype, options.threads, options.device)
        self.charts = None if is_tangent or is_plain(layout) else charts_of(layout, compiled)
        self.dtype: Any = getattr(torch, str(dyn.dtype))
        own = numbers_of_compiled(options)
        self.numbers = {name: torch.from_numpy(value) for name, value in own.items()}

    def what(self, function: specification.Function) -> str:
        return self.engine.what(function)

    def repeated(self, what: str, *options: Any) -> str:
        return _repeated(what, *options)

    def warn(self, message: str) -> None:
        _warn(message)

    def filled(self, shape: tuple[int, ...], value: float, like: Any) -> Any:
        return torch.full(shape, value, dtype=self.dtype, device=getattr(like, "device", None))

    def number(self, name: str, like: Any) -> Any:
        own = self.numbers[name]
        return own.to(like.device) if isinstance(like, torch.Tensor) else own

    def call(self, what: str, form: Form, arguments: Sequence[Any], method: str) -> Any:
        inputs = arguments
        for x in arguments:
            if type(x) is not torch.Tensor or x.dtype is not self.dtype:
                inputs = self._tensors(method, form, arguments)
                break
        if self.charts is None:
            found = called(what, *inputs)
        else:
            pairs = zip(inputs, form.takes, strict=True)
            found = called(what, *[charted(self.charts, x) if is_q else x for x, (_, is_q) in pairs])
            pairs = zip(found, form.gives, strict=True)
            found = [uncharted(self.charts, x) if is_q else x for x, (_, is_q) in pairs]
        return found[0] if form.result is None else form.result(*found)

    def _tensors(self, method: str, form: Form, arguments: Sequence[Any]) -> list[Any]:
        device = next((x.device for x in arguments if isinstance(x, torch.Tensor)), None)
        pairs = zip(form.takes, arguments, strict=True)
        return [self._tensor(method, name, value, device) for (name, _), value in pairs]

    def _tensor(self, method: str, name: str, value: Any, device: Any) -> Any:
        """An argument as a tensor of the right dtype; lists and integers convert."""
        if not isinstance(value, torch.Tensor):
            if value is None or isinstance(value, dict) or hasattr(value, "__dask_graph__"):
                raise DTypeError(f"{method}: {name} is {type(cast(object, value)).__name__}, expected a tensor")
            try:
                return torch.as_tensor(value, dtype=self.dtype, device=device)
            except ValueError as error:  # rows of several lengths
                raise ShapeError(f"{method}: {name} is not a regular array: {error}") from error
            except (TypeError, RuntimeError) as error:
                kind = type(cast(object, value)).__name__
                raise DTypeError(f"{method}: {name} ({kind}) cannot be read as a tensor: {error}") from error
        if value.dtype == self.dtype:
            return value
        if value.is_quantized:
            raise DTypeError(f"{method}: {name} is quantized, expected {self.dtype}: pass {name}.dequantize()")
        if value.is_complex():
            raise DTypeError(f"{method}: {name} is {value.dtype}, expected {self.dtype}: pass {name}.real")
        if value.is_floating_point():
            other = str(value.dtype).removeprefix("torch.")
            cure = f', or compile(dtype="{other}")' if other in ("float32", "float64") else ""
            raise DTypeError(
                f"{method}: {name} is {value.dtype}, expected {self.dtype}: pass {name}.to({self.dtype}){cure}"
            )
        return value.to(self.dtype)


def functions(dyn: Dynamics, is_tangent: bool) -> Functions:
    """The functions of a robot on tensors."""
    return Functions(dyn, TorchMaker(dyn, dyn, None, is_tangent), (functions, (dyn, is_tangent)))


def function(compiled: CompiledFunction, is_tangent: bool) -> Function:
    """A user's function on tensors."""
    made = TorchMaker(compiled.dynamics, compiled, compiled.specification, is_tangent)
    return Function(compiled, made, (function, (compiled, is_tangent)))
