from __future__ import annotations

from condyle.signature import FUNCTIONS


def test_the_tree_is_printed(run) -> None:
    ran = run("info", "iiwa14")
    assert ran.status == 0
    assert "nq 7, nv 7, 7 bodies" in ran.out
    assert ran.out.count("revolute") == 7
    assert "target cpu: " in ran.out
    assert ran.err == ""


def test_json_says_the_same(run) -> None:
    about = run("info", "hyq", "--floating-base", "--json").json
    assert (about["nq"], about["nv"]) == (19, 18)
    assert about["joints"][0]["type"] == "free"
    assert about["mass"] > 50.0
    assert "machine code" in about["cpu"]


def test_a_locked_joint_is_gone(run) -> None:
    first = run("info", "iiwa14", "--json").json["joints"][0]["name"]
    about = run("info", "iiwa14", "--lock", f"{first}=0.5", "--json").json
    assert about["nv"] == 6
    assert first not in [joint["name"] for joint in about["joints"]]


def test_counts_name_every_function(run, pendulum) -> None:
    ran = run("info", pendulum(), "--counts", "--json")
    rows = ran.json["counts"]
    assert [row["function"] for row in rows] == list(FUNCTIONS)
    for row in rows:
        assert set(row) == {"function", "route", "mul", "add", "div", "sincos", "instructions"}
        assert isinstance(row["mul"], int)
    assert "route" in run("info", pendulum(), "--counts").out


def test_a_hostile_name_does_not_reach_the_terminal(run, pendulum) -> None:
    ran = run("info", pendulum(name="evil&#x9b;31m&#x202e;name"))
    assert "\x9b" not in ran.out + ran.err
    assert "\u202e" not in ran.out + ran.err


def test_what_runs_on_a_target(run, pendulum) -> None:
    said = run("info", pendulum(), "--target", "cuda", "--batch", "1000000").out
    assert "batch of 1000000" in said and ", thread, estimated" in said
    lines = run("info", pendulum(), "--target", "numpy", "--json").json["explained"]
    assert lines[0].startswith("target numpy, float64, batch of 256")
    lines = run("info", "iiwa14", "--links", "scan", "--target", "numpy", "--json").json["explained"]
    assert any(line.startswith("fd ") and "by scans" in line for line in lines)
    assert "target" in run("info", pendulum(), "--links", "auto", "--batch", "1").out
