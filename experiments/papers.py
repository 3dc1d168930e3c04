"""The experiments by paper: what is measured, and the file that makes its tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType


@dataclass(frozen=True)
class Paper:
    """A title, its source, and its parts: files of its folder with ROWS, QUICK and `measure(row, quick)`.

    parts: name to the file that has `tables(rows)`. It may have TEXT, with an empty line between paragraphs, and
    `figures(rows)`: heading to `figure.Figure`.
    """

    title: str
    source: str
    parts: Mapping[str, str]


PAPERS = {
    "plancher2021": Paper(
        "Gradients of dynamics on CPU, GPU and FPGA",
        "B. Plancher, S. M. Neuman, T. Bourgeat, S. Kuindersma, S. Devadas, V. J. Reddi: Accelerating Robot Dynamics "
        "Gradients on a CPU, GPU, and FPGA, RA-L 2021",
        {"gradient": "gradient", "sweep": "sweep_text", "figure_eight": "figure_eight"},
    ),
    "grid2022": Paper(
        "GRiD: dynamics on a GPU",
        "B. Plancher, S. M. Neuman, R. Ghosal, S. Kuindersma, V. J. Reddi: GRiD: GPU-Accelerated Rigid Body Dynamics "
        "with Analytical Gradients, ICRA 2022",
        {"latency": "latency"},
    ),
    "dadu2023": Paper(
        "Dadu-RBD: a multifunction accelerator",
        "Y. Yang, X. Chen, Y. Han: Dadu-RBD: Robot Rigid Body Dynamics Accelerator with Multifunctional Pipelines, "
        "MICRO 2023",
        {"functions": "functions", "end_to_end": "end_to_end"},
    ),
    "yang2017": Paper(
        "Dynamics parallel in the links",
        "Y. Yang, Y. Wu, J. Pan: Parallel Dynamics Computation Using Prefix Sum Operations, RA-L 2017",
        {"links": "links"},
    ),
    "beyond": Paper(
        "Beyond the four papers",
        "A batch of tracking problems as GATO solves it on a GPU (arXiv 2510.07625)",
        {"batch": "batch", "reach": "reach"},
    ),
    "whole": Paper(
        "Whole robots by optimal control",
        "Model predictive control by condyle.OptimalControl, closed loop in MuJoCo: one iteration is a control step",
        {name: name for name in ("quadruped", "humanoid", "trot_with_arm", "arm", "hand")},
    ),
    "environments": Paper(
        "Robots that learn on one core",
        "Policies trained by PPO in condyle.Environment, tried in MuJoCo with full collision",
        {name: name for name in ("walk", "walk_in_mujoco", "stand", "stand_in_mujoco")},
    ),
}


def part(paper: str, name: str) -> ModuleType:
    """A file of a paper's folder."""
    return import_module(f"experiments.{paper}.{name}")


def rows(paper: str, quick: bool, only: str = "") -> Iterator[tuple[str, str]]:
    """Part and row of what is measured."""
    for name in PAPERS[paper].parts:
        module = part(paper, name)
        for row in module.QUICK if quick else module.ROWS:
            if row.startswith(only):
                yield name, row
