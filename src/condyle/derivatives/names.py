"""What derived functions are called: `vjp_fd`, `jacobian_fd`, `jacobian_fd_by_q_v`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS, found, variant
from condyle.specification import Function

KINDS = ("jvp", "vjp", "jacobian", "hessian")
BY = "_by_"


class Name(NamedTuple):
    """A kind of derivative, of a function, by some of its inputs."""

    kind: str
    of: str
    by: tuple[str, ...]

    @property
    def base(self) -> Function:
        return FUNCTIONS[self.of]

    @property
    def is_partial(self) -> bool:
        """Whether it is by some of the inputs only."""
        return self.by != tuple(port.name for port in self.base.inputs)

    def __str__(self) -> str:
        return f"{self.kind}_{self.of}" + (BY + "_".join(self.by) if self.is_partial else "")


def name_of(kind: str, of: str, by: Sequence[str] | None = None) -> Name:
    """A derived function's name; UnsupportedError for inputs that the function does not have."""
    every = tuple(port.name for port in FUNCTIONS[of].inputs)
    if not _has(kind, FUNCTIONS[of]):
        raise UnsupportedError(f"{kind}({of!r}): of a rollout there is vjp; roll out the {kind} of its step, say")
    if by is None:
        return Name(kind, of, every)
    chosen = (by,) if isinstance(by, str) else tuple(by)
    if not chosen or any(one not in every for one in chosen) or len(set(chosen)) < len(chosen):
        raise UnsupportedError(f"{kind}({of!r}, by={by!r}): give some of its inputs, each once: {', '.join(every)}")
    return Name(kind, of, tuple(port for port in every if port in chosen))


def parsed(name: str) -> Name | None:
    """The name of a derived function, read; None for any other name."""
    kind, _, rest = name.partition("_")
    if kind not in KINDS or not rest:
        return None
    whole = found(rest)
    of, _, words = (rest, "", "") if whole else rest.partition(BY)
    base = whole or found(of)
    if base is None or not _has(kind, base):
        return None
    every = tuple(port.name for port in base.inputs)
    if not words:
        return Name(kind, of, every)
    by = _split(words, every)
    return Name(kind, of, by) if by and kind == "jacobian" else None


def with_numbers(name: str, numbers: Collection[str]) -> str:
    """The variant of a function that takes these too, or the same derivative of that: what is called instead."""
    known = parsed(name)
    if known is None or known.base.repeat is not None:
        return variant(name, numbers)
    return str(name_of(known.kind, with_numbers(known.of, numbers), known.by if known.is_partial else None))


def _has(kind: str, base: Function) -> bool:
    """Whether a function has this derivative: of one that is repeated over time there is vjp, once."""
    return base.repeat is None or (kind == "vjp" and not base.repeat.backwards)


def _split(words: str, every: Sequence[str]) -> tuple[str, ...]:
    """Names of inputs, in order, that were joined by "_"; nothing where the words are none."""
    for k, name in enumerate(every):
        if words == name:
            return (name,)
        if words.startswith(f"{name}_") and (rest := _split(words[len(name) + 1 :], every[k + 1 :])):
            return (name, *rest)
    return ()


def root(name: str) -> str:
    """The function that a derived one is of, at last; any other function is its own."""
    known = parsed(name)
    if known is not None:
        return root(known.of)
    base = found(name)
    return name if base is None else base.variant_of or name
