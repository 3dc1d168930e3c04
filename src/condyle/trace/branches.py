"""Isomorphic subtrees: branches of one link with the same joints, whose constants may differ."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from condyle.model.tree import Tree


class BranchIndex(NamedTuple):
    """A position in isomorphic branches: the class of branches, the branch of that class, the position in it."""

    kind: int
    branch: int
    position: int


class Branches(NamedTuple):
    """Positions in isomorphic branches: {joint: position} and {(array, entry) of q, v, a or f_ext: position}."""

    joints: dict[int, BranchIndex]
    inputs: dict[tuple[str, int], BranchIndex]


def branches_of(tree: Tree) -> Branches:
    """The outermost isomorphic branches of each link; none where joints share coordinates."""
    found = Branches({}, {})
    kinds = [] if tree.has_shared_coordinates else _alike(tree)
    for kind, branches in enumerate(kinds):
        for branch, joints in enumerate(branches):
            _number(tree, found, BranchIndex(kind, branch, 0), joints)
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


def _number(tree: Tree, branches: Branches, place: BranchIndex, joints: list[int]) -> None:
    counts: dict[str, int] = defaultdict(int)

    def add(name: str, entry: int) -> None:
        branches.inputs[name, entry] = place._replace(position=counts[name])
        counts[name] += 1

    for position, i in enumerate(joints):
        branches.joints[i] = place._replace(position=position)
        link = tree.links[i]
        for coordinate in link.q:
            add("q", coordinate.entry)
        for coordinate in link.v:
            add("v", coordinate.entry)
            add("a", coordinate.entry)
        for k in range(6 if link.body >= 0 else 0):
            add("f_ext", 6 * link.body + k)
