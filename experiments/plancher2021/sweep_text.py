"""What the sweep's section says: text, tables and figures as plain data, from measured rows alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.figure import Figure, Lines
from experiments.plancher2021.sweep import CONVERGED, COSTS, HELD, PRINTED, SOLVES, TRAPS, WORDS

Rows = Mapping[str, Mapping[str, Any]]
Table = list[list[str]]

TITLES = {"tip": "the end effector's cost", "joint": "the joints' cost"}
HEAD = ["word", "converged", "iterations needed", "last cost", "tip's error, mm", "flagged"]
CURVES = ("float64", "q27.5", "q26.6", "q16.16", "q10.22", "q9.23", "q8.24", "27x18")
"""Words whose costs over iterations are drawn."""

PAPER = (
    f"The paper prints (footnote 2) that {PRINTED['chosen']} was chosen, and that words of 32 bits are valid down to "
    f"{PRINTED['least bits before the point']} integer bits and {PRINTED['least bits behind the point']} fractional "
    "bits. It does not state the criterion of success, the number of trials, or which cost was used. The instance is "
    "that of the code that came with the paper."
)
METHOD = (
    "There are 100 seeded trials of 40 iterations of condyle.OptimalControl each, with the states of all knots as "
    f"variables. A trial has converged if its last cost is at most {CONVERGED} times that of the same trial in float64 "
    f"and its motion is off by at most {HELD:g} rad or rad/s at a knot. Only dc/du is in fixed point, computed by the "
    "integers of an accelerator of did. The product with M^-1 is in floating point, as in the paper's code. "
    "In the rows of difd the accelerator computes this product too. A trial that ends in NaN or infinity is counted as "
    "diverged. The paper's method is an iLQR whose knots are in 4 blocks backward and 2 forward, so numbers of "
    "iterations cannot be compared with the paper's."
)
TRAP = (
    "The variants try other causes of a difference. The paper's code leaves gravity out of one of its fixed-point "
    "gradients, and it has a damping of 0.5 N m s in the joints."
)
ALONE = (
    "Solve is one call of OptimalControl.solve for this problem with the robot's own dynamics: semi-implicit Euler, "
    "accelerations as variables, from the same start to a relative tolerance of 1e-6 (float32: 1e-4). Times are of one "
    "thread, the least of many calls."
)

TEXT = "\n\n".join((PAPER, METHOD, TRAP, ALONE))


def tables(rows: Rows) -> dict[str, Table]:
    """Heading to table, its head first; a row that was not measured says so."""
    found = {f"Words, {TITLES[cost]}": table(rows, [f"{cost} {word}" for word in WORDS]) for cost in COSTS}
    found["Fewest bits of 32 with which every trial converges"] = fewest(rows)
    return {**found, "Variants": table(rows, TRAPS), "Solve": solves(rows)}


def solves(rows: Rows) -> Table:
    """Times of whole solves."""
    found = [["solve", "solved", "iterations", "cost", "tip's error, mm", "one trial, us", "each of 100 in a call, us"]]
    for name in SOLVES:
        row = rows.get(name)
        if row is None:
            found.append([name, "not measured"])
            continue
        iterations, cost, error = (row[key]["median"] for key in ("iterations", "final_cost", "tip_error_m"))
        us = [f"{row['us'][key]:.0f}" for key in ("one", "each of all")]
        found.append([name, f"{row['solved']:.0%}", f"{iterations:.0f}", f"{cost:.2f}", f"{1e3 * error:.1f}", *us])
    return found


def fewest(rows: Rows) -> Table:
    printed = [str(PRINTED[f"least bits {where} the point"]) for where in ("before", "behind")]
    ours = [[TITLES[cost], *(str(bits or "-") for bits in valid(rows, cost).values())] for cost in COSTS]
    return [["cost", "integer bits", "fractional bits"], *ours, ["the paper's", *printed]]


def table(rows: Rows, names: list[str] | tuple[str, ...]) -> Table:
    return [HEAD, *([name, *line(rows[name])] if name in rows else [name, "not measured"] for name in names)]


def line(row: Mapping[str, Any]) -> list[str]:
    needed, diverged = row["iterations_needed"], row["diverged"]
    return [
        f"{row['converged']:.0%}" + (f", {diverged} diverged" if diverged else ""),
        "-" if needed is None else f"{needed:.0f}",
        f"{row['final_cost']['median']:.2f}",
        f"{1e3 * row['tip_error_m']['median']:.1f}",
        f"{row['flagged']:.2%}",
    ]


def figures(rows: Rows) -> dict[str, Figure]:
    """The median cost after 1, 2, ... iterations, a line a word."""
    found: dict[str, Figure] = {}
    for cost in COSTS:
        lines = {word: list(rows[f"{cost} {word}"]["cost_median"]) for word in CURVES if f"{cost} {word}" in rows}
        drawn = {word: (range(1, len(values) + 1), values) for word, values in lines.items()}
        found[f"Median cost over iterations, {TITLES[cost]}"] = Lines("iteration", "cost", drawn, "y")
    return found


def valid(rows: Rows, cost: str) -> dict[str, int | None]:
    """The fewest bits before and behind the point with which every trial converges, of words of 32 bits."""
    fine = [f for f in range(5, 25) if rows.get(f"{cost} q{32 - f}.{f}", {}).get("converged") == 1.0]
    return {"before": 32 - max(fine) if fine else None, "behind": min(fine) if fine else None}
