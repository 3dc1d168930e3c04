"""Derived functions: each again a function, by its name in `FUNCTIONS`, with a Program as its algorithm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, cast

from condyle.derivatives import second
from condyle.derivatives.code import code, program
from condyle.derivatives.differentiate import MADE, Recorded
from condyle.derivatives.names import Name, parsed
from condyle.derivatives.ports import derived
from condyle.derivatives.recording import Recording, replayed
from condyle.functions import FUNCTIONS
from condyle.ir.expr import Value
from condyle.ir.program import Program
from condyle.model.tree import Tree
from condyle.scalar import Scalar
from condyle.specification import Route


def specification_of(name: str) -> Any:
    """The specification behind a name; None for a name that is none of a derivative."""
    known = parsed(name)
    return None if known is None else _specified(known)


@lru_cache(maxsize=1024)
def _specified(name: Name) -> Any:
    if name.base.repeat is not None:
        return derived(name, dict, dict)
    closed = name.kind in name.base.closed
    large = any(route.whole for route in name.base.routes.values())
    route = Route(_Run(name), whole=partial(_whole, name) if large else None)
    ways = {"closed rule" if closed else "differentiated": route}
    return derived(name, lambda: ways, partial(second.closed, name))


def forget() -> None:
    """Derivatives are looked up anew: after a name has got another meaning."""
    _specified.cache_clear()


def _whole(name: Name, tree: Tree) -> object:
    """A derivative with its large products."""
    return code(tree, FUNCTIONS[str(name)], partial(_answers, name=name))


class _Run:
    """A derivative on the scalars that a sweep has."""

    def __init__(self, name: Name) -> None:
        self.name = name

    def __call__(self, sweeps: Any) -> tuple[object, ...]:
        made = program_of(_Same(sweeps.tree), self.name)
        given = [cast("Sequence[Scalar]", sweeps.inputs[array.name]) for array in made.inputs]
        return tuple(replayed(made, given))

    @property
    def record(self) -> Callable[..., Sequence[Sequence[Value]]] | None:
        """What a closed rule calls is known when it is differentiated again."""
        return partial(_answers, name=self.name) if self.name.kind in self.name.base.closed else None


class _Same:
    """A tree, told from others by identity: to compare all its numbers takes as long as a trace."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.tree is self.tree

    def __hash__(self) -> int:
        return id(self.tree)


@lru_cache(maxsize=256)
def program_of(tree: _Same, name: Name) -> Program:
    """A derived function as one Program."""
    return program(tree.tree, FUNCTIONS[str(name)], partial(_answers, name=name))


def _answers(at: Recording, given: Mapping[str, Sequence[Value]], name: Name) -> Sequence[Sequence[Value]]:
    """By the closed rule of the function's specification, else, and what it leaves out, by differentiation."""
    function, closed = FUNCTIONS[str(name)], name.base.closed.get(name.kind)
    found = {} if closed is None else dict(closed(at, given))
    full = FUNCTIONS[str(name._replace(by=tuple(port.name for port in name.base.inputs)))]
    assert found.keys() <= {port.name for port in full.outputs}, f"{name}: a rule says {sorted(found)}"
    left = _left(name, [port.name not in found for port in function.outputs])
    if left is not None:
        own = [port.name for port in function.inputs[len(name.base.inputs) :]]
        made = MADE[name.kind](Recorded(at, left, given), given, own)
        found.update(zip((port.name for port in FUNCTIONS[str(left)].outputs), made, strict=True))
    return [found[port.name] for port in function.outputs]


def _left(name: Name, missing: Sequence[bool]) -> Name | None:
    """What a closed rule leaves out: of a Jacobian some columns, else all."""
    if not any(missing):
        return None
    n = len(name.by)
    some = tuple(one for k, one in enumerate(name.by) if any(missing[k::n]))
    return name._replace(by=some) if name.kind == "jacobian" else name
