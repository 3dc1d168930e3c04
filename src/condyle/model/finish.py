"""The last step of every reader and of the builder: check everything, report it at once, assemble."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

from condyle.errors import Finding, ModelError, ModelWarning
from condyle.model.array import Array
from condyle.model.checks import Source, check_body, check_structure
from condyle.model.description import FIXED, Description, JointSpec, Link
from condyle.model.graph import check_graph, resolve_mimics
from condyle.model.robot import Robot

ROOT_JOINT = "root_joint"
GRAVITY = (0.0, 0.0, -9.81)
MIMICS = ("exact", "independent")


@dataclass(frozen=True, slots=True)
class Options:
    """How to load: see `condyle.load`. quiet: warnings are not given (errors are)."""

    floating_base: bool = False
    strict: bool = False
    snap: float = 1e-9
    mimic: str = "exact"
    quiet: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """Links and joints as they were said, the root's own joint not among them unless it leads to None."""

    name: str
    gravity: Array
    links: tuple[Link, ...]
    joints: tuple[JointSpec, ...]
    file: str | None = None


def finish(draft: Draft, options: Options, findings: Sequence[Finding] = ()) -> Robot:
    """The robot of a draft; ModelError with every finding if one is an error (or "physics" when strict), else
    one ModelWarning with all of them."""
    if options.mimic not in MIMICS:
        raise ModelError(f"mimic={options.mimic!r}, expected one of {', '.join(map(repr, MIMICS))}")
    source = Source(draft.file, {link.name: link.line for link in draft.links if link.line is not None})
    found = list(findings)
    joints = draft.joints
    if options.mimic == "independent":
        joints = tuple(replace(joint, mimic=None) for joint in joints)
    joints, more = resolve_mimics(joints, draft.file)
    root, wrong = check_graph(draft.links, joints, draft.file)
    found += more + wrong
    for link in draft.links:
        found += check_body(link.body, source)
    if options.floating_base and any(joint.name == ROOT_JOINT for joint in joints):
        found.append(Finding("error", f"floating_base needs the name {ROOT_JOINT!r}, which a joint has", draft.file))
    settle(found, options, only_errors=True)
    if all(joint.parent is not None for joint in joints):
        joints = (_root_joint(root, options.floating_base), *joints)
    robot = Robot.assemble(Description(draft.name, draft.gravity, draft.links, joints, options.snap))
    settle([*found, *check_structure(robot, source)], options)
    return robot


def _root_joint(root: str, floating: bool) -> JointSpec:
    return JointSpec(ROOT_JOINT, "free", None, root) if floating else JointSpec("", FIXED, None, root)


def settle(findings: Sequence[Finding], options: Options, *, only_errors: bool = False) -> None:
    """Raise one ModelError if a finding must not pass; else warn once, unless only errors are asked for."""
    fatal = ("error", "physics") if options.strict else ("error",)
    if any(finding.severity in fatal for finding in findings):
        raise ModelError(findings)
    if findings and not only_errors and not options.quiet:
        warnings.warn("\n".join(str(finding) for finding in findings), ModelWarning, stacklevel=4)
