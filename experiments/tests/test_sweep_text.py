"""The sweep's tables come from rows alone, and say what is missing."""

from __future__ import annotations

from experiments.plancher2021 import sweep_text


def row(converged: float = 1.0, diverged: int = 0) -> dict[str, object]:
    return {
        "converged": converged,
        "diverged": diverged,
        "iterations_needed": 9.0 if converged else None,
        "final_cost": {"median": 19.132},
        "tip_error_m": {"median": 0.0445},
        "flagged": 0.0237,
        "cost_median": [335.0, 19.132],
    }


def test_rows_become_tables_and_figures():
    rows = {"tip q16.16": row(), "tip q8.24": row(0.0, 3)}
    tables = sweep_text.tables(rows)
    lines = {line[0]: line[1:] for line in tables["Words, the end effector's cost"]}
    assert lines["tip q16.16"] == ["100%", "9", "19.13", "44.5", "2.37%"]
    assert lines["tip q8.24"][:2] == ["0%, 3 diverged", "-"] and lines["tip q27.5"] == ["not measured"]
    figure = sweep_text.figures(rows)["Median cost over iterations, the end effector's cost"]
    assert figure.lines["q8.24"] == (range(1, 3), [335.0, 19.132])
    assert len(tables) == 5 and tables["Solve"][1] == ["tip solve float64", "not measured"]
    head, tip, joint, paper = tables["Fewest bits of 32 with which every trial converges"]
    assert tip == ["the end effector's cost", "16", "16"] and joint[1:] == ["-", "-"]
    assert head[1:] == ["integer bits", "fractional bits"] and paper[1:] == ["12", "5"]


def test_the_range_that_is_valid():
    rows = {f"tip q{32 - f}.{f}": row(float(6 <= f <= 20)) for f in range(5, 25)}
    assert sweep_text.valid(rows, "tip") == {"before": 12, "behind": 6}
    assert sweep_text.valid({}, "joint") == {"before": None, "behind": None}


def test_a_solve_is_a_line():
    half = {"median": 9.0}
    us = {"one": 300.4, "each of all": 290.0}
    solve = {"solved": 1.0, "iterations": half, "final_cost": half, "tip_error_m": half, "us": us}
    lines = sweep_text.solves({"tip solve float64": solve})
    assert lines[1] == ["tip solve float64", "100%", "9", "9.00", "9000.0", "300", "290"]
    assert len(lines[1]) == len(lines[0])
