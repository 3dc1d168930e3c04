"""The methods of `Dynamics` and of users' functions on tensors: arguments by position or by name, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple, cast

from condyle.derivatives.names import name_of, parsed
from condyle.dynamics import Dynamics
from condyle.errors import DTypeError, UnsupportedError
from condyle.functions import FUNCTIONS, variant
from condyle.interop.gradients import is_plain, layout_of
from condyle.interop.torch_calls import Engine
from condyle.interop.torch_charts import Options, charts_of
from condyle.interop.torch_gradients import called, charted, uncharted
from condyle.interop.torch_rollouts import Rollout
from condyle.methods import document_of, result_type
from condyle.options import numbers_of
from condyle.packing import known_function
from condyle.specification import F_EXT
from condyle.user.function import CompiledFunction

torch: Any = import_module("torch")


class Form(NamedTuple):
    """A function as it is called: see `form_of`.

    what: as in `torch_calls`. takes: names of inputs, and gives: of answers, each with whether it is a configuration.
    """

    what: str
    takes: tuple[tuple[str, bool], ...]
    gives: tuple[tuple[str, bool], ...]
    result: Any


class Maker:
    """What all methods of one object share."""

    def __init__(self, dyn: Dynamics, held: object, named: str, is_tangent: bool) -> None:
        self.engine, options = Engine(dyn, held, named), dyn.__reduce__()[1]
        layout = layout_of(options.robot)
        compiled = Options(options.target, options.dtype, options.threads, options.device)
        self.charts = None if is_tangent or is_plain(layout) else charts_of(layout, compiled)
        self.dtype: Any = getattr(torch, str(dyn.dtype))
        own = numbers_of(options.robot, options.inputs, options.dtype)
        self.numbers: dict[str, Any] = {name: torch.from_numpy(value) for name, value in own.items()}

    def form(self, name: str) -> Form:
        """A function by its short name."""
        function, known = FUNCTIONS[name], parsed(name)
        named = function.outputs if known is None or known.kind != "vjp" else known.base.inputs
        parts = tuple(port.name for port in named)
        return Form(
            f"|{self.engine.key}|{name}",
            tuple((port.name, port.dims[-1:] == ("nq",)) for port in function.inputs),
            tuple((part, port.dims[-1:] == ("nq",)) for part, port in zip(parts, function.outputs, strict=True)),
            result_type(function.method, parts) if len(parts) > 1 else None,
        )

    def own(self, name: str) -> list[str]:
        """The numbers that are inputs of a function."""
        return [number for number in self.numbers if number in FUNCTIONS[name].numbers]

    def number(self, name: str, like: Any) -> Any:
        """A number of the robot itself, where the argument `like` lies."""
        own = self.numbers[name]
        return own.to(like.device) if isinstance(like, torch.Tensor) else own

    def call(self, what: str, form: Form, given: Sequence[Any], method: str) -> Any:
        """The answers: a tensor, or the named tuple. what: as in `torch_calls`; form: how it is called."""
        inputs = given
        for x in given:
            if type(x) is not torch.Tensor or x.dtype is not self.dtype:
                inputs = self._tensors(method, form, given)
                break
        if self.charts is None:
            found = called(what, *inputs)
        else:
            pairs = zip(inputs, form.takes, strict=True)
            found = called(what, *[charted(self.charts, x) if is_q else x for x, (_, is_q) in pairs])
            pairs = zip(found, form.gives, strict=True)
            found = [uncharted(self.charts, x) if is_q else x for x, (_, is_q) in pairs]
        return found[0] if form.result is None else form.result(*found)

    def _tensors(self, method: str, form: Form, given: Sequence[Any]) -> list[Any]:
        device = next((x.device for x in given if isinstance(x, torch.Tensor)), None)
        pairs = zip(form.takes, given, strict=True)
        return [self._tensor(method, name, value, device) for (name, _), value in pairs]

    def _tensor(self, method: str, name: str, value: Any, device: Any) -> Any:
        """An argument as a tensor of the right dtype; lists and integers convert."""
        if not isinstance(value, torch.Tensor):
            if value is None or isinstance(value, dict) or hasattr(value, "__dask_graph__"):
                raise DTypeError(f"{method}: {name} is {type(cast(object, value)).__name__}, expected a tensor")
            return torch.as_tensor(value, dtype=self.dtype, device=device)
        if value.dtype == self.dtype:
            return value
        if value.is_floating_point() or value.is_complex():
            other = str(value.dtype).removeprefix("torch.")
            cure = f', or compile(dtype="{other}")' if other in ("float32", "float64") else ""
            raise DTypeError(
                f"{method}: {name} is {value.dtype}, expected {self.dtype}: pass {name}.to({self.dtype}){cure}"
            )
        return value.to(self.dtype)


class Method:
    """A function, or a derivative, of tensors.

    plain, forced: names of the function without external forces and with them, if it takes them.
    """

    def __init__(
        self, maker: Maker, plain: str, forced: str | None, numbers: Sequence[str], always: bool = False
    ) -> None:
        function = FUNCTIONS[plain]
        self._maker, self._forced = maker, None if forced is None else maker.form(forced)
        self._plain = self._forced if always and self._forced is not None else maker.form(plain)
        self.__name__, self.__doc__ = function.method, document_of(function)
        options = [*([] if forced is None else [F_EXT.name]), *numbers]
        self._tangents: dict[str, str] = {f"d{name}": name for name in options} if plain.startswith("jvp_") else {}
        options += self._tangents
        self._taken = [name for name, _ in self._plain.takes if name not in options]
        self._order = [*self._taken, *options]
        self._forces = {F_EXT.name, f"d{F_EXT.name}"}

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The answers."""
        form = self._plain
        if not named and len(args) == len(form.takes) == len(self._taken):
            return self._maker.call(form.what, form, args, self.__name__)
        given = bound(self.__name__, self._taken, self._order, args, named)
        if self._forced is not None and any(given.get(name) is not None for name in self._forces):
            form = self._forced
        inputs = [self._value(name, given) for name, _ in form.takes]
        return self._maker.call(form.what, form, inputs, self.__name__)

    def _value(self, name: str, given: Mapping[str, Any]) -> Any:
        """An input; numbers that are not given are the robot's own, forces and tangents zero."""
        value = given.get(name)
        if value is not None or name in self._taken:
            return value
        if name in self._maker.numbers:
            return self._maker.number(name, given[self._taken[0]])
        number = self._tangents.get(name, name)
        like = self._maker.numbers.get(number)
        shape = (self._maker.engine.sizes["n_bodies"], 6) if like is None else like.shape
        return torch.zeros(shape, dtype=self._maker.dtype, device=getattr(given[self._taken[0]], "device", None))


def bound(
    method: str, taken: Sequence[str], order: Sequence[str], args: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Arguments by name; TypeError as of any call."""
    if len(args) > len(order):
        raise TypeError(f"{method}({', '.join(order)}): {len(args)} arguments given")
    given = dict(zip(order, args, strict=False))
    for name, value in named.items():
        if name == "out":
            raise UnsupportedError(f"{method}: tensors are always fresh: leave out= out")
        if name not in order or name in given:
            raise TypeError(f"{method}({', '.join(order)}): {name!r} is none of these, or given twice")
        given[name] = value
    for name in taken:
        if name not in given:
            raise TypeError(f"{method}({', '.join(order)}): {name!r} is missing")
    return given


class Functions:
    """The functions of a robot on tensors: the methods of `Dynamics`, without `out=`."""

    def __init__(self, dyn: Dynamics, is_tangent: bool) -> None:
        self._maker, self._recipe = Maker(dyn, dyn, "", is_tangent), (dyn, is_tangent)
        self._derivatives: dict[tuple[object, ...], Method] = {}
        for name in dyn.signature:
            known = FUNCTIONS[name]
            own = self._maker.own(name)
            forced = known.forced or (name if known.takes_f_ext else "")
            with_forces = variant(forced, (F_EXT.name, *own)) if forced else None
            setattr(self, known.method, Method(self._maker, variant(name, own), with_forces, own))
        if "step" in dyn.signature:
            self.rollout = Rollout(self._maker, "step", ("tau",))

    def __reduce__(self) -> tuple[type[Functions], tuple[Dynamics, bool]]:
        """A pickle, and a copy, is made from the robot and the options."""
        return type(self), self._recipe

    def __repr__(self) -> str:
        return f"<PyTorch's functions of {self._maker.engine.dyn!r}>"

    def jvp(self, name: str) -> Method:
        """See `Dynamics.jvp`."""
        return self._derivative("jvp", name)

    def vjp(self, name: str) -> Method:
        """See `Dynamics.vjp`."""
        return self._derivative("vjp", name)

    def jacobian(self, name: str, by: Sequence[str] | str | None = None) -> Method:
        """See `Dynamics.jacobian`."""
        return self._derivative("jacobian", name, by)

    def hessian(self, name: str) -> Method:
        """See `Dynamics.hessian`."""
        return self._derivative("hessian", name)

    def _derivative(self, kind: str, of: str, by: Sequence[str] | str | None = None) -> Method:
        if of == "rollout":
            raise UnsupportedError("rollout has gradients as any other method: call it, then backward()")
        names = (by,) if isinstance(by, str) else None if by is None else tuple(by)
        if (kind, of, names) not in self._derivatives:
            takes, own = known_function(of).takes_f_ext, self._maker.own(of)
            forced = str(name_of(kind, variant(of, (F_EXT.name, *own)), names)) if takes else None
            always = names is not None and F_EXT.name in names
            plain = forced if always and forced else str(name_of(kind, variant(of, own), names))
            self._derivatives[kind, of, names] = Method(self._maker, plain, forced, own, always)
        return self._derivatives[kind, of, names]


class Function:
    """A user's function on tensors: called as it is, and the methods of the compiled function, without `out=`."""

    def __init__(self, of: CompiledFunction, is_tangent: bool) -> None:
        self._of, self._name = of, of.specification.name
        self._maker, self._recipe = Maker(of.dynamics, of, self._name, is_tangent), (of, is_tangent)
        self._call = Method(self._maker, self._name, None, ())
        self.rollout = Rollout(self._maker, self._name, ())

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The answers."""
        return self._call(*args, **named)

    def __reduce__(self) -> tuple[type[Function], tuple[CompiledFunction, bool]]:
        return type(self), self._recipe

    def __repr__(self) -> str:
        return f"<PyTorch's function of {self._of!r}>"

    def jvp(self) -> Method:
        """See `CompiledFunction.jvp`."""
        return self._derivative("jvp", self._name)

    def vjp(self) -> Method:
        """See `CompiledFunction.vjp`."""
        return self._derivative("vjp", self._name)

    def jacobian(self, by: Sequence[str] | str | None = None) -> Method:
        """See `CompiledFunction.jacobian`."""
        return self._derivative("jacobian", self._name, by)

    def hessian(self, of: str | None = None) -> Any:
        """See `CompiledFunction.hessian`."""
        function = self._of.only(of)
        made = self._derivative("hessian", function.name)
        one = torch.ones((), dtype=self._maker.dtype)
        return made if function.outputs[0].dims else partial(self._of_one, made, one)

    def _of_one(self, made: Method, one: Any, *args: Any) -> Any:
        return made(*args, one.to(args[0].device))

    def _derivative(self, kind: str, of: str, by: Sequence[str] | str | None = None) -> Method:
        return Method(self._maker, str(name_of(kind, of, by)), None, ())
