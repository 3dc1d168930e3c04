"""The ways to compute a function: algorithms, and what runners have to know of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple


class Size(NamedTuple):
    """About how many operations straight-line code has: for each link, each pair of a coordinate and an ancestor's,
    and each triple of such; with R rows of contacts, for each of R² (nv + R). Fitted to random chains, whose placements
    are dense, real robots have half; functions of contacts are fitted to real robots.
    """

    link: int
    pair: int = 0
    triple: int = 0
    row: int = 0


@dataclass(frozen=True)
class Route:
    """One way to compute a function.

    run: the answers, in the order of the outputs, from a swept tree (`algorithms.sweeps.Sweeps`). loops: loops over
    joints are recorded from this route. alone: it needs every joint to move alone (no mimic joints). shallow: it wins
    on short branches only, or never. baseline: it runs when it is named, and is not compared. part: the route, by the
    same name, to a function of the composition that it is made with. factors: what dense products make the answers of,
    where these products are too long as straight code. size: an estimate of its own, where it grows faster than others.
    alias: another name of it. whole: the code of a tree, where the route has large products that `run` writes out.
    recorded: its code is made by `run.record` in a recording, which keeps large products. parts: the `Function`s that
    `run.record` calls: where one is loops, their kernels are called one after the other.
    """

    run: Callable[..., tuple[object, ...]]
    loops: bool = False
    alone: bool = False
    shallow: bool = False
    baseline: bool = False
    part: str = ""
    factors: Callable[..., tuple[object, ...]] | None = None
    size: Size | None = None
    alias: str = ""
    whole: Callable[..., object] | None = None
    recorded: bool = False
    parts: tuple[Any, ...] = ()
