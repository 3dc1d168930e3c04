"""Names, numbers and comments of generated code: what is allowed, and each line that is written."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from condyle.backends.common.facts import (
    IN_C,
    IN_VERILOG,
    LONG,
    RESERVED,
    SHORT,
    Facts,
    Vectors,
    argument_names,
    bits_of,
    checked_name,
    described,
    header,
    in_ascii,
    packed,
)
from condyle.backends.common.forms import Dialect, alone, beyond, lacks, refused, write_functions
from condyle.errors import UnsupportedError
from condyle.ir.loops import Give, Repeated, Take, TimeLoop
from condyle.ir.program import Array, Output, Program
from condyle.operations import LEAVES
from condyle.passes.elementary.expand import expand
from condyle.text import Emitter

DIALECT = Dialect("1.0", "root", "cd_", "all({0})")


def test_names_have_their_lengths() -> None:
    assert (SHORT, LONG) == (31, 127)
    assert checked_name("a" * 31) == "a" * 31 and checked_name("a" * 127, IN_C, LONG) == "a" * 127
    for name, most in (("a" * 32, 31), ("a" * 128, 127), (5, 31), ("_a", 31), ("aB", 31), ("é", 31)):
        with pytest.raises(UnsupportedError) as caught:
            checked_name(name, IN_C, most)  # type: ignore[arg-type]
        assert (
            str(caught.value) == f"name={name!r} cannot name generated code: allowed is [a-z][a-z0-9_]{{0,{most - 1}}}"
        )


@pytest.mark.parametrize(
    "name", ["while", "float4", "make_uint1", "longlong3", "sinf", "atan2l", "exp2f", "fx_a", "wire"]
)
def test_reserved_names_are_refused_with_another(name: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        Facts(1, 1, name=name)
    assert str(caught.value) == (
        f"name={name!r} cannot name generated code: C, C++, CUDA, Verilog or their libraries have that name. Any other "
        f"[a-z][a-z0-9_]{{0,30}} is allowed, such as 'my_{name}'"
    )


def test_the_other_name_is_no_longer_than_allowed() -> None:
    word = "trivially_relocatable_if_eligib"
    with pytest.raises(UnsupportedError, match=r"such as 'my_trivially_relocatable_if_eli'$"):
        checked_name(word, {word})


def test_words_of_one_language_are_known() -> None:
    assert "wire" in IN_VERILOG - IN_C and "printf" in IN_C - IN_VERILOG and RESERVED == IN_C | IN_VERILOG
    vectors = [f"{kind}{n}" for kind in ("char", "double", "ulonglong") for n in (1, 2, 3, 4)]
    assert {*vectors, *(f"make_{vector}" for vector in vectors)} <= IN_C and not {"float0", "float5"} & IN_C
    for word in ("cosf", "cosl", "atan2f", "exp2l"):
        assert word in IN_C
    assert not {"log10f", "j0l", "log2f"} & IN_C  # words that end in a digit have a name of their own


def test_texts_of_facts_are_words() -> None:
    assert Facts(1, 1, "a" * 120, "1.2+x:y_z-").version == "1.2+x:y_z-"
    with pytest.raises(UnsupportedError, match="cannot stand in generated code"):
        Facts(1, 1, "a" * 121)


def test_number_types() -> None:
    assert (bits_of("float64"), bits_of("float32")) == (64, 32)
    with pytest.raises(UnsupportedError, match=r"^dtype 'int8': code computes in float64 and float32$"):
        bits_of("int8")
    assert packed((0.1, -2.0), 64) == np.array([0.1, -2.0]).tobytes()
    assert packed((0.1,), 32) == np.float32(0.1).tobytes()
    for values, bits in (((1e39,), 32), ((1.0, np.inf), 64), ((np.nan,), 64)):
        with pytest.raises(UnsupportedError, match="a constant is not finite in this precision"):
            packed(values, bits)


def test_tolerances_of_single_outputs() -> None:
    vectors = Vectors((), (), 1e-9, coarser=((1, 1e-3),))
    assert [vectors.tolerance_of(k) for k in range(3)] == [1e-9, 1e-3, 1e-9]


def test_arguments_have_names_that_c_takes() -> None:
    """At most 31 characters, no word of the code around them, each once."""
    for name, is_kept in (
        ("a" * 31, True), ("a" * 32, False), ("f_ext", True), ("_x", False), ("x_", False), ("x__y", False),
        ("X2", True), ("2x", False), ("work", False), ("T", False), ("steps", False), ("Steps", True),
    ):  # fmt: skip
        assert argument_names([Array("y", ()), Array(name, ())], "out") == ["y", name if is_kept else "out1"], name


def test_other_letters_are_written_in_ascii() -> None:
    assert in_ascii("q ⊕ v ⊖ é") == "q (+) v (-) ?"


def port(name: str) -> Any:
    return SimpleNamespace(name=name, doc=f"the ⊕ {name}", unit="m")


def program() -> Program:
    nodes = (("input", 0, 0), ("input", 1, 0), ("add", 0, 1), ("sin", 2), ("add", 3, 0))
    arrays = (Array("y", (2,)), Array("int", ()))
    return Program("f", (Array("x", (2,)), Array("u", ())), arrays, nodes, (Output(0, 0, 4), Output(1, 0, 3)))


def test_the_comment_of_a_function() -> None:
    function = SimpleNamespace(equation="y = x ⊕ u", inputs=(port("x"),), named_outputs=(port("y"),))
    facts = Facts(3, 2, "print", "1.2", functions={"f": function})  # type: ignore[dict-item]
    lines = [
        "/* f: y = x (+) u",
        " * robot print, nq = 3, nv = 2, float64",
        " * Condyle 1.2, ABI 5",
        " * operations a state: 2 add, 1 sin",
        " * in  x[n][2]  the (+) x [m]",
        " * in  u[n]",
        " * out y[n][2]  the (+) y [m]",
        " * out out1[n]",
        " */",
    ]
    assert header(program(), facts, "float64", 5) == lines
    assert header(program(), facts, "float64", 5, single=True) == [line.replace("[n]", "") for line in lines]
    bare = header(Program("g", (), (), (), ()), Facts(3, 2), "float32", 5)
    assert bare == [
        "/* g: a function",
        " * robot -, nq = 3, nv = 2, float32",
        " * Condyle -, ABI 5",
        " * operations a state: none",
        " */",
    ]


def test_the_comment_of_a_rollout() -> None:
    """An input with a time axis has steps, an output that is no sum has rows."""
    loop = TimeLoop(4, (Take(0), Take(every=2)), (Give(0, 1), Give(1, 0, True)))
    body = program()
    lines = header(Repeated("roll", body, loop, body.inputs, body.arrays), Facts(3, 2), "float64", 5)
    assert lines[3:] == [
        " * operations a step of a state: 2 add, 1 sin", " * in  x[n][2]", " * in  u[n][steps]", " * out y[n][rows][2]",
        " * out out1[n]", " */",
    ]  # fmt: skip


def test_shapes_of_arguments() -> None:
    assert described(program(), Facts(1, 1)) == [
        ("in", "x", ("n", 2), None),
        ("in", "u", ("n",), None),
        ("out", "y", ("n", 2), None),
        ("out", "out1", ("n",), None),
    ]


def test_vectors_meet_numbers_where_c_has_operators() -> None:
    """A function of vectors takes vectors, an operator a number too; two numbers alone would make a number."""
    assert DIALECT.spell("add", ["a", "2"], [1]) == "a + 2"
    assert DIALECT.spell("add", ["1", "2"], [0, 1]) == "all(1) + all(2)"
    assert DIALECT.spell("min", ["a", "2"], [1]) == "cd_min(a, all(2))"
    assert DIALECT.spell("rcp", ["a"]) == "1.0 / a" and DIALECT.spell("sqrt", ["a"]) == "root(a)"
    assert DIALECT.spell("sqrt", ["4"], [0]) == "root(all(4))"
    assert Dialect("1", "sqrt", "p_").spell("max", ["a", "2"], [1]) == "p_max(a, 2)"
    assert DIALECT.spell("select", ["a", "b", "c"]) == "cd_select(a, b, c)"
    assert DIALECT.spell("atan2", ["a", "b"]) == "cd_atan2(a, b)" and DIALECT.spell("rotl5", ["a"]) == "cd_rotl(a, 5)"


def test_which_operations_need_functions_of_ours() -> None:
    assert not beyond({"add", "sqrt", "fma", "sin", "rcp"}) and not beyond(())
    assert all(beyond({"add", op}) for op in ("min", "abs", "exp", "shl", "rotl5"))


def test_each_expanded_operation_is_a_function() -> None:
    e = Emitter()
    write_functions(e, {"tanh", "add"}, 64, "static real_v", DIALECT, repr)
    lines = e.text().splitlines()
    assert lines[:2] == ["static real_v cd_tanh(real_v t0)", "{"] and lines[-2:] == ["}", ""]
    assert sum(" cd_" in line and "(real_v" in line for line in lines) == 1
    names = [line.split()[2] for line in lines[2:-3]]
    count = sum(node[0] not in LEAVES for node in expand(alone("tanh"), 64).nodes)
    assert lines[-3] == f"    return {names[-1]};" and len(names) == len(set(names)) == count
    assert all(line.startswith("    const real_v t") for line in lines[2:-3])


def test_an_operation_alone() -> None:
    program = alone("select")
    assert [array.name for array in program.inputs] == ["x0", "x1", "x2"]
    assert program.nodes[-1] == ("select", 0, 1, 2) and program.outputs == (Output(0, 0, 3),)


def test_operations_that_a_target_lacks_are_named() -> None:
    assert lacks(program(), {"add"}) == ["sin"] and lacks(program(), ()) == ["add", "sin"]
    assert str(refused("target x", ["b", "a"], {"d", "c"})) == (
        "target x has no operation 'b', 'a'; it has c, d; targets numpy, cpu, c, cuda have every one"
    )
