"""Everything that is parallel in the links of a robot. `chosen` is the door: the compiler for `compile(links=)`.

`routes` (which functions have such routes), `algorithms` (prefix scans over the tree), `trace` (to operations of
`ir.link_parallel`), `cuda` (kernels whose lanes are links), `launches` (of a GPU), `compiler`.
"""

from __future__ import annotations

from collections.abc import Mapping

from condyle.backends.common.facts import Facts
from condyle.compile import Scans, Target
from condyle.compile.compiler import Compiler
from condyle.compile.targets import TARGETS
from condyle.errors import UnsupportedError
from condyle.model.robot import Robot
from condyle.model.tree import Tree
from condyle.specification import Function


def chosen(
    robot: Robot, tree: Tree, facts: Facts, links: str, target: Target, routes: Mapping[Function, str]
) -> Compiler:
    """The compiler for `compile(links=)`; UnsupportedError for scans on a target that has none."""
    if links == "serial":
        return Compiler(tree, facts, routes, robot=robot)
    if links == "scan" and target.scans is Scans.NONE:
        *others, last = (repr(name) for name, other in sorted(TARGETS.items()) if other.scans is not Scans.NONE)
        there = f"{', '.join(others)} and {last}"
        raise UnsupportedError(f"links='scan': target {target.name!r} has no scans; {there} have")
    from condyle.links.compiler import LinkParallelCompiler  # at first use

    return LinkParallelCompiler(tree, facts, routes, links == "auto", robot=robot)
