"""The primitives that functions parallel in the links are written with: operations on one value for each link.

A value is scalars in nested tuples. Each runner has its own scalars: arrays over links and states (`arrays.py`), or
entries of per-lane variables, a link a lane (`links.trace.functions`). Outside of steps, functions only take values
apart and put them together. All arithmetic is in steps, which one runner calls and the other traces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar, cast

from condyle.algorithms.aba import Articulated, apply, eliminate, rigid
from condyle.algorithms.joint import Dof, Inertia, Wrench, along, joint_at
from condyle.algorithms.matrix import plus
from condyle.errors import UnsupportedError
from condyle.model.tree import Link, Tree, carried
from condyle.scalar import Scalar, number
from condyle.spatial import six
from condyle.spatial import vector as vec
from condyle.spatial.six import Rows, Six
from condyle.spatial.vector import IDENTITY_MATRIX, Matrix, Vector

T = TypeVar("T")
U = TypeVar("U")

# What a prefix scan needs: an associative composition and its identity element.
#
# An element describes a segment of links. In `combine(base, tip)` the first segment is nearer the root and ends where
# the second begins. combine(a, combine(b, c)) = combine(combine(a, b), c) up to rounding; combine(identity, a) = a.


class Semigroup(Protocol[T]):
    """A composition of elements, values of scalars in nested tuples."""

    def identity(self) -> T: ...

    def combine(self, base: T, tip: T, /) -> T: ...


class Branching(Semigroup[T], Protocol[T]):
    """A semigroup that is scanned towards the root, where several segments may begin at one link."""

    def handed(self, branch: T, /) -> T:
        """What a branch passes to the link that it begins at: each entry is the branch's own or the identity's."""
        ...


OfJoints: TypeAlias = object
"""A value whose structure depends on the joint type, such as one scalar for each degree of freedom; only steps can
read it."""


class Links(Protocol):
    """The links of a tree, in parallel.

    carried_mass: the mass of each link and all links that it carries. lever: 1 for a link with a joint before it that
    turns, else 0. external: the external wrench on every link, in its own frame. still: zero for every degree of
    freedom. guard: see `articulated.Segments`.
    """

    tree: Tree
    gravity: Vector
    guard: float
    inertia: Inertia
    carried_mass: Scalar
    lever: Scalar
    external: Wrench | None
    still: OfJoints

    def each(self, step: Callable[..., T], *values: object) -> T:
        """step(joint, *values) for every link. A plain tuple of named tuples counts as several values."""
        ...

    def all(self, step: Callable[..., T], *values: object) -> T:
        """step(*values) for every link, which does not depend on its joint."""
        ...

    def view(self, step: Callable[..., T], *values: object) -> T:
        """The same, but lanes compute it again wherever it is used. It is passed to steps as a whole."""
        ...

    def of_joints(self, step: Callable[..., object], *values: object) -> OfJoints:
        """step(joint, *values), whose structure depends on the joint type; lanes compute it again wherever it is
        used."""
        ...

    def answer(self, port: str, step: Callable[..., object], *values: object) -> OfJoints:
        """step(joint, *values) for every link, which is the output `port` of the function."""
        ...

    def outward(self, semigroup: Semigroup[T], elements: T) -> T:
        """For each link the product of the elements from the root to it. `elements` may be overwritten."""
        ...

    def inward(self, semigroup: Branching[T], elements: T) -> T:
        """For each link the product of its element and those of all links that it carries. `elements` may be
        overwritten."""
        ...

    def of_parent(self, value: T, world: T) -> T:
        """For every link the value of its parent; `world` for those on the world."""
        ...

    def of_children(self, value: T) -> T:
        """For every link the sum of the values of its children."""
        ...

    def with_partner(self, partners: Sequence[int], step: Callable[[T, U], T], value: T, other: U) -> T:
        """step(value, `other` of the partner) for every link with a partner, the value for others. partners: a link for
        each link, -1 for none. The value may be overwritten."""
        ...


def check_alone(tree: Tree) -> Tree:
    """The tree itself; UnsupportedError for one whose joints share coordinates."""
    if tree.has_shared_coordinates:
        raise UnsupportedError(
            "links='scan' needs every joint to move alone, and this robot has mimic joints: use links='serial', or "
            "load the robot with mimic='independent'"
        )
    return tree


# Affine maps x -> A x + b of 6-vectors: accelerations towards the tips, bias forces towards the base.
#
# They are composed as functions are, so composition is associative. It has no inverse: A of a joint is a projection,
# the part of the parent's acceleration that the joint's own motion does not take up.


class Map(NamedTuple):
    """x -> A x + b."""

    A: Rows
    b: Six

    def __call__(self, x: Six) -> Six:
        return six.add(six.times(self.A, x), self.b)


class Outward:
    """Maps from a segment's base to its tip: the base's map first."""

    def identity(self) -> Map:
        return Map(six.IDENTITY_MATRIX, six.ZERO)

    def combine(self, base: Map, tip: Map) -> Map:
        return Map(six.product(tip.A, base.A), tip(base.b))


class Inward(Outward):
    """Maps from a segment's tip to its base: the tip's map first."""

    def combine(self, base: Map, tip: Map) -> Map:
        return super().combine(tip, base)

    def handed(self, branch: Map) -> Map:
        return Map(six.IDENTITY_MATRIX, branch.b)


# Sums of values of one structure along the tree: the additive group.
#
# In world axes, and about points of the links themselves, every quantity of inverse dynamics but the rotations is such
# a sum: angular velocities, accelerations, forces, torques, moments of inertia. Positions relative to the world's
# origin do not enter, so accuracy does not depend on the distance to it.


@dataclass(frozen=True)
class Sums(Generic[T]):
    """Addition; zero is the identity."""

    zero: T

    def identity(self) -> T:
        return self.zero

    def combine(self, base: T, tip: T) -> T:
        return plus(base, tip)

    def handed(self, branch: T) -> T:
        return branch


# Rotations of segments: the group SO(3), alone and with angular velocity.


class Rotations:
    """R = R_base R_tip, with R the axes of a segment's tip in the axes of its base, as columns."""

    def identity(self) -> Matrix:
        return IDENTITY_MATRIX

    def combine(self, base: Matrix, tip: Matrix) -> Matrix:
        columns = vec.transpose(tip)
        x, y, z = (vec.times(columns, row) for row in base)
        return x, y, z


class Turning(NamedTuple):
    """Of a segment: E from base axes to tip axes, and the tip's angular velocity relative to its base, in tip axes."""

    axes: Matrix
    w: Vector


class Turnings:
    """w_tip = axes w_base + w: the composition of these affine maps."""

    def identity(self) -> Turning:
        return Turning(IDENTITY_MATRIX, vec.ZERO)

    def combine(self, base: Turning, tip: Turning) -> Turning:
        return Turning(Rotations().combine(tip.axes, base.axes), vec.add(vec.times(tip.axes, base.w), tip.w))


# A way to compute a function with all links side by side.


@dataclass(frozen=True)
class ParallelRoute:
    """One way to compute a function with all links side by side; `condyle.links.routes` has them all.

    run: the answers, of phases (`phases.Phases`). segments: the same with a chain's segments side by side
    (`segments.Segments`), if there is such a form. elements: it needs every link to have inertia
    along its own joint. in_lanes: GPUs have it, a link a lane. free_rotors: GPUs have it for robots whose free joint
    has armature.
    """

    run: Callable[..., object]
    segments: Callable[..., None] | None = None
    elements: bool = False
    in_lanes: bool = True
    free_rotors: bool = True


# Links without inertia along their own joint, for which the articulated-body element does not exist.


ROUNDING = 1e-13
"""D below this fraction of its value before elimination is rounding: a few hundred times the unit of float64."""


def massless_link(tree: Tree) -> int | None:
    """The first link with D = Sᵀ I S + armature = 0 for a degree of freedom of its own, or None.

    The massless link inside a universal joint is not counted: it forms one element with the link after it.
    """
    return next((i for i, link in enumerate(tree.links) if link.body >= 0 and _moves_nothing(link)), None)


def _moves_nothing(link: Link) -> bool:
    joint = joint_at(link.kind, link.numbers, [number(float(x)) for x in link.kind.neutral()])
    whole = left = rigid(joint)
    for dof in reversed(joint.dofs):
        if not _along(dof, left) > ROUNDING * abs(_along(dof, whole)):
            return True
        _, left = eliminate(dof, left)
    return False


def _along(dof: Dof, inertia: Articulated) -> float:
    """D = Sᵀ I S + armature."""
    return float(cast(float, along(dof, *apply(inertia, dof.column)) + dof.armature))


# The lane-exchange map of a tree: which links a prefix scan combines in each of its steps.
#
# The link that a link is combined with is called its partner. Outward, a link's partners are its ancestors 1, 2, 4, ...
# links away: Kogge and Stone's scan along every path from the root. Inward, where branches join, the scan goes along
# heavy paths (Sleator, Tarjan 1983): a path continues with the child that carries the most links, and the other
# children begin paths of the next level. A leaf is at most log2 n + 1 levels from the root. In a tree of short branches
# a level for every depth takes fewer steps; then every link is a path of its own.


NONE = -1
"""No partner."""
Row: TypeAlias = tuple[int, ...]
Path: TypeAlias = list[int]


def exchange_map(parents: Sequence[int], lanes: int) -> dict[str, tuple[Row, ...]]:
    """{name: rows}, a row being the partner of every lane; the first lanes are the links, NONE is no partner.

    parents: one row, each link's parent. ancestors: rows of the ancestors 1, 2, 4, ... links away. children: one child
    in each row. behind: combining row after row gives every link the product of all links that it carries. A partner
    that is the first link of a branch is written as -2 - link there.
    """
    return _exchange_map(tuple(parents), lanes)


@lru_cache(maxsize=64)
def _exchange_map(parents: Row, lanes: int) -> dict[str, tuple[Row, ...]]:
    pairs = [(parent, child) for child, parent in enumerate(parents) if parent >= 0]
    found = {
        "parents": [list(parents)],
        "ancestors": _ancestors(parents),
        "children": _spread(pairs, len(parents)),
        "behind": [row for level in reversed(levels(parents)) for row in _behind(level, parents)],
    }
    return {name: tuple((*row, *[NONE] * (lanes - len(row))) for row in rows) for name, rows in found.items()}


def _ancestors(parents: Sequence[int]) -> list[list[int]]:
    rows: list[list[int]] = []
    row = list(parents)
    while any(ancestor >= 0 for ancestor in row):
        rows.append(row)
        row = [row[ancestor] if ancestor >= 0 else NONE for ancestor in row]
    return rows


def _behind(level: Sequence[Path], parents: Sequence[int]) -> list[list[int]]:
    """The rows of one level: products along its paths, then the paths' products for the links that they begin at."""
    rows: list[list[int]] = []
    step = 1
    while step < max(map(len, level)):
        row = [NONE] * len(parents)
        for path in level:
            for link, partner in zip(path, path[step:], strict=False):
                row[link] = partner
        rows.append(row)
        step *= 2
    return rows + _spread([(parents[path[0]], -2 - path[0]) for path in level if parents[path[0]] >= 0], len(parents))


def _spread(pairs: Sequence[tuple[int, int]], links: int) -> list[list[int]]:
    """Rows of (link, partner) pairs: in each row a link has the next of its partners."""
    rows: list[list[int]] = []
    met = [0] * links
    for parent, child in pairs:
        if met[parent] == len(rows):
            rows.append([NONE] * links)
        rows[met[parent]][parent] = child
        met[parent] += 1
    return rows


def levels(parents: Sequence[int]) -> list[list[Path]]:
    """The levels of a tree, the root's first: heavy paths, or a level for every depth if that takes fewer steps."""
    return min((_levels(parents, _heavy(parents)), _levels(parents, [NONE] * len(parents))), key=_steps)


def _steps(levels: Sequence[Sequence[Path]]) -> int:
    """The steps of a scan: of each level ceil(log2(longest path)), and one to combine paths with their parents."""
    return sum(max(len(path) - 1 for path in level).bit_length() + 1 for level in levels)


def _heavy(parents: Sequence[int]) -> list[int]:
    """For every link the child that carries the most links."""
    weights = carried(parents, [1] * len(parents))
    heavy = [NONE] * len(parents)
    for i, parent in enumerate(parents):
        if parent >= 0 and (heavy[parent] < 0 or weights[i] > weights[heavy[parent]]):
            heavy[parent] = i
    return heavy


def _levels(parents: Sequence[int], heavy: Sequence[int]) -> list[list[Path]]:
    """Paths that continue with the heavy child, by level: the number of paths between them and the root."""
    level = [0] * len(parents)
    found: list[list[Path]] = []
    for i, parent in enumerate(parents):
        begins = parent < 0 or heavy[parent] != i
        if parent >= 0:
            level[i] = level[parent] + begins
        if begins:
            if level[i] == len(found):
                found.append([])
            found[level[i]].append(_path(i, heavy))
    return found


def _path(head: int, heavy: Sequence[int]) -> Path:
    path = [head]
    while heavy[path[-1]] >= 0:
        path.append(heavy[path[-1]])
    return path
