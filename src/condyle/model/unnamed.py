"""Names of what has none in an MJCF file."""

from __future__ import annotations

from collections.abc import Sequence


def names_of(names: Sequence[str], what: str) -> list[str]:
    """A name for each: its own, or one that nobody else has."""
    taken = {name for name in names if name}
    return [name if name else fresh(f"{what}{i}", taken) for i, name in enumerate(names)]


def fresh(name: str, taken: set[str]) -> str:
    """The name, with _ behind it until it is in `taken` no more; it is then."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name
