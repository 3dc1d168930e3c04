"""The part of an export's README about its robot: the order of its joints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from condyle.backends.common.facts import Facts

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


class Coordinates(NamedTuple):
    """A joint: its name (any text of a model file), its type (one of our own words), and its entries of q and v.

    follows: for a mimic joint, which has no entries of its own, the joint that it follows.
    """

    name: str
    type: str
    q: range
    v: range
    follows: str | None = None


def birth(facts: Facts) -> str:
    """The line that names the version of Condyle and the robot."""
    return f"Written by Condyle {facts.version or '-'} from robot `{facts.fingerprint or '-'}`."


def order(joints: Sequence[Coordinates]) -> str:
    """A Markdown table of the joints in the order of q and v."""
    rows = [f"| {k} | {plain(j.name)} | {j.type} | {_place(j, j.q)} | {_place(j, j.v)} |" for k, j in enumerate(joints)]
    return "\n".join(["| joint | name | type | in q | in v, a, tau |", "|---|---|---|---|---|", *rows])


def plain(name: str) -> str:
    """The name if it is a plain word. No other text of a model file is written, because a page may be shown as HTML."""
    return f"`{name}`" if _PLAIN.fullmatch(name) else "(see `robot.json`)"


def _place(joint: Coordinates, place: range) -> str:
    if joint.follows is not None:
        return f"follows {plain(joint.follows)}"
    return str(place.start) if len(place) == 1 else f"{place.start} to {place.stop - 1}"
