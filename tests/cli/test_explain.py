"""`condyle explain`: routes, steps and counts are those of the compiler, and the page is safe."""

from __future__ import annotations

import json
import re

import pytest

import condyle
from condyle.algorithms import rnea
from condyle.api import compiler_of
from condyle.backends.cpu import build
from condyle.backends.cpu.assemble import assemble
from condyle.backends.cpu.operations import SLOT
from condyle.cli import explanation, main
from condyle.cli.explanation import Explained, RouteFacts, explained, page
from condyle.compile.routes import NOTHING
from condyle.compile.targets import CPU
from condyle.functions import FUNCTIONS, function_of
from condyle.ir.count import Counts
from condyle.model.tree import tree_of
from condyle.passes import pipeline
from condyle.trace.straight import attributed, has_steps, sizes, trace
from tests.cli.rivals.test_cures import MIMIC

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


def notes(found: Explained) -> dict[str, str]:
    return {one.name: one.note for one in found.routes}


def test_each_route_has_the_reason_why_it_is_taken_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = compiler_of(condyle.chain(3, rng=0))
    assert notes(explained(compiler, FUNCTIONS["m"], CPU, "float64"))["crba"].startswith("taken: ")
    alone = next(one for one in FUNCTIONS.values() if len(one.routes) == 1 and has_steps(one, *one.routes))
    assert [*notes(explained(compiler, alone, CPU, "float64")).values()] == ["taken: it is the only one"]
    derivatives = notes(explained(compiler, FUNCTIONS["dfd"], CPU, "float64"))
    assert derivatives["aba+closed_form"] == "not compared: a baseline, which runs when it is named"
    taken = [name for name, note in derivatives.items() if note.startswith("taken")]
    assert taken == [compiler.best(FUNCTIONS["dfd"]).route] == [*derivatives][:1]
    forward = FUNCTIONS["fd"]
    best = compiler.best(forward).route
    sizes_of = {name: compiler.estimate(route.size or NOTHING) for name, route in forward.routes.items()}
    monkeypatch.setattr(explanation, "LONGEST", max(sizes_of.values()))
    assert "not traced" not in "".join(notes(explained(compiler, forward, CPU, "float64")).values())
    monkeypatch.setattr(explanation, "LONGEST", max(sizes_of.values()) - 1)
    others = notes(explained(compiler, forward, CPU, "float64"))
    too_long = {name for name, note in others.items() if note == "not traced: its estimate is too long"}
    assert too_long == {name for name, size in sizes_of.items() if size == max(sizes_of.values())}
    assert next(iter(others)) == best


def test_routes_that_followers_forbid_are_not_possible(tmp_path) -> None:
    path = tmp_path / "gripper.urdf"
    path.write_text(MIMIC)
    compiler = compiler_of(condyle.load(path))
    found = notes(explained(compiler, FUNCTIONS["fd"], CPU, "float64"))
    impossible = {name for name, note in found.items() if note.startswith("not possible: joints share coordinates")}
    assert impossible == set(FUNCTIONS["fd"].routes) - set(compiler.serving(FUNCTIONS["fd"])) and impossible


def test_loops_and_products_have_one_route_with_the_reason() -> None:
    compiler = compiler_of(condyle.chain(3, rng=0))
    for form, note in (
        (
            explanation.LOOPS,
            "taken, as loops: straight-line code would have more than 150,000 operations, or is slower",
        ),
        (
            explanation.PRODUCTS,
            "taken, its products as loops: straight-line code would have more than 150,000 operations",
        ),
    ):
        (only,) = explanation._routes(compiler, FUNCTIONS["id"], "rnea", form)
        assert only.name == "rnea" and only.note.startswith(note)
        assert (only.counts is None) == (form == explanation.LOOPS)


def test_a_function_without_a_program_says_so() -> None:
    compiler = compiler_of(ARM)
    found = explained(compiler, function_of("rollout_3_by_tau_last_of_step"), CPU, "float64")
    assert (found.form, found.counts, found.instructions, found.missing) == ("", None, 0, explanation.NO_PROGRAM)
    assert not (found.routes or found.steps or found.code or found.listing)
    text = page(found, "arm", sizes(compiler.tree))
    assert explanation.NO_PROGRAM in text and "One state takes" not in text
    assert not any(head in text for head in ("<h2>Routes", "<h2>Machine code", "<h2>The program"))


def test_bars_are_as_long_as_the_operations_of_a_route() -> None:
    counts = Counts(1, 3, 5, 7)
    assert explanation._bar(counts, 8) == (
        '<span class="bar mul" style="width:1.62em"></span><span class="bar add" style="width:4.88em"></span>'
    )
    assert explanation._bar(None, 8) == explanation._bar(Counts(0, 0, 5, 7), 8) == ""
    assert explanation._numbers(Counts(1, 2000, 0, 3)) == ["1", "2,000", "0", "3"]
    assert explanation._numbers(None) == ["-"] * 4
    routes = [RouteFacts("a", Counts(2, 2, 0, 0), "x"), RouteFacts("b", Counts(1, 0, 0, 0), "<y>")]
    row = explanation._routes_page(routes).split("<tr>")[3]
    cells = [re.sub(r"^<td[^>]*>|</td>$", "", cell) for cell in row.split("</td><td") if cell]
    assert 'width:3.25em"></span><span class="bar add" style="width:0.00em"' in row and "&lt;y&gt;" in row
    assert len(cells) == 7


def test_a_table_has_its_drawings_before_its_sentences() -> None:
    assert explanation._table(["a", "", "b<"], [["1", "<i/>", "2"]], said=2) == (
        '<table><tr><th>a</th><th class="graph" style="text-align:left"></th><th class="says">b&lt;</th></tr>'
        '<tr><td>1</td><td class="graph" style="text-align:left"><i/></td><td class="says">2</td></tr></table>'
    )
    assert 'class="graph"' not in explanation._table(["a", "x", "b"], [], said=2)


@pytest.mark.parametrize(("count", "more"), [(5000, ""), (5001, "1 further lines"), (7000, "2,000 further lines")])
def test_a_listing_names_each_step_where_it_begins(count: int, more: str) -> None:
    lines = [("x = 1", ""), ("y = 2", "turn"), ("z = 3", "turn"), ("c = 0", ""), ("w < 4", "turn"), ("v = 5", "lift")]
    text = explanation._listing_page([*lines, *[("u = 6", "lift")] * (count - len(lines))])
    shown = text[text.index("<pre>") + 5 : text.index("</pre>")].split("\n")
    assert shown[:8] == [
        *("x = 1", "<i># turn</i>", "y = 2", "z = 3", "c = 0", "w &lt; 4"),
        *("<i># lift</i>", "v = 5"),
    ]
    assert len(shown) == min(count, 5000) + 2
    assert f"{count:,} lines</summary>" in text and ("further" in text) == bool(more) and more in text


def test_machine_code_of_a_small_function_reads_its_inputs_and_stores_its_answers() -> None:
    """Nothing is spilled: g of two joints stores two numbers."""
    if not build.supported():
        pytest.skip("this processor runs no machine code of the target cpu")
    compiler = compiler_of(condyle.chain(2, rng=0))
    facts = explained(compiler, FUNCTIONS["g"], CPU, "float64").code
    program = compiler.code(FUNCTIONS["g"])
    isa = build.supported()[0]
    assert facts["instruction set"].startswith(f"{isa.name}: {isa.vector_bytes // 8} states of float64 in a register")
    assert facts["stores to memory"].startswith("2: answers (2 entries)")
    made = assemble(program, isa, 64)
    assert int(facts["constants"]) * (8 if isa.broadcast else isa.vector_bytes) == len(made.constants)
    assert facts["bytes of code"] == f"{len(made.text):,}"
    loaded = [one for kernel in made.kernels for one in kernel.code if one.op != "store" and one.b >= SLOT]
    assert facts["reads of memory"].startswith(f"{len(loaded)}: ")


def test_ports_of_a_page_have_shapes_without_a_comma() -> None:
    compiler = compiler_of(ARM)
    function = FUNCTIONS["m"]
    text = explanation._ports(function.inputs, function.outputs, sizes(compiler.tree))
    assert "<td>takes</td><td>q</td><td>(7)</td>" in text
    assert "<td>answers</td><td>M</td><td>(7, 7)</td>" in text


def test_lines_of_a_function_have_its_routes_and_steps(capsys) -> None:
    assert main(["explain", "iiwa14", "m", "--target", "numpy"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"iiwa14: m, {FUNCTIONS['m'].method}" and lines[1] == FUNCTIONS["m"].equation
    heads = [line.split() for line in lines if line.startswith(("route ", "step "))]
    assert heads == [["route", *Counts._fields, "why"], ["step", *Counts._fields, "what", "it", "computes"]]
    counts = compiler_of(ARM).counts(FUNCTIONS["m"])
    (row,) = [line.split() for line in lines if line.startswith("crba ")]
    assert row[1:5] == [str(counts[name]) for name in Counts._fields]
    assert main(["explain", "iiwa14", "rollout_3_by_tau_last_of_step"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == explanation.NO_PROGRAM
