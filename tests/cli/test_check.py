from __future__ import annotations

import numpy as np

from condyle.cli.check import Verdict, allowed, relative
from condyle.functions import FUNCTIONS


def test_a_good_robot_is_fine(run, pendulum) -> None:
    ran = run("check", pendulum(), "--json")
    assert ran.status == 0, ran.out
    assert ran.json["fine"]
    named = [row["what"].split()[0] for row in ran.json["checks"]]
    assert named[: len(FUNCTIONS)] == list(FUNCTIONS)


def test_float32_is_fine_too(run, pendulum) -> None:
    assert run("check", pendulum(), "--dtype", "float32").status == 0


def test_the_relative_error_is_that_of_the_worst_state() -> None:
    expected = np.array([[1.0, 100.0], [1.0, 0.0]])
    found = np.array([[1.5, 100.0], [1.1, 0.0]])
    assert np.isclose(relative(found, expected), 0.1)


def test_nan_is_never_fine() -> None:
    assert not Verdict("id", float("nan"), 1.0).fine


def test_the_condition_of_M_counts_only_where_M_is_solved_with() -> None:
    assert allowed(FUNCTIONS["id"], "float64", 1e12) == 1e-12
    assert allowed(FUNCTIONS["fd"], "float64", 1.0) == 1e-9
    assert allowed(FUNCTIONS["fd"], "float64", 1e9) > 1e-9
    assert allowed(FUNCTIONS["id"], "float32", 1e12) == 2e-5


def test_a_mass_matrix_without_inverse_is_found_wanting(run, pendulum) -> None:
    massless = """<robot name="x"><link name="base"/><link name="a"/>
      <joint name="j" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint></robot>"""
    ran = run("check", pendulum(text=massless))
    assert ran.status == 1
    assert "no inverse" in ran.out + ran.err
