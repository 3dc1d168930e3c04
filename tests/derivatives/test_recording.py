"""Functions in the making: what a recording knows of its symbols, and which changes go through them."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import condyle
from condyle.derivatives import derivative, jacobian, jvp, recording, taking, vjp
from condyle.derivatives.differentiate import ChainRule, _nodes
from condyle.derivatives.iterations import written_out
from condyle.derivatives.ports import in_words, ports_of, size_of, tangent_dims
from condyle.derivatives.products import LargeProduct, shaped
from condyle.derivatives.recording import Call, Recording, is_composed, record_of
from condyle.functions import FUNCTIONS
from condyle.functions.repeat import iterate, repeat
from condyle.ir.expr import Expr, Graph
from condyle.model.tree import tree_of
from condyle.specification import Derivative

TREE = tree_of(condyle.chain(2))
FD, M = FUNCTIONS["fd"], FUNCTIONS["m"]


def nodes(values: Any) -> list[int]:
    return [cast(Expr, value).index for value in values]


def test_answers_of_a_call_stand_side_by_side_behind_its_arguments() -> None:
    calls = Recording(TREE, derivative)
    q, v, tau = (calls.leaves(2) for _ in range(3))
    (a,) = calls.call(FD, q, v, tau)
    call = calls.call_of(nodes(a)[0])
    assert isinstance(call, Call) and call.function is FD and (call.first, call.end) == (nodes(a)[0], nodes(a)[1] + 1)
    assert call.reads == nodes([*q, *v, *tau]) and call.ports == FD.inputs and not call.is_equal
    assert [nodes(part) for part in call.answers(calls)] == [nodes(a)]
    assert calls.used(nodes(a)[0]) == call.reads and calls.used(nodes(a)[1]) == (call.first,)
    assert calls.used(nodes(q)[0]) == () and calls.call_of(nodes(q)[0]) is None
    assert calls.call(FD, q, v, tau)[0] is a and calls.call(FD, q, v, q)[0] is not a
    assert nodes(calls.call(FD, q, v, [1.0, 2.0])[0]) != nodes(calls.call(FD, q, v, [1.0, 3.0])[0])
    assert calls.needed([a[1]]) == sorted(nodes([*q, *v, *tau, *a]))
    double = cast(Any, a[0]) * 2.0
    assert set(calls.active(calls.needed([double]), [v[1]])) == {*nodes([v[1], *a, double])}
    assert nodes([double])[0] not in calls.active(calls.needed([q[0]]), [v[1]])


def test_what_is_opened_is_computed() -> None:
    calls = Recording(TREE, derivative)
    q, (small,) = calls.leaves(2), calls.zeros(1)
    (mass,) = calls.call(M, q)
    point = np.array([0.3, -0.4])
    opened = calls.opened([*mass, cast(Any, small) + 2.0, 5.0], dict(zip(nodes(q), point.tolist(), strict=True)))
    wanted = condyle.chain(2).compile("numpy").mass_matrix(point)
    np.testing.assert_allclose(np.array(opened[:4], float).reshape(2, 2), wanted, rtol=1e-13)
    assert opened[4:] == [2.0, 5.0]


@pytest.mark.parametrize(("kind", "slope"), [("equal", 3.0), ("copy", 6.0)])
def test_changes_go_through_copies_alone(kind: str, slope: float) -> None:
    """Of y x at y = x = 3, where y is said to equal x."""
    calls = Recording(TREE, derivative)
    (x,) = calls.leaves(1)
    (y,) = getattr(calls, kind)([x])
    call = calls.call_of(nodes([y])[0])
    assert isinstance(call, Call) and call.is_equal and call.is_frozen == (kind == "equal")
    product, rule = cast(Any, y) * cast(Any, x), ChainRule(calls)
    (along,) = rule.tangents([product], [(x, {0: 1.0})])
    (back,) = rule.cotangents([product], [1.0], [x])
    assert calls.opened([along[0], back, product], {nodes([x])[0]: 3.0}) == [slope, slope, 9.0]
    (alone,) = rule.tangents([y], [(x, {0: 1.0})])
    assert (alone == {}) == (kind == "equal")


def test_products_are_kept_from_512_terms_on() -> None:
    calls = Recording(TREE, derivative)
    left = shaped(calls.leaves(64), (8, 8))
    assert calls.product(left, shaped(calls.leaves(56), (8, 7))) is None
    kept = calls.product(left, shaped(calls.leaves(64), (8, 8)))
    assert kept is not None and kept.shape == (8, 8)
    block = calls.call_of(nodes([kept[0, 0]])[0])
    assert isinstance(block, LargeProduct) and block.shape == (8, 8) and block.end == nodes([kept[7, 7]])[0] + 1
    assert len(block.reads) == 128 and calls.used(nodes([kept[3, 3]])[0]) == (block.first,)
    zero = shaped([0.0] * 64, (8, 8))
    assert calls.product(left, zero) is None


def test_long_functions_take_the_shortest_route(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Recording(tree_of(condyle.chain(30)), derivative)
    names = FD.route_names(False)
    size = recording.straight_size(calls.tree, FD.routes[names[0]].size or FD.size)
    sizes = {name: recording.straight_size(calls.tree, FD.routes[name].size or FD.size) for name in names}
    monkeypatch.setattr(recording, "LONG", size)
    assert calls._route(FD) == names[0]
    monkeypatch.setattr(recording, "LONG", size - 1)
    assert calls._route(FD) == min(names, key=sizes.__getitem__)


def test_what_is_composed() -> None:
    solve = FUNCTIONS["cfric"]
    assert is_composed(solve) and is_composed(jvp(solve)) and is_composed(jacobian(vjp(solve)))
    assert not is_composed(FD) and not is_composed(vjp(FD)) and not is_composed(vjp(repeat(solve, 2)))
    assert record_of(TREE, FD) is None and record_of(TREE, solve) is not None and record_of(TREE, jvp(FD)) is not None


def halving(x: Any, c: Any) -> dict[str, Any]:
    return {"x": 0.5 * x + c, "done": 0.3 - x[0]}


@pytest.mark.parametrize(("most", "count"), [(9, 3.0), (3, 3.0), (2, 2.0), (1, 1.0)])
def test_a_loop_that_is_written_out_ends_where_all_are_done(most: int, count: float) -> None:
    """x = 1, 1/2, 1/4: done is above 0 in the third step."""
    step = condyle.function(halving, inputs={"x": 1, "c": 1}).specification
    taken = list[int]()

    def compute(function: Any, arguments: Any) -> Any:
        taken.append(1)
        (x,), (c,) = arguments
        return [[0.5 * x + c], [0.3 - x]]

    x, _, counted = written_out(iterate(step, most), [[1.0], [0.0]], compute)
    assert len(taken) == int(count) and [*map(float, cast(Any, counted))] == [count]
    assert float(cast(Any, x[0])) == 0.5**count
    again = written_out(repeat(step, 4, last=True), [[1.0], [1.0]], compute)
    assert [float(cast(Any, part[0])) for part in again] == [1.9375, 0.3 - 1.875]


def test_ports_of_derivatives() -> None:
    def names(kind: str, function: Any, *by: str) -> list[list[str]]:
        every = by or tuple(port.name for port in function.inputs)
        return [[port.name for port in ports] for ports in ports_of(Derivative(kind, function, every))]

    step, integrate = FUNCTIONS["step"], FUNCTIONS["integrate"]
    assert names("jvp", FD) == [["dq", "dv", "dtau"], ["da"]]
    assert names("jvp", integrate) == [["dq", "ddv"], ["dq_next"]]
    assert names("vjp", step) == [["q_bar", "v_bar"], ["q_bar", "v_bar", "tau_bar", "dt_bar"]]
    assert names("jacobian", FD, "q", "tau") == [[], ["da_dq", "da_dtau"]]
    assert names("hessian", FD) == [["lam"], ["H"]] and names("hessian", step)[0] == ["lam_q", "lam_v"]
    (hessian,) = ports_of(Derivative("hessian", step, ("q",)))[1]
    assert hessian.dims == ("nv + nv + nv + 1",) * 2 and hessian.symmetric
    assert tangent_dims(FD.inputs[0]) == ("nv",) and tangent_dims(step.inputs[3]) == ()


def test_sizes_of_derivatives() -> None:
    link, pair, triple, row = FUNCTIONS["cfd"].size
    assert row > 0 and link > 0

    def size(kind: str) -> tuple[int, ...]:
        return size_of(Derivative(kind, FUNCTIONS["cfd"], ("q",)))

    assert size("jvp") == size("vjp") == (3 * link, 3 * pair, 3 * triple, 3 * row)
    assert size("jacobian") == (link, link, pair + triple, row)
    assert size("hessian") == (3 * link, 3 * link, 3 * (pair + triple), 3 * row)


def test_functions_in_words() -> None:
    assert (
        in_words(FD) == "forward dynamics" and in_words(FD.taking("f_ext")) == "forward dynamics with external forces"
    )
    assert in_words(FD.taking("f_ext", "gravity")) == "forward dynamics with external forces and gravity"


def test_errors_that_a_derivative_may_have() -> None:
    """100 times those of the function, 1000 times those of a Hessian, in float32 at most 0.05."""
    for kind, factor in (("jvp", 100.0), ("vjp", 100.0), ("jacobian", 100.0), ("hessian", 1000.0)):
        made = derivative(kind, FD)
        assert made.accuracy == pytest.approx((factor * FD.accuracy.float64, min(factor * FD.accuracy.float32, 0.05)))
        assert made.condition == factor * FD.condition and made.normal_form == "exact"


def test_what_derivatives_take_is_taken_by_their_function() -> None:
    assert taking(jacobian(FD, "q"), "f_ext") == jacobian(FD.taking("f_ext"), "q")
    assert taking(jvp(FD), "f_ext") == jvp(FD.taking("f_ext"))
    rollout = vjp(repeat(FUNCTIONS["step"], 2))
    assert taking(rollout, "f_ext") is rollout and taking(FD, "f_ext") is FD.taking("f_ext")


def test_a_number_is_no_node() -> None:
    graph = Graph()
    assert _nodes((*(graph.input(0, k) for k in range(3)), 0.5)) == (0, 1, 2, -1)
