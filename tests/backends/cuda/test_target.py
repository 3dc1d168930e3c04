"""Estimates of time by their formulas, and the launches that a partitioning has."""

from __future__ import annotations

import pytest

from condyle.backends.cuda.target import (
    ARCHITECTURES,
    KNOWN_MULTIPROCESSORS,
    LANES,
    TARGET,
    WARP,
    WEIGHED,
    Form,
    Launch,
    Request,
    Size,
    product_launch,
    requested,
    stages,
)
from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS
from condyle.ir.program import Array, Output, Program
from condyle.specification import Call, MinusProduct

CALL = Call(FUNCTIONS["minv"], ("Minv",))


def program() -> Program:
    """(sqrt x + sin x) * 1 / y, cos y: five entries, two reciprocals or roots, sines of two angles."""
    nodes = (
        *(("input", 0, k) for k in range(2)),
        *(("sqrt", 0), ("sin", 0), ("add", 2, 3), ("rcp", 1), ("mul", 4, 5), ("cos", 1)),
    )
    outputs = (Output(0, 0, 6), Output(0, 2, 7))
    return Program("f", (Array("x", (2,)),), (Array("y", (3,)),), nodes, outputs)


def test_a_launch_takes_its_start_and_the_rounds_of_its_warps() -> None:
    """Four schedulers a multiprocessor at 1700 cycles a microsecond; one warp takes as long as it takes alone."""
    launch = Launch(alone=3400.0, instructions=1700.0, states=8)
    for n, rounds in ((1, 2), (320, 2), (321, 2), (640, 2), (641, 3), (960, 3), (961, 4)):
        assert launch.us(n, 10) == 2.5 + rounds, n


def test_instructions_of_a_thread_are_counted() -> None:
    """80 to begin, each operation, 4.3 an entry, 2 more a reciprocal or root, 30 more a sine or cosine."""
    size = Size(program())
    assert size.entries == 5
    assert size.thread == 80 + size.operations + 4.3 * 5 + 2 * 2 + 30 * 2
    assert size.launch(1) == Launch(2.0 * size.thread, size.thread, WARP)


def test_steps_of_a_group_are_limited_by_the_path_and_by_the_lanes() -> None:
    """Six words, of which at most three depend on each other; a result is read two steps later."""
    size = Size(program())
    assert [size.steps(lanes) for lanes in (1, 2, 32)] == [2 * 3 + 8] * 3
    long = Program("g", (Array("x", (1,)),), (Array("y", (40,)),), (("input", 0, 0), *(("neg", 0) for _ in range(40))),
                   tuple(Output(0, k, k + 1) for k in range(40)))  # fmt: skip
    assert [Size(long).steps(lanes) for lanes in (2, 8, 32)] == [28.0, 13.0, 10.0]
    around = 400 + 12 * 41 / 8
    assert Size(long).launch(8) == Launch(48.0 * 13.0 + 2.0 * around, 34.0 * 13.0 + around, 4)


def test_instructions_of_a_product_grow_with_its_entries() -> None:
    assert product_launch(10, 2) == Launch(780.0, 390.0, 1)


def test_an_empty_function_has_steps_to_begin_and_end() -> None:
    nothing = Program("f", (), (), (), ())
    assert Size(nothing).steps(8) == 8 and Size(nothing).entries == 0


def test_the_code_generator_has_the_registers_of_a_number_type() -> None:
    assert (TARGET.values(32), TARGET.values(64)) == (245, 110)


def test_parameters_of_the_code_generator() -> None:
    assert (TARGET.ptx, TARGET.oldest, TARGET.most_threads, TARGET.shared, TARGET.pool) == (
        "7.0", "sm_80", 128, 101_376, 24_000,
    )  # fmt: skip
    assert (TARGET.spare64, TARGET.trust, TARGET.dirty, TARGET.eager, TARGET.many) == (86, 1.7, 0.7, 64, 8_000)
    assert (TARGET.widths, TARGET.orders, TARGET.few) == ((32, 16, 8, 4), ("rows", "columns", "leaves"), ("leaves",))
    assert (TARGET.longest, TARGET.longest_given, TARGET.whole_rows) == (25_000, 6_000, True)
    assert ARCHITECTURES == ("sm_80", "sm_90", "sm_120") and KNOWN_MULTIPROCESSORS == 132


def test_products_with_one_left_side_are_a_launch() -> None:
    a, b, c = MinusProduct("M", "x", "X"), MinusProduct("M", "y", "Y"), MinusProduct("N", "z", "Z")
    assert stages(()) == []
    assert stages((CALL, a, b, c, CALL, a)) == [CALL, [a, b], [c], CALL, [a]]
    assert stages((a, CALL, CALL, b)) == [[a], CALL, CALL, [b]]


WAYS = {"split": (CALL,), "completely-fused": (CALL,)}


def test_words_of_requests() -> None:
    """Any order, each sort of word once."""
    dfd = FUNCTIONS["dfd"]
    assert LANES == (2, 4, 8, 16, 32) and WEIGHED == (8, 16, 32)
    wanted = {
        "thread": Request((1,)), "group": Request((8, 16, 32)), "split": Request((1, 8, 16, 32), "split"),
        "group2 completely-fused": Request((2,), "completely-fused"), "split auto group32": Request((32,), "split"),
    }  # fmt: skip
    assert {words: requested(dfd, words, WAYS) for words in wanted} == wanted
    for words, wrong in (("split split", "split"), ("group3", "group3"), ("group8 group16", "group16")):
        said = (
            f"kernels: '{wrong}' does not say how 'dfd' runs on a GPU; it can be one of auto, group, thread, group2, "
        )
        said += "group4, group8, group16, group32, split, completely-fused, or one way to deal out lanes and one "
        with pytest.raises(UnsupportedError) as caught:
            requested(dfd, words, WAYS)
        assert str(caught.value) == f"{said}partitioning, as 'group32 split'"
    with pytest.raises(UnsupportedError, match=r"group32$"):  # one partitioning has no name
        requested(dfd, "completely-fused", {"completely-fused": (CALL,)})


def test_forms_are_said() -> None:
    forms = (Form(), Form(1, "split"), Form(2), Form(8, "fused"))
    assert list(map(str, forms)) == ["thread", "thread split", "group2", "group8 fused"]
