"""The last step of every reader and of the builder: check everything, report it at once, assemble."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from condyle.errors import Finding, ModelError, ModelWarning, listed
from condyle.model.checks import POINT_MASS, Source, check_body, check_structure
from condyle.model.description import FIXED, Description, JointSpec
from condyle.model.graph import check_graph, resolve_mimics
from condyle.model.loops import settled, unknown_ends
from condyle.model.parts import NONE_SNAPPED
from condyle.model.robot import Robot
from condyle.model.topology import assemble
from condyle.specification.choices import MIMICS, UNMODELLED

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
    whole, left_out = settled(assemble(draft), draft.file)
    robot = Robot.from_data(whole)
    found += left_out
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
        warnings.warn(ModelWarning(listed(findings), findings), stacklevel=6)
