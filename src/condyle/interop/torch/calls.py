"""The operator behind functions of PyTorch tensors: `torch.ops.condyle.call(tensors, what)`.

`what` says derivatives, engine and function: "vj|ENGINE|fd|KEY" is the vjp of the jvp of fd, whose key is KEY. PyTorch
compiles graphs with it as a constant, so that it holds on to nothing else; graphs that are kept in files find their
function by its name. Tangents and cotangents of a configuration have nq entries here, the tangent's nv in front and
zeros behind: PyTorch wants gradients in the shape of what they are of.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import count
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from condyle.calls.dynamics import Dynamics
from condyle.calls.rollouts import Options
from condyle.derivatives import derivative
from condyle.errors import DeviceError, DTypeError, ShapeError, UnsupportedError
from condyle.functions import FUNCTIONS
from condyle.functions.repeat import iterate, repeat
from condyle.identity import Parts, digest, key_of, nearest
from condyle.interop.gradients import NO_GRADIENT
from condyle.runtime._native import empty
from condyle.runtime.arrays import summed
from condyle.specification import Derivative, Function
from condyle.specification.names import Reader

torch: Any = import_module("torch")

Array = NDArray[np.floating]
Shape = tuple[int, ...]
KIND_OF_LETTER = {"v": "vjp", "j": "jvp"}


class Engine:
    """What computes, by a key of text: the identity of all that answers depend on, and a number among those alike."""

    def __init__(self, dyn: Dynamics, held: object, user: Function | None = None) -> None:
        """held: what must live as long; user: the user's function that this is of."""
        self.dyn, self.held = dyn, held
        self.robot = dyn.__reduce__()[1].robot
        self.sizes = dyn.sizes
        self.parts: Parts = {**dyn.identity_parts, "function": digest(user.content if user else "")}
        self.exact = key_of(self.parts)
        self.key = next(key for key in (f"{self.exact}.{k}" for k in count()) if key not in _ENGINES)
        self.calls: dict[str, Call] = {}
        self._functions: dict[str, Function] = {}
        self._bases = FUNCTIONS if user is None else {**FUNCTIONS, user.name: user}
        self._streams: dict[int, Any] = {}
        _ENGINES[self.key] = self

    def what(self, function: Function) -> str:
        """A function as calls have it."""
        self._functions[function.key] = function
        return f"|{self.key}|{function.name}|{function.key}"

    def function(self, what: str) -> Function:
        """The function of a call; UnsupportedError where a graph from elsewhere has one that is not known here."""
        name, _, key = what.split("|", 2)[2].partition("|")
        if key not in self._functions:
            read = Reader(self._bases, derivative, repeat, iterate).read(name)
            if read is None or read.key != key:
                raise UnsupportedError(
                    f"this graph has a function {name!r} that is not the one of this version: make the graph again"
                )
            self._functions[key] = read
        return self._functions[key]

    def on(self, stream: int) -> Any:
        """The `GpuDynamics` whose calls go into this stream."""
        bind: Any = getattr(self.dyn, "on", None)
        if bind is None:
            raise DeviceError(
                f"tensors lie on a GPU, and target {self.dyn.target!r} takes those of the processor: "
                'compile(target="cuda"), or pass x.cpu()'
            )
        if stream not in self._streams:
            self._streams[stream] = bind(stream)
        return self._streams[stream]


_ENGINES: weakref.WeakValueDictionary[str, Engine] = weakref.WeakValueDictionary()
_CALLS: weakref.WeakValueDictionary[str, Call] = weakref.WeakValueDictionary()


def engine_of(what: str) -> Engine:
    """The engine of a call, or one that is the same; what `wrap` answers keeps it, and so do recorded gradients.

    UnsupportedError, which says what differs, for a graph of another robot or of other options.
    """
    key = what.split("|")[1]
    engine = _ENGINES.get(key)
    if engine is not None:
        return engine
    exact, engines = key.rpartition(".")[0], list(_ENGINES.values())
    for engine in engines:
        if engine.exact == exact:
            return engine
    differences = ", ".join(nearest(exact, [engine.parts for engine in engines]))
    hint = f"; the nearest that is wrapped in this process differs in {differences}" if differences else ""
    raise UnsupportedError(
        f"this graph was made of an object of condyle.interop.torch.wrap that is not in this process{hint}. Wrap the "
        "same robot with the same options here, and keep it as long as its graphs"
    )


def call_of(what: str) -> Call:
    """What a call needs, made once."""
    call = _CALLS.get(what)
    if call is None:
        engine = engine_of(what)
        call = _CALLS[what] = engine.calls.setdefault(what, Call(engine, what))
    return call


def repeated(what: str, *options: Any) -> str:
    """The rollout of a function, both as calls have them; options: those of `condyle.calls.rollouts.Options`."""
    engine = engine_of(what)
    return engine.what(Options(*options).repeated(engine.function(what)))


def _owners(function: Function) -> list[int | None]:
    """Of each answer the input whose batch dimensions it has; None where it has those of all inputs together."""
    origin = function.origin
    if isinstance(origin, Derivative) and origin.kind == "vjp":
        return list(range(len(origin.function.inputs)))
    if isinstance(origin, Derivative) and origin.kind == "jvp":
        return _owners(origin.function)
    return [None] * len(function.outputs)


def _derived(chain: str, function: Function) -> Function:
    """Derivatives, the last one first, of a function; UnsupportedError where there is none."""
    made = function
    if chain and function.repeat is not None and function.repeat.until:
        raise UnsupportedError(NO_GRADIENT)
    try:
        for letter in reversed(chain):
            made = derivative(KIND_OF_LETTER[letter], made)
    except UnsupportedError:
        name = "".join(f"{KIND_OF_LETTER[letter]}_" for letter in chain) + function.name
        raise UnsupportedError(
            f"{function.method}: there is no derivative {name!r}; a rollout has its gradient, once"
        ) from None
    return made


class Call:
    """One function on tensors.

    takes, gives: the dimensions of inputs and answers as PyTorch has them. owners: see `_owners`.
    """

    def __init__(self, engine: Engine, what: str) -> None:
        chain, of = what.partition("|")[0], engine.function(what)
        self.engine, self.function = engine, _derived(chain, of)
        function, self.method = self.function, self.function.method
        self.names = [port.name for port in function.inputs]
        self.takes = [port.shape(engine.sizes) for port in of.inputs]
        self.gives = [port.shape(engine.sizes) for port in of.outputs]
        for letter in reversed(chain):
            more, answers = (self.gives, self.takes) if letter == "v" else (self.takes, self.gives)
            self.takes, self.gives = self.takes + more, answers
        self._inner = [port.shape(engine.sizes) for port in function.inputs]
        self._answers = [port.shape(engine.sizes) for port in function.outputs]
        self.owners = _owners(function)
        repeats = function.repeat is not None  # there may be many, of which the `Dynamics` keeps some
        self._compute: Callable[..., Any] | None = None if repeats else engine.dyn.function(function)
        self._is_wide = self.takes != self._inner or self.gives != self._answers
        is_vjp = isinstance(function.origin, Derivative) and function.origin.kind == "vjp"  # which sums by itself
        self._sums = not is_vjp and any(owner is not None for owner in self.owners)

    def batches(self, shapes: Sequence[Sequence[int]]) -> tuple[Shape, list[Shape]]:
        """The batch dimensions of all inputs together, and of each answer; ShapeError."""
        own: list[Shape] = []
        for name, shape, dims in zip(self.names, shapes, self.takes, strict=True):
            split = len(shape) - len(dims)
            if split < 0 or tuple(shape[split:]) != dims:
                expected = f"(..., {', '.join(map(str, dims))})"
                raise ShapeError(f"{self.method}: {name} has shape {tuple(shape)}, expected {expected}")
            own.append(tuple(shape[:split]))
        whole = own[0] if all(batch == own[0] for batch in own) else self._broadcast(own)
        return whole, [whole if owner is None else own[owner] for owner in self.owners]

    def _broadcast(self, batches: Sequence[Shape]) -> Shape:
        try:
            return tuple(torch.broadcast_shapes(*batches))
        except RuntimeError:
            listed = ", ".join(f"{name} {batch}" for name, batch in zip(self.names, batches, strict=True))
            raise ShapeError(f"{self.method}: batch dimensions do not broadcast: {listed}") from None

    def shapes(self, tensors: Sequence[Any]) -> list[Shape]:
        """Of the answers."""
        _, batches = self.batches([x.shape for x in tensors])
        return [batch + dims for batch, dims in zip(batches, self.gives, strict=True)]

    def scattered(self, tensors: Sequence[Any]) -> DeviceError:
        """The error of tensors that do not lie together."""
        listed = ", ".join(f"{name} on {x.device}" for name, x in zip(self.names, tensors, strict=True))
        return DeviceError(f"{self.method}: tensors lie on several devices: {listed}; pass all on one")

    def on_processor(self, tensors: Sequence[Any]) -> list[Any]:
        """The answers, in fresh memory; inputs are read where they lie."""
        try:
            arrays = [(x.detach() if x.requires_grad else x).numpy() for x in tensors]
        except (TypeError, RuntimeError):  # of another device, or of no plain memory
            arrays = [self._plain(name, x, tensors).numpy() for name, x in zip(self.names, tensors, strict=True)]
        if self._is_wide:
            arrays = [self._narrowed(x, dims) for x, dims in zip(arrays, self._inner, strict=True)]
        compute = self._compute or self.engine.dyn.function(self.function)
        found = compute(*arrays)
        answers = cast("Sequence[Any]", found if isinstance(found, tuple) else (found,))
        if self._sums:
            _, batches = self.batches([x.shape for x in tensors])
            shapes = [batch + dims for batch, dims in zip(batches, self._answers, strict=True)]
            answers = [summed(x, shape) for x, shape in zip(answers, shapes, strict=True)]
        if self._is_wide:
            answers = [self._widened(x, dims) for x, dims in zip(answers, self.gives, strict=True)]
        return [torch.from_numpy(np.asarray(x)) for x in answers]

    def on_gpu(self, tensors: Sequence[Any], stream: int) -> list[Any]:
        """The answers on the tensors' GPU, ready in the order of the stream."""
        whole, batches = self.batches([x.shape for x in tensors])
        inputs: list[Any] = []
        for name, x, dims in zip(self.names, tensors, self._inner, strict=True):
            x = self._narrowed(self._plain(name, x, tensors), dims)
            batch = tuple(x.shape[: x.dim() - len(dims)])
            inputs.append((x if batch == whole or math.prod(batch) == 1 else x.expand(whole + dims)).contiguous())
        if math.prod(whole) == 1 or not inputs:
            inputs = [x.expand(whole + dims).contiguous() for x, dims in zip(inputs, self._inner, strict=True)]
        answers = [tensors[0].new_empty(whole + dims) for dims in self._answers]
        self.engine.on(stream).call(self.function, inputs, answers)
        answers = [x.sum_to_size(batch + dims) for x, batch, dims in zip(answers, batches, self._answers, strict=True)]
        pads = [dims[-1] - x.shape[-1] if dims else 0 for x, dims in zip(answers, self.gives, strict=True)]
        return [torch.nn.functional.pad(x, (0, n)) if n else x for x, n in zip(answers, pads, strict=True)]

    def _plain(self, name: str, x: Any, tensors: Sequence[Any]) -> Any:
        """A tensor whose numbers lie in memory as they are; DTypeError, or DeviceError, for what is none.

        A tensor with PyTorch's negative bit, such as an imaginary part, is copied; so is one that PyTorch knows to be
        zero and gives no memory, such as a tangent that forward mode in forward mode does not need.
        """
        if any(tensor.device != tensors[0].device for tensor in tensors):
            raise self.scattered(tensors)
        if x.is_nested:
            raise DTypeError(f"{self.method}: {name} is nested, expected a tensor: torch.stack(list({name})) is one")
        kind: Any = x.__class__
        if kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
            raise DTypeError(
                f"{self.method}: {name} is {kind.__name__}, which has no numbers in memory: pass a plain tensor"
            )
        if x.layout is not torch.strided:
            raise DTypeError(f"{self.method}: {name} is {x.layout}, expected a dense tensor: pass {name}.to_dense()")
        plain = x.detach().resolve_neg()
        return torch.zeros(plain.shape, dtype=plain.dtype, device=plain.device) if plain._is_zerotensor() else plain

    def _narrowed(self, x: Any, dims: Shape) -> Any:
        return x[..., : dims[-1]] if dims and x.ndim and x.shape[-1] > dims[-1] else x

    def _widened(self, x: Array, dims: Shape) -> Array:
        if not dims or x.shape[-1] == dims[-1]:
            return x
        wide = empty((*x.shape[:-1], dims[-1]), x.dtype)  # memory that is kept: fresh pages take longer than the copy
        wide[..., : x.shape[-1]] = x
        wide[..., x.shape[-1] :] = 0.0
        return wide


LIBRARY: Any = torch.library.Library("condyle", "DEF")
LIBRARY.define("call(Tensor[] inputs, str what) -> Tensor[]")


def run(inputs: Sequence[Any], what: str) -> list[Any]:
    """The answers, where the first tensor lies."""
    device = inputs[0].device
    if device.type == "cpu":
        return call_of(what).on_processor(inputs)
    if device.type == "meta":
        return _fake(inputs, what)
    if device.type != "cuda":
        raise DeviceError(f"tensors lie on {device}: pass those of the processor or of an NVIDIA GPU, by x.cpu() say")
    return call_of(what).on_gpu(inputs, torch.cuda.current_stream(device).cuda_stream)


def _fake(inputs: Sequence[Any], what: str) -> list[Any]:
    call = call_of(what)
    if any(x.device.type != inputs[0].device.type for x in inputs):
        raise call.scattered(inputs)
    return [inputs[0].new_empty(shape) for shape in call.shapes(inputs)]


for _device in ("CPU", "CUDA"):
    LIBRARY.impl("call", run, _device)
torch.library.register_fake("condyle::call", _fake, lib=LIBRARY)
