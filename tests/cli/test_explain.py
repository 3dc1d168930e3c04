"""`condyle explain`: routes, steps and counts are those of the compiler, and the page is safe."""

from __future__ import annotations

import json

import pytest

import condyle
from condyle.algorithms import rnea
from condyle.api import compiler_of
from condyle.backends.cpu import build
from condyle.cli import main
from condyle.cli.explanation import explained, page
from condyle.compile.targets import CPU
from condyle.functions import FUNCTIONS
from condyle.ir.count import Counts
from condyle.model.tree import tree_of
from condyle.passes import pipeline
from condyle.trace.straight import attributed, sizes, trace

ARM = condyle.load("iiwa14")


def told(*words: str, capsys: pytest.CaptureFixture[str]) -> dict:  # type: ignore[type-arg]
    assert main(["explain", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", ["id", "fd", "dfd", "cor", "step"])
def test_steps_add_up_to_the_counts_of_the_compiler(name: str) -> None:
    compiler = compiler_of(ARM)
    function = FUNCTIONS[name]
    found = explained(compiler, function, CPU, "float64")
    assert found.counts is not None and found.steps
    assert Counts(*map(sum, zip(*(one.counts for one in found.steps), strict=True))) == found.counts
    assert found.instructions == compiler.counts(function)["instructions"]


@pytest.mark.smoke
def test_an_attributed_trace_is_the_trace() -> None:
    tree, function = tree_of(ARM), FUNCTIONS["id"]
    program, of = attributed(tree, function, "rnea")
    plain = pipeline.apply(trace(tree, function, "rnea"), pipeline.CLEAN)
    assert (program.nodes, program.outputs) == (plain.nodes, plain.outputs)
    assert len(of) == len(program.nodes)


def test_steps_are_functions_of_the_algorithm_and_say_its_equations(capsys) -> None:
    found = told("iiwa14", "id", capsys=capsys)
    steps = {one["step"]: one for one in found["steps"]}
    assert {"joint_at", "motion", "newton_euler", "to_parent"} <= set(steps)
    assert steps["newton_euler"]["file"] == "algorithms/rnea.py"
    assert steps["newton_euler"]["computes"] == (rnea.newton_euler.__doc__ or "").split("\n")[0]
    assert steps["joint_at"]["counts"]["sincos"] == found["counts"]["sincos"]


def test_routes_are_all_named_with_the_reason(capsys) -> None:
    found = told("iiwa14", "fd", capsys=capsys)
    routes = {one["route"]: one for one in found["routes"]}
    compared = compiler_of(ARM).compared(FUNCTIONS["fd"])
    assert found["routes"][0]["route"] == next(iter(compared)) and "fewest" in found["routes"][0]["why"]
    for name, arithmetic in compared.items():
        assert routes[name]["counts"]["mul"] + routes[name]["counts"]["add"] == arithmetic
    assert set(routes) == set(FUNCTIONS["fd"].routes)


def test_a_route_can_be_named(capsys) -> None:
    found = told("iiwa14", "fd", "--route", "aba", capsys=capsys)
    assert "named" in found["routes"][0]["why"] and found["routes"][0]["route"] == "aba"
    assert any(one["file"] == "algorithms/aba.py" for one in found["steps"])
    assert main(["explain", "iiwa14", "fd", "--route", "none"]) == 2
    assert "aba" in capsys.readouterr().err


def test_derivatives_compositions_and_loops_say_what_they_are(capsys) -> None:
    derived = told("iiwa14", "vjp_fd", capsys=capsys)
    assert derived["counts"]["mul"] and not derived["steps"] and "composed of other" in derived["without_steps"]
    composed = told("iiwa14", "dstep", capsys=capsys)
    assert not composed["steps"] and "composed of other functions" in composed["without_steps"]
    long = explained(compiler_of(condyle.chain(400, 0)), FUNCTIONS["id"], CPU, "float64")
    assert "loops" in long.form and "loops" in long.missing and not long.steps


def test_machine_code_is_told_on_the_cpu(capsys) -> None:
    if not build.supported():
        pytest.skip("this processor runs no machine code of the target cpu")
    code = told("iiwa14", "id", "--dtype", "float32", capsys=capsys)["machine_code"]
    assert "states of float32" in code["instruction set"]
    assert told("iiwa14", "id", "--target", "numpy", capsys=capsys)["machine_code"] == {}


def test_the_page_holds_everything_and_nothing_of_a_name_is_markup(tmp_path) -> None:
    out = tmp_path / "id.html"
    assert main(["explain", "iiwa14", "id", "--html", str(out)]) == 0
    text = out.read_text()
    for part in ("Routes", "Steps of the algorithm", "newton_euler", "The program", "tau[6] = "):
        assert part in text
    assert "<script" not in text and "http" not in text
    compiler = compiler_of(ARM)
    odd = page(explained(compiler, FUNCTIONS["id"], CPU, "float64"), "<b>x</b>\n", sizes(compiler.tree))
    assert "<b>x" not in odd and "&lt;b&gt;x" in odd


@pytest.mark.parametrize(
    ("path", "said"), [("nowhere/id.html", "there is no folder"), ("", "is a folder: name a file")]
)
def test_a_page_that_cannot_be_written_is_told_first(tmp_path, capsys, path: str, said: str) -> None:
    assert main(["explain", "iiwa14", "id", "--html", str(tmp_path / path)]) == 2
    assert f"--html: {'' if path else repr(str(tmp_path)) + ' '}{said}" in capsys.readouterr().err
