"""What the sweep's section says: text, tables and figures as plain data, from measured rows alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.figure import Figure, Lines
from experiments.plancher2021.sweep import CONVERGED, COSTS, PRINTED, TRAPS, WORDS

Rows = Mapping[str, Mapping[str, Any]]
Table = list[list[str]]

TITLES = {"tip": "the end effector's cost", "joint": "the joints' cost"}
HEAD = ["word", "converged", "iterations needed", "last cost", "tip's error, mm", "flagged"]
CURVES = ("float64", "q27.5", "q26.6", "q16.16", "q10.22", "q9.23", "q8.24", "27x18")
"""Words whose costs over iterations are drawn."""

PAPER = (
    f"Printed in the paper (footnote 2): {PRINTED['chosen']} was chosen, and words of 32 bits are valid down to "
    f"{PRINTED['least bits before the point']} bits before the point and {PRINTED['least bits behind the point']} "
    "behind it. Unstated there: the criterion of success, the number of trials, which cost was used. The instance is "
    "that of the code that came with the paper."
)
METHOD = (
    "100 seeded trials, 40 iterations each. A trial has converged where its last cost is at most "
    f"{CONVERGED} times that of the same trial in float64. Fixed point is dc/du alone, by the integers of an "
    "accelerator of did; the product with the inverse of M is floating point, as in the paper's code, but for the rows "
    "of difd, whose accelerator does that product too. Trials that end in no number are counted as diverged."
)
TRAP = (
    "What else could have made a difference: the paper's code leaves gravity out of one of its fixed-point gradients, "
    "and damps joints by 0.5 N m s; its blocks of knots, 4 backward and 2 forward, are ours too, but for the rows of "
    "one block."
)

TEXT = "\n".join((PAPER, METHOD, TRAP))


def tables(rows: Rows) -> dict[str, Table]:
    """Heading to table, its head first; a row that was not measured says so."""
    found = {f"Words, {TITLES[cost]}": table(rows, [f"{cost} {word}" for word in WORDS]) for cost in COSTS}
    return found | {"Fewest bits of 32 with which every trial converges": fewest(rows), "Variants": table(rows, TRAPS)}


def fewest(rows: Rows) -> Table:
    printed = [str(PRINTED[f"least bits {where} the point"]) for where in ("before", "behind")]
    ours = [[TITLES[cost], *(str(bits or "-") for bits in valid(rows, cost).values())] for cost in COSTS]
    return [["cost", "before the point", "behind it"], *ours, ["the paper's", *printed]]


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
    """The median cost after 0, 1, ... iterations, a line a word."""
    found: dict[str, Figure] = {}
    for cost in COSTS:
        lines = {word: list(rows[f"{cost} {word}"]["cost_median"]) for word in CURVES if f"{cost} {word}" in rows}
        drawn = {word: (range(len(values)), values) for word, values in lines.items()}
        found[f"Median cost over iterations, {TITLES[cost]}"] = Lines("iteration", "cost", drawn, "y")
    return found


def valid(rows: Rows, cost: str) -> dict[str, int | None]:
    """The fewest bits before and behind the point with which every trial converges, of words of 32 bits."""
    fine = [f for f in range(5, 25) if rows.get(f"{cost} q{32 - f}.{f}", {}).get("converged") == 1.0]
    return {"before": 32 - max(fine) if fine else None, "behind": min(fine) if fine else None}
