"""The C of functions for CasADi, word by word: matrices by columns, arguments that may be NULL, long Programs."""

from __future__ import annotations

import re

import pytest

from condyle.backends.casadi import source
from condyle.backends.casadi.source import External, Family, Part, Port, Shape, text_of, value
from condyle.backends.common.chunks import Cut
from condyle.errors import UnsupportedError
from condyle.ir.program import Array, Output, Program
from condyle.operations import Node

pytestmark = pytest.mark.smoke
DIAGONAL = ((0, 0), (1, 1))


def test_arrays_are_matrices_of_casadi() -> None:
    """A vector is a column; ones before the last two sizes are left out; all else is one column."""
    sizes = {
        (): (1, 1),
        (3,): (3, 1),
        (2, 3): (2, 3),
        (1, 2, 3): (2, 3),
        (4, 2, 3): (24, 1),
        (1, 1): (1, 1),
        (1, 3): (1, 3),
    }
    assert {shape: Shape(Array("x", shape)).matrix for shape in sizes} == sizes
    wide = Shape(Array("x", (2, 3)))
    assert [wide.cell(k) for k in range(6)] == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert [wide.number(k) for k in range(6)] == [0, 2, 4, 1, 3, 5] and wide.size == 6


def columns(rows: int, width: int, entries: tuple[tuple[int, int], ...]) -> list[int]:
    port = Port("x", rows, width, entries)
    assert port.nnz == len(entries) and port.place == {entry: k for k, entry in enumerate(entries)}
    return source._columns(port)


def test_sparsity_is_compressed_by_columns() -> None:
    """Rows, columns, where each column begins, and the row of each entry; of a full matrix 1."""
    assert columns(2, 1, ((0, 0), (1, 0))) == [2, 1, 1]
    assert columns(2, 3, ((1, 0), (0, 2), (1, 2))) == [2, 3, 0, 1, 1, 3, 1, 0, 1]
    assert columns(2, 2, DIAGONAL) == [2, 2, 0, 1, 2, 0, 1]
    assert columns(3, 2, ()) == [3, 2, 0, 0, 0]
    assert columns(0, 2, ()) == [0, 2, 1]


def program(nodes: tuple[Node, ...], *outputs: Output, size: int = 3) -> Program:
    return Program("f", (Array("x", (2,)),), (Array("y", (size,)),), nodes, outputs)


def external(part: Part) -> External:
    x, y = Port("x", 2, 1, ((0, 0), (1, 0))), Port("y", 3, 1, tuple((k, 0) for k in range(3)))
    return External("F", (x,), (y,), (part,))


READS = {(0, 0): (0, 0), (0, 1): (0, 1)}


def body(text: str, name: str) -> str:
    """What is between the braces of a function."""
    return text[text.index(name) :].partition("\n{\n")[2].partition("\n}\n")[0]


def test_a_short_program_is_one_function() -> None:
    """Entries that nothing writes are zero; an input that is not read by the argument is 0."""
    nodes: tuple[Node, ...] = (("input", 0, 0), ("input", 0, 1), ("const", 0.5), ("fms", 0, 1, 2), ("rcp", 3))
    part = Part(program(nodes), {(0, 0): (0, 0)}, ((0, 0, 4), (0, 2, 0)))
    text = text_of([external(part)], ["first line", "second"])
    assert text.startswith("/* first line\n * second\n */\n#include <math.h>\n")
    assert "static const casadi_real cd_zeros[2] = {0};" in text and "cd_iadd" not in text
    assert (
        body(text, "CD_API int F(")
        == """\
    const casadi_real *const a[] = {arg[0] ? arg[0] : cd_zeros};
    casadi_real *const r[] = {res[0] ? res[0] : w + 0};
    (void)a, (void)r;
    (void)arg, (void)res, (void)iw, (void)w, (void)mem, (void)cd_unused;
    {
        const casadi_real t0 = a[0][0];
        const casadi_real t1 = 0;
        const casadi_real t2 = 0x1.0000000000000p-1;
        const casadi_real t3 = t0 * t1 - t2;
        const casadi_real t4 = 1.0 / t3;
        r[0][0] = t4;
        r[0][2] = t0;
    }
    r[0][1] = 0;
    return 0;"""
    )
    sizes = re.findall(r"if \(sz_(\w+)\) \*sz_\w+ = (\d+);", text)
    assert sizes == [("arg", "1"), ("res", "1"), ("iw", "0"), ("w", "3")]
    for line in (
        "CD_API int F_checkout(void) { return 0; }", "CD_API casadi_int F_n_in(void) { return 1; }",
        "CD_API casadi_int F_n_out(void) { return 1; }", "/* F(x) -> (y) */",
        "    static const casadi_int s0[] = {3, 1, 1};", '        case 0: return "y";',
    ):  # fmt: skip
        assert f"{line}\n" in text, line


def test_a_long_program_is_several_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that others read are in the workspace, behind the answers; outputs that are no operations come last."""
    nodes: tuple[Node, ...] = (
        ("input", 0, 0),
        ("input", 0, 1),
        ("const", 2.0),
        ("neg", 0),
        *(("add", k, 1) for k in range(3, 8)),
    )
    whole = program(nodes, Output(0, 0, 8), Output(0, 1, 2), Output(0, 2, 1))
    part = Part(whole, READS, ((0, 0, 8), (0, 1, 2), (0, 2, 1)))
    assert not source.is_long(part.program)
    monkeypatch.setattr(source, "LONGEST", len(nodes) - 1)
    assert source.is_long(part.program)
    monkeypatch.setattr(source, "CUT", Cut(2, 3))
    source._lowered.cache_clear()
    text = text_of([external(part)], ["-"])
    source._lowered.cache_clear()
    assert [body(text, f"void F_0_{k}(") for k in range(2)] == [
        """\
    const casadi_real t0 = a[0][0];
    const casadi_real t3 = -t0;
    const casadi_real t1 = a[0][1];
    const casadi_real t4 = t3 + t1;
    const casadi_real t5 = t4 + t1;
    w[1] = t5;
    (void)a, (void)r, (void)w;""",
        """\
    const casadi_real t5 = w[1];
    const casadi_real t1 = a[0][1];
    const casadi_real t6 = t5 + t1;
    const casadi_real t7 = t6 + t1;
    const casadi_real t8 = t7 + t1;
    w[2] = t8;
    r[0][0] = t8;
    (void)a, (void)r, (void)w;""",
    ]
    assert (
        """
    {
        F_0_0(a, r, w + 3);
        F_0_1(a, r, w + 3);
        r[0][1] = 0x1.0000000000000p+1;
        r[0][2] = a[0][1];
    }
    return 0;"""
        in text
    )
    assert "if (sz_w) *sz_w = 6;" in text  # three answers, a constant, a value that is read, one that is an answer


def test_long_programs_are_those_of_more_than_two_thousand_nodes() -> None:
    nodes: tuple[Node, ...] = (("input", 0, 0), *(("neg", k) for k in range(1999)))
    assert not source.is_long(program(nodes))
    assert source.is_long(program((*nodes, ("neg", 1999))))


def test_only_random_numbers_bring_words_of_bits() -> None:
    nodes: tuple[Node, ...] = (("input", 0, 0), ("random0", *[0] * 8))
    text = text_of([external(Part(program(nodes), READS, ((0, 0, 1),)))], ["-"])
    assert "static double cd_random0(double t0" in text and "static double cd_random1" not in text
    assert "cd_random0(t0, t0, t0, t0, t0, t0, t0, t0)" in text and "static double cd_iadd(" in text


def test_an_operation_without_a_word_is_refused() -> None:
    nodes: tuple[Node, ...] = (("input", 0, 0), ("shl", 0))
    with pytest.raises(UnsupportedError, match="target 'casadi': the operation 'shl' has no word in C"):
        text_of([external(Part(program(nodes), READS, ()))], ["-"])


def test_a_function_of_nothing_has_arrays_of_one() -> None:
    nothing = External("F", (), (), ())
    text = text_of([nothing], ["-"])
    assert "cd_zeros[1]" in text and "a[] = {0};" in text and "r[] = {0};" in text
    assert value(Part(program((("const", -1.5),)), {}, ()), 0) == "-0x1.8000000000000p+0"


def test_derivatives_have_casadis_names_and_sizes() -> None:
    """y = (x0 x1, x1) of a vector x, with d y / d x by rows and the Hessian of lam . y."""
    x, y, lam = Array("x", (2,)), Array("y", (2,)), Array("lam", (2,))
    plain: tuple[Node, ...] = (("input", 0, 0), ("input", 0, 1), ("mul", 0, 1), ("const", 1.0))
    seeds: tuple[Node, ...] = (("input", 1, 0), ("input", 1, 1), ("mul", 4, 1), ("fma", 4, 0, 5))
    outputs = [Output(0, 0, 2), Output(0, 1, 1)]
    family = Family(
        "F", ("x",), ("y",),
        Program("f", (x,), (y,), plain, tuple(outputs)),
        Program("j", (x,), (Array("J", (2, 2)),), plain, (Output(0, 0, 1), Output(0, 1, 0), Output(0, 3, 3))),
        Program("v", (x, lam), (Array("g", (2,)),), (*plain, *seeds), (Output(0, 0, 6), Output(0, 1, 7))),
        Program("h", (x, lam), (Array("H", (2, 2)),), (*plain, *seeds), (Output(0, 1, 4), Output(0, 2, 4))),
    )  # fmt: skip
    found = family.externals()
    ports = {one.name: ([port.name for port in one.inputs], [port.name for port in one.outputs]) for one in found}
    assert ports == {
        "F": (["x"], ["y"]),
        "jac_F": (["x", "out_y"], ["jac_y_x"]),
        "adj1_F": (["x", "out_y", "adj_y"], ["adj_x"]),
        "jac_adj1_F": (["x", "out_y", "adj_y", "out_adj_x"], ["jac_adj_x_x", "jac_adj_x_out_y", "jac_adj_x_adj_y"]),
    }
    _, jacobian, adjoint, second = found
    assert jacobian.outputs[0].entries == ((0, 0), (0, 1), (1, 1)) and jacobian.inputs[1].nnz == 0
    assert jacobian.parts[0].writes == [(0, 0, 1), (0, 1, 0), (0, 2, 3)]
    assert adjoint.parts[0].reads == {(0, 0): (0, 0), (0, 1): (0, 1), (1, 0): (2, 0), (1, 1): (2, 1)}
    assert [port.entries for port in second.outputs] == [((1, 0), (0, 1)), (), ((0, 0), (1, 0), (1, 1))]
    curved, sloped = second.parts
    assert curved.writes == [(0, 1, 4), (0, 0, 4)] and sloped.writes == [(2, 0, 1), (2, 1, 0), (2, 2, 3)]
    assert (second.outputs[2].rows, second.outputs[2].columns) == (2, 2)
