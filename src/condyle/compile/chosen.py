"""Which compiler serves a robot: link by link, or parallel in the links."""

from __future__ import annotations

from collections.abc import Mapping

from condyle.backends.common.facts import Facts
from condyle.backends.cpu.build import NEEDS, supported
from condyle.compile.serial import Compiler, fall_back
from condyle.errors import BuildError, UnsupportedError
from condyle.model.robot import Robot
from condyle.model.tree import Tree
from condyle.runtime.toolchain import find_compiler
from condyle.specification import Function


def chosen(robot: Robot, tree: Tree, facts: Facts, links: str, target: str, routes: Mapping[Function, str]) -> Compiler:
    """The compiler for `compile(links=)`; UnsupportedError for scans on a target that has none."""
    if links == "serial":
        return Compiler(tree, facts, routes, robot=robot)
    if links == "scan" and target not in ("cpu", "cuda", "numpy"):
        raise UnsupportedError(f"links='scan': target {target!r} has no scans; 'cpu', 'cuda' and 'numpy' have")
    from condyle.compile.parallel import LinkParallelCompiler  # at first use

    return LinkParallelCompiler(tree, facts, routes, links == "auto", robot=robot)


def runs_on(target: str) -> str:
    """The target behind a word: "cpu" is machine code where the processor can, else C where there is a compiler."""
    if target != "cpu" or supported():
        return target
    try:
        find_compiler()
    except BuildError as error:
        fall_back(BuildError(f"machine code {NEEDS}, and {error}"))
        return "numpy"
    return "c"
