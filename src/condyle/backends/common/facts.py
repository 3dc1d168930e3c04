"""The information about a robot that generated code contains, and the names that it may have."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from condyle.backends.common.words import OWN_PREFIX, RESERVED
from condyle.errors import UnsupportedError
from condyle.specification import Function

NAME = re.compile(r"[a-z][a-z0-9_]*")
SHORT, LONG = 31, 127
"""The largest length of a prefix, and of the name of a function after it."""
BITS = {"float64": 64, "float32": 32}
"""The number types that code computes in."""
_WORD = re.compile(r"[A-Za-z0-9.+:_-]{0,120}")


@dataclass(frozen=True, slots=True)
class Facts:
    """Code-generation info of a robot; `name` is the prefix of every exported symbol.

    functions: {name of a Program: its specification}, for comments.
    Raises UnsupportedError for a name that `checked_name` refuses, or for text that could end a C string.
    """

    nq: int
    nv: int
    fingerprint: str = ""
    version: str = ""
    name: str = "robot"
    functions: Mapping[str, Function] = field(default_factory=dict[str, Function], compare=False)

    def __post_init__(self) -> None:
        checked_name(self.name)
        for text in (self.fingerprint, self.version):
            if _WORD.fullmatch(text) is None:
                raise UnsupportedError(f"{text!r} cannot stand in generated code")


def checked_name(name: str, taken: Collection[str] = RESERVED, most: int = SHORT) -> str:
    """The name itself if it can be a name in generated code. taken: names that are reserved, by default in any
    target."""
    allowed = f"[a-z][a-z0-9_]{{0,{most - 1}}}"
    fits = isinstance(name, str) and len(name) <= most  # pyright: ignore[reportUnnecessaryIsInstance]
    if not fits or NAME.fullmatch(name) is None:
        raise UnsupportedError(f"name={name!r} cannot name generated code: allowed is {allowed}")
    if name in taken or name.startswith(OWN_PREFIX):
        other = f"my_{name}"[:most]
        raise UnsupportedError(
            f"name={name!r} cannot name generated code: C, C++, CUDA, Verilog or their libraries have that name. Any "
            f"other {allowed} is allowed, such as {other!r}"
        )
    return name


def bits_of(dtype: str) -> int:
    """The bits of a number type; UnsupportedError for a type that code does not compute in."""
    if dtype not in BITS:
        raise UnsupportedError(f"dtype {dtype!r}: code computes in {' and '.join(BITS)}")
    return BITS[dtype]


def packed(values: Sequence[float], bits: int) -> bytes:
    """Numbers as bytes in memory; UnsupportedError for one that is not finite in this number type."""
    with np.errstate(over="ignore"):
        array = np.array(values, dtype=np.float64 if bits == 64 else np.float32)
    if not np.isfinite(array).all():
        raise UnsupportedError("a constant is not finite in this precision and cannot stand in generated code")
    return array.tobytes()


@dataclass(frozen=True, slots=True)
class Vectors:
    """Test vectors: inputs and outputs, (n, size) each, and the error allowed.

    tolerance: relative to the largest entry of an output. times: of a rollout (steps, every). coarser: larger
    tolerances of single outputs, (number of the output, tolerance).
    """

    inputs: tuple[NDArray[np.floating], ...]
    outputs: tuple[NDArray[np.floating], ...]
    tolerance: float
    times: tuple[int, ...] = ()
    coarser: tuple[tuple[int, float], ...] = ()

    def tolerance_of(self, output: int) -> float:
        return dict(self.coarser).get(output, self.tolerance)
