"""What acts on the bodies in MuJoCo and not here: refused, or ignored with a note; joint equalities that are mimics."""

from __future__ import annotations

from typing import cast

import numpy as np

from condyle.errors import Finding, UnsupportedError
from condyle.model.array import Array
from condyle.readers.mjcf_compiled import Compiled

_EQ_JOINT = 2  # mjtEq
_SPRINGS = ("jnt_stiffness", "jnt_stiffnesspoly")


def check_modelled(model: Compiled, file: str, ignore: bool) -> list[Finding]:
    """Notes on what acts in MuJoCo only; UnsupportedError for what changes the motion of the tree, unless `ignore`."""
    names = {
        "equality constraints": int(np.count_nonzero(model.eq_active0)) - len(followers(model)),
        "tendons": model.ntendon,
        "flexes": model.nflex,
        "joint springs": _springs(model),
    }
    found = [f"{name} ({count})" for name, count in names.items() if count]
    if found and not ignore:
        raise UnsupportedError(
            f"{file}: {', '.join(found)}: not supported; to load the tree without them say unmodelled='ignore', or "
            "take them out of the file"
        )
    return [Finding("note", f"{what}: ignored", file) for what in (*found, *_small(model))]


def followers(model: Compiled) -> dict[int, tuple[int, float, float]]:
    """Joints that an active joint equality ties to another by a line: master, multiplier, offset, as mimics have them.

    MuJoCo: q_1 - ref_1 = c_0 + c_1 (q_2 - ref_2) + ...; of several equalities of one joint the first counts.
    """
    found: dict[int, tuple[int, float, float]] = {}
    for i in np.flatnonzero((model.eq_type == _EQ_JOINT) & model.eq_active0.astype(bool)):
        joint, master = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
        shift, slope, *higher = (float(c) for c in model.eq_data[i, :5])
        if joint not in found and master >= 0 and slope != 0.0 and not any(higher):
            refs = model.qpos0[model.jnt_qposadr[[joint, master]]]
            found[joint] = (master, slope, float(refs[0] + shift - slope * refs[1]))
    return found


def _springs(model: Compiled) -> int:
    """How many joints have one."""
    sprung = np.zeros(model.njnt, dtype=bool)
    for name in _SPRINGS:  # not all in every version
        values = cast("Array | None", getattr(model, name, None))
        if values is not None:
            sprung |= (values != 0.0).any(axis=tuple(range(1, values.ndim)))
    return int(np.count_nonzero(sprung))


def _small(model: Compiled) -> list[str]:
    """What is never refused: forces that are little, or meant to be added by the user."""
    poly = cast("Array | None", getattr(model, "dof_dampingpoly", None))
    present = {
        "gravity compensation (gravcomp)": bool(model.body_gravcomp.any()),
        "fluid forces (density, viscosity)": model.opt.density != 0.0 or model.opt.viscosity != 0.0,
        "nonlinear damping": poly is not None and bool(poly.any()),
    }
    return [name for name, here in present.items() if here]
