"""Dry friction and limits of joints as rows of the complementarity problem of `contact_friction`.

With u = v_next of a degree of freedom, p its impulse over a step of length h, f its dry friction:

    p = p_f + p_l + p_u,    |p_f| <= h f,  p_f |u| = -h f u,
    0 <= p_l,  0 <= u - low,  p_l (u - low) = 0,    p_u <= 0,  u <= high,  p_u (high - u) = 0,

low = (lower limit - q) / h, high = (upper limit - q) / h. So -p is a subgradient of the convex function

    phi(u) = h f |u|  where low <= u <= high,  else infinite.

With w what u is without p, and g = dw / dp, u is the point that makes phi(u) + (u - w)² / (2 g) least (Moreau 1965): w,
drawn towards zero by g h f, then cut off at low and high; and p = (u - w) / g.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from typing import NamedTuple

from condyle.algorithms.drives import law_number
from condyle.algorithms.unrolled import Unrolled
from condyle.model.tree import Tree
from condyle.scalar import Scalar, absolute, maximum, minimum, number, reciprocal, select
from condyle.specification.ports import DRY_FRICTION

AS_ROWS = ("friction", "limits")
"""The joint forces that become rows."""


class JointRow(NamedTuple):
    """The row of one degree of freedom. grip: h f; low, high: see above; None where there is no such thing."""

    entry: int
    grip: Scalar | None
    low: Scalar | None
    high: Scalar | None

    def drawn(self, w: Scalar, g: Scalar) -> Scalar:
        """w, drawn towards zero by g h f."""
        if self.grip is None:
            return w
        reach = g * self.grip
        return maximum(w - reach, 0.0) + minimum(w + reach, 0.0)

    def cut(self, u: Scalar) -> Scalar:
        """u, cut off at low and high."""
        u = u if self.low is None else maximum(u, self.low)
        return u if self.high is None else minimum(u, self.high)

    def velocity(self, w: Scalar, g: Scalar) -> Scalar:
        """u, given what it is without the impulse of this row."""
        return self.cut(self.drawn(w, g))

    def rests(self, w: Scalar, g: Scalar) -> Scalar:
        """1 where u is that of a joint that sticks, or that is at a stop; 0 where p is what friction can at most."""
        u, flag = self.drawn(w, g), number(0.0)
        if self.grip is not None:
            flag = select(g * self.grip - absolute(w), 1.0, flag)
        if self.low is not None:
            flag = select(self.low - u, 1.0, flag)
        return flag if self.high is None else select(u - self.high, 1.0, flag)


def apart(tree: Unrolled) -> tuple[Unrolled, list[JointRow]]:
    """The tree without the joint forces that are rows, and these rows; all of the tree where none are."""
    drives = tree.tree.drives
    if not drives.joint_rows:
        return tree, []
    smooth = drives._replace(forces=tuple(law for law in drives.forces if law not in AS_ROWS))
    dropped = DRY_FRICTION.name if "friction" in drives.forces else ""
    inputs = {name: entries for name, entries in tree.inputs.items() if name != dropped}
    return Unrolled(replace(tree.tree, drives=smooth), inputs), _rows(tree)


def _rows(tree: Unrolled) -> list[JointRow]:
    drives, (h,), rows = tree.tree.drives, tree.inputs["dt"], list[JointRow]()
    for k, place in enumerate(tree.tree.positions):
        f = law_number(tree, "friction", k) if "friction" in drives.forces else None
        limits = (drives.lower[k], drives.upper[k]) if "limits" in drives.forces else ()
        ends = [_rate(tree, place, limit, h) if isfinite(limit) else None for limit in limits] or [None, None]
        if f is not None or any(end is not None for end in ends):
            rows.append(JointRow(k, None if f is None else h * maximum(f, 0.0), *ends))
    return rows


def shape_of(tree: Tree, open_friction: bool) -> tuple[tuple[bool, bool, bool], ...]:
    """For each row whether it has a grip, a low and a high end. open_friction: whether friction is an input."""
    if not tree.drives.joint_rows:
        return ()
    zeros = [number(0.0)]
    inputs = {"q": zeros * tree.nq, "dt": zeros}
    if open_friction:
        inputs[DRY_FRICTION.name] = zeros * tree.nv
    return shape(_rows(Unrolled(tree, inputs)))


def shape(rows: Sequence[JointRow]) -> tuple[tuple[bool, bool, bool], ...]:
    """The same of rows that are there."""
    return tuple((x is not None, y is not None, z is not None) for _, x, y, z in rows)


def ends_of(rows: Sequence[JointRow]) -> list[Scalar]:
    """The numbers of rows, those that are there, one after the other."""
    return [x for _, *ends in rows for x in ends if x is not None]


def with_ends(shape: Sequence[Sequence[bool]], ends: Sequence[Scalar]) -> list[JointRow]:
    """Rows with these numbers."""
    numbers = iter(ends)
    return [JointRow(-1, *(next(numbers) if there else None for there in three)) for three in shape]


def _rate(tree: Unrolled, place: int, limit: float, h: Scalar) -> Scalar:
    """The velocity that reaches a limit in one step."""
    return (limit - tree.inputs["q"][place]) * reciprocal(h)
