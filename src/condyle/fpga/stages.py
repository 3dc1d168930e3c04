"""From a robot's tree to the Program of a hardware pipeline: traced, bounded, verified.

No pass cleans it: see decision 0049.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from condyle.algorithms.normal_form import normal_form
from condyle.fpga.magnitudes import upper_bounds
from condyle.fpga.pivots import pivot_bounds
from condyle.fpga.staged import trace_staged
from condyle.ir.program import Program
from condyle.ir.verify import verify
from condyle.model.tree import Tree
from condyle.specification import Function


def stages(
    tree: Tree,
    routes: Sequence[tuple[str, Function, str]],
    base: int = 0,
    edges: Mapping[tuple[str, int], float] | None = None,
) -> Program:
    """All (letter, function, route) in one Program, a note at each node: its stage, bounds of its magnitude.

    edges: of entries of inputs, which those bounds rest on; without them there are none. base: see `trace_staged`.
    Functions share what they have in common, so one that needs the exact tree gives all of them that.
    """
    exact = any(function.normal_form == "exact" for _, function, _ in routes)
    staged = trace_staged(normal_form(tree, "exact" if exact else "joint_space"), routes, base)
    program = verify(staged.program)
    if edges is not None:
        upper = upper_bounds(staged, [link.parent for link in tree.links], math.hypot(*tree.gravity), edges)
        least = pivot_bounds(tree)
        lower = {node: least[k] for node, k in staged.pivots.items()}
        notes = (
            note._replace(upper=upper.get(k, math.inf), lower=lower.get(k, 0.0)) for k, note in enumerate(program.notes)
        )
        program = replace(program, notes=tuple(notes))
    return verify(program)
