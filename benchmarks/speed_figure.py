"""The figure of docs/results/speed.md: nanoseconds a state of every library, for three robots."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.figures import pyplot, save

ROBOTS = ("iiwa14", "hyq", "talos-reduced")
FUNCTIONS = ("id", "fd", "m", "minv", "did", "dfd")
ENGINES = {
    "condyle": ("Condyle", "#1b6ca8"),
    "casadi": ("C by CasADi", "#f0a202"),
    "pinocchio": ("Pinocchio, C++", "#8a8d91"),
    "mujoco": ("MuJoCo", "#c8553d"),
}
BAR, FLOOR = 0.2, 5.0


def draw(against: Mapping[str, Any], machine: str, path: Path) -> None:
    """One SVG; without Matplotlib none. Derivatives by finite differences are left out."""
    plots = pyplot()
    if plots is None:
        return
    robots = [name for name in ROBOTS if name in against]
    figure, panels = plots.subplots(
        1, len(robots), figsize=(9.6, 2.9), sharey=True, layout="constrained", squeeze=False
    )
    for axes, name in zip(panels[0], robots, strict=True):
        _panel(axes, against[name])
        axes.set(title=f"{name}, {against[name]['nv']} degrees of freedom")
    panels[0][0].set(ylabel="ns a state", ylim=(FLOOR, None))
    figure.legend(
        *panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=len(ENGINES), frameon=False
    )
    figure.suptitle(f"float64, one thread, 256 states a call, {machine}", fontsize=9)
    save(plots, figure, path)


def _panel(axes: Any, entry: Mapping[str, Any]) -> None:
    for k, (engine, (label, colour)) in enumerate(ENGINES.items()):
        ways = entry["rivals"].get(engine, {}).get("algorithms", {})
        heights = [
            0.0 if "finite" in ways.get(name, "") else entry["functions"][name]["ns"].get(engine, {}).get("median", 0.0)
            for name in FUNCTIONS
        ]
        places = [x + BAR * (k - (len(ENGINES) - 1) / 2) for x in range(len(FUNCTIONS))]
        axes.bar(places, heights, BAR, label=label, color=colour)
    axes.set_yscale("log")
    axes.set_xticks(range(len(FUNCTIONS)), FUNCTIONS)
    axes.grid(visible=True, axis="y", alpha=0.3)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
