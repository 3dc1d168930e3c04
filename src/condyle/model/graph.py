"""Whether links and joints make a tree: names, ends, loops, roots, and who mimics whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from condyle.errors import Finding
from condyle.model.change import suggest
from condyle.model.description import FIXED, JointSpec, Link, MimicOf
from condyle.model.joints import JOINT_TYPES
from condyle.model.placement import IDENTITY
from condyle.model.pose import motion
from condyle.model.topology import joint_of
from condyle.text import few

_SHOWN = 5


def check_graph(links: Sequence[Link], joints: Sequence[JointSpec], file: str | None) -> tuple[str, list[Finding]]:
    """The root link (any link where there are findings), and everything that keeps this from being a tree."""
    if not links:
        return "", [Finding("error", "no link at all", file, cure="a robot needs one or more")]
    findings = _duplicates(links, joints, file) + _ends(links, joints, file)
    children = {joint.child for joint in joints}
    tops = [link for link in links if link.name not in children]
    roots = [link.name for link in tops]
    if len(roots) > 1:
        message = f"{len(roots)} root links: {few(map(repr, roots), _SHOWN)}"
        findings.append(Finding("error", message, file, tops[1].line, cure="join them to one root"))
    findings += _kinematic_loops(links, joints, roots, file)
    return (roots[0] if roots else links[0].name), findings


def _duplicates(links: Sequence[Link], joints: Sequence[JointSpec], file: str | None) -> list[Finding]:
    findings: list[Finding] = []
    for what, items in (("link", links), ("joint", joints)):
        first: dict[str, int | None] = {}
        for item in items:
            if item.name in first:
                before = first[item.name]
                where = "" if before is None else f", first on line {before}"
                message = f"{what} {item.name!r} is defined twice{where}"
                findings.append(Finding("error", message, file, item.line, cure="rename one of them"))
            first.setdefault(item.name, item.line)
    return findings


def _ends(links: Sequence[Link], joints: Sequence[JointSpec], file: str | None) -> list[Finding]:
    names = tuple(link.name for link in links)
    known = set(names)
    findings: list[Finding] = []
    for joint in joints:
        for what, end in (("parent", joint.parent), ("child", joint.child)):
            if end is not None and end not in known:
                world = end == "world"
                message = f"{what} link {end!r} does not exist{'' if world else suggest(end, names)}"
                cure = 'add <link name="world"/>' if world else None
                findings.append(Finding("error", message, file, joint.line, f"joint {joint.name!r}", cure))
        if joint.parent == joint.child:
            message = f"joins link {joint.child!r} to itself"
            findings.append(Finding("error", message, file, joint.line, f"joint {joint.name!r}"))
    return findings


def _kinematic_loops(
    links: Sequence[Link], joints: Sequence[JointSpec], roots: Sequence[str], file: str | None
) -> list[Finding]:
    findings: list[Finding] = []
    above: dict[str, JointSpec] = {}
    for joint in joints:
        if joint.child in above:
            both = f"joints {above[joint.child].name!r} and {joint.name!r}"
            message = f"closed loop: {both} both hold link {joint.child!r}"
            findings.append(Finding("error", message, file, joint.line, cure="cut the loop: only trees are supported"))
        above.setdefault(joint.child, joint)
    below: dict[str | None, list[str]] = {}
    for joint in joints:
        below.setdefault(joint.parent, []).append(joint.child)
    reached: set[str] = set()
    todo: list[str] = [*roots, *below.get(None, [])]
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            todo.extend(below.get(name, []))
    lost = [link.name for link in links if link.name not in reached and above[link.name].parent != link.name]
    known = {link.name for link in links}
    if lost and all(above[name].parent in known for name in lost):
        message = f"closed loop: no way from a root link to {few(map(repr, lost), _SHOWN)}"
        findings.append(Finding("error", message, file, above[lost[0]].line, cure="only trees are supported"))
    return findings


def resolve_mimics(joints: Sequence[JointSpec], file: str | None) -> tuple[tuple[JointSpec, ...], list[Finding]]:
    """The joints with sound mimics only: dropped on fixed joints, frozen where the master is fixed, else refused."""
    counts = Counter(joint.name for joint in joints)
    by_name = {joint.name: joint for joint in joints if counts[joint.name] == 1}
    findings: list[Finding] = []
    out: dict[str, JointSpec] = {}
    for joint in joints:
        if joint.mimic is not None and joint.type == FIXED:
            out[joint.name] = replace(joint, mimic=None)
        elif joint.mimic is not None:
            out[joint.name] = _sound(joint, joint.mimic, by_name, file, findings)
    return tuple(out.get(joint.name, joint) for joint in joints), findings


def _has_one_freedom(joint: JointSpec) -> bool:
    return JOINT_TYPES[joint.type].nq == 1


def _sound(
    joint: JointSpec, mimic: MimicOf, by_name: dict[str, JointSpec], file: str | None, findings: list[Finding]
) -> JointSpec:
    """The joint itself, or frozen when the root of its chain of masters is fixed; adds what is wrong."""
    multiplier, offset, seen, at = 1.0, 0.0, [joint.name], joint
    problem = "" if _has_one_freedom(joint) else f"a {joint.type} joint cannot mimic"
    while not problem and at.mimic is not None and at.type != FIXED:
        master = at.mimic.joint
        multiplier, offset = multiplier * at.mimic.multiplier, multiplier * at.mimic.offset + offset
        if master not in by_name:
            problem = f"mimics joint {master!r}, which does not exist{suggest(master, tuple(by_name))}"
        elif master in seen:
            problem = f"mimics itself, by way of {few(map(repr, seen), _SHOWN)}" if len(seen) > 1 else "mimics itself"
        elif by_name[master].type != FIXED and not _has_one_freedom(by_name[master]):
            problem = f"mimics joint {master!r}, which is {by_name[master].type}: only joints with one freedom can be"
        else:
            at = by_name[master]
            seen.append(master)
    element = f"joint {joint.name!r}"
    if problem:
        findings.append(Finding("error", problem, file, joint.line, element))
        return replace(joint, mimic=None)
    if at.type != FIXED:
        return joint
    message = f"mimics joint {at.name!r}, which is fixed: it is frozen at {offset:.9g}"
    findings.append(Finding("note", message, file, joint.line, element))
    moved = motion(joint_of(replace(joint, mimic=None), -1, IDENTITY, 0, 0), np.array((offset,)))
    placement = joint.placement.compose(moved).compose(joint.after)
    return JointSpec(joint.name, FIXED, joint.parent, joint.child, placement, line=joint.line)
