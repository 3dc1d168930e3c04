"""The last step of every reader and of the builder: check everything, report it at once, assemble."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from condyle.errors import Finding, ModelError, ModelWarning, listed
from condyle.model.actuator import check_actuators, left_out
from condyle.model.change import assemble, joint_of, motion
from condyle.model.checks import POINT_MASS, Source, check_body, check_structure
from condyle.model.contact import settled, unknown_ends
from condyle.model.description import FIXED, Description, JointSpec, Link, MimicOf
from condyle.model.joints import JOINT_TYPES
from condyle.model.named import suggest
from condyle.model.parts import NONE_SNAPPED, users_level
from condyle.model.placement import IDENTITY
from condyle.model.robot import Robot
from condyle.specification.integrators import MIMICS, UNMODELLED
from condyle.text import few

# Whether links and joints make a tree: names, ends, loops, roots, and who mimics whom.


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
    return JointSpec(joint.name, FIXED, joint.parent, joint.child, placement, line=joint.line, held=offset)


ROOT_JOINT = "root_joint"
GRAVITY = (0.0, 0.0, -9.81)


@dataclass(frozen=True, slots=True)
class Options:
    """How to load: see `condyle.load`. quiet: warnings are not given (errors are). ModelError for unknown words."""

    floating_base: bool = False
    strict: bool = False
    snap: float = 1e-9
    mimic: str = "exact"
    unmodelled: str = "refuse"
    quiet: bool = False

    def __post_init__(self) -> None:
        for name, value in (("floating_base", self.floating_base), ("strict", self.strict)):
            if value not in (True, False):
                raise ModelError(f"{name}={value!r}, expected True or False")
        for name, value, allowed in (("mimic", self.mimic, MIMICS), ("unmodelled", self.unmodelled, UNMODELLED)):
            if value not in allowed:
                raise ModelError(f"{name}={value!r}, expected one of {', '.join(map(repr, allowed))}")


def finish(draft: Description, options: Options, findings: Sequence[Finding] = ()) -> Robot:
    """The robot of what was said; ModelError with every finding if one is an error (or "physics" when strict), else
    one ModelWarning with all of them."""
    source = Source(draft.file, {link.name: link.line for link in draft.links if link.line is not None})
    found = list(findings)
    joints = draft.joints
    if options.mimic == "independent":
        joints = tuple(replace(joint, mimic=None) for joint in joints)
    joints, more = resolve_mimics(joints, draft.file)
    root, wrong = check_graph(draft.links, joints, draft.file)
    found += more + wrong + unknown_ends(draft.contacts, draft.links, draft.file)
    kinds = {joint.name: None if joint.type == FIXED else JOINT_TYPES[joint.type] for joint in joints}
    found += check_actuators(draft.actuators, kinds, draft.file)
    bodies = {link.name: check_body(link.body, source) for link in draft.links}
    if options.floating_base and any(joint.name == ROOT_JOINT and joint.type != FIXED for joint in joints):
        message = f"floating_base adds a joint {ROOT_JOINT!r}, and a moving joint has that name"
        found.append(Finding("error", message, draft.file, cure="rename it, or load without floating_base"))
    if _fatal(found, options) or any(link.body.mass < 0.0 for link in draft.links):
        raise ModelError([*found, *(finding for findings in bodies.values() for finding in findings)])
    if all(joint.parent is not None for joint in joints):
        joints = (_root_joint(root, options.floating_base), *joints)
    placements = (*(link.place for link in draft.links), *(joint.placement for joint in joints))
    snapped = NONE_SNAPPED.more(angle for placement in placements for angle in placement.moved)
    notes = None if options.quiet else draft.file_notes
    draft = replace(draft, joints=joints, snap=options.snap, snapped=snapped, file_notes=notes)
    whole, loose = settled(assemble(draft), draft.file)
    robot = Robot.from_data(whole)
    found += loose + left_out(draft.actuators, robot.actuators, draft.file)
    _report([*found, *_weighed(robot, bodies, source), *check_structure(robot, source)], options)
    return robot


def _weighed(robot: Robot, bodies: Mapping[str, Sequence[Finding]], source: Source) -> list[Finding]:
    """Findings about links: where the moving body that a link is part of can be, its error is only "physics",
    and a point mass is none; a body that cannot be while each of its links can is an error of its own."""
    merged = [check_body(body, source) for body in robot.bodies]
    sound = [not found for found in merged]
    possible = [all(finding.severity != "error" for finding in found) for found in merged]
    out: list[Finding] = []
    for name, findings in bodies.items():
        carrier = robot.frames[name].body
        for finding in findings:
            if finding.severity == "error" and (carrier < 0 or possible[carrier]):
                finding = replace(finding, severity="physics")
            if finding.message != POINT_MASS or not (carrier < 0 or sound[carrier]):
                out.append(finding)
    told = {robot.frames[name].body for name, found in bodies.items() if any(f.severity == "error" for f in found)}
    out += [finding for i, found in enumerate(merged) if not possible[i] and i not in told for finding in found]
    return out


def _root_joint(root: str, floating: bool) -> JointSpec:
    return JointSpec(ROOT_JOINT, "free", None, root) if floating else JointSpec("", FIXED, None, root)


def _fatal(findings: Sequence[Finding], options: Options) -> bool:
    severities = ("error", "physics") if options.strict else ("error",)
    return any(finding.severity in severities for finding in findings)


def _report(findings: Sequence[Finding], options: Options) -> None:
    """Raise one ModelError if a finding must not pass; else warn once."""
    if _fatal(findings, options):
        raise ModelError(findings)
    if findings and not options.quiet:
        warnings.warn(ModelWarning(listed(findings), findings), stacklevel=users_level())
