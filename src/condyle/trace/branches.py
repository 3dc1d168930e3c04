"""Isomorphic subtrees: branches with the same joints from one fork on, equal but for their numbers."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from condyle.model.tree import Tree


class Place(NamedTuple):
    """Where something stands: in which kind of branch, in which branch of that kind, at which place there."""

    kind: int
    branch: int
    at: int


class Branches(NamedTuple):
    """joints: the place of each joint in such a branch; inputs: of each entry of q, v, a and f_ext, (array, entry)."""

    joints: dict[int, Place]
    inputs: dict[tuple[str, int], Place]


def branches_of(tree: Tree) -> Branches:
    """The outermost alike branches of each fork; none where joints share coordinates."""
    found = Branches({}, {})
    kinds = [] if tree.has_shared_coordinates else _alike(tree)
    for kind, branches in enumerate(kinds):
        for branch, joints in enumerate(branches):
            _number(tree, found, Place(kind, branch, 0), joints)
    return found


def _alike(tree: Tree) -> list[list[list[int]]]:
    children: dict[int, list[int]] = defaultdict(list)
    for i, link in enumerate(tree.links):
        children[link.parent].append(i)

    def branch(i: int) -> list[int]:
        return [i, *(k for child in children[i] for k in branch(child))]

    def shape(i: int) -> tuple[object, ...]:
        link = tree.links[i]
        return (link.kind.name, link.body >= 0, tuple(shape(child) for child in children[i]))

    result: list[list[list[int]]] = []
    forks = [-1]
    while forks:
        shapes: dict[tuple[object, ...], list[int]] = defaultdict(list)
        for child in children[forks.pop()]:
            shapes[shape(child)].append(child)
        for alike in shapes.values():
            if len(alike) > 1:
                result.append([branch(i) for i in alike])
            else:
                forks += alike
    return result


def _number(tree: Tree, found: Branches, place: Place, joints: list[int]) -> None:
    counts: dict[str, int] = defaultdict(int)

    def add(name: str, entry: int) -> None:
        found.inputs[name, entry] = place._replace(at=counts[name])
        counts[name] += 1

    for at, i in enumerate(joints):
        found.joints[i] = place._replace(at=at)
        link = tree.links[i]
        for coordinate in link.q:
            add("q", coordinate.at)
        for coordinate in link.v:
            add("v", coordinate.at)
            add("a", coordinate.at)
        for k in range(6 if link.body >= 0 else 0):
            add("f_ext", 6 * link.body + k)
