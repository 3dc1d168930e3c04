"""Functions are values: others are made of them, a name is printed from each, and is read back as the same value."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from condyle import UnsupportedError
from condyle.derivatives import DERIVATIVE_KINDS, derivative, hessian, jacobian, jvp, taking, vjp
from condyle.functions import AUXILIARY, FUNCTIONS, function_of
from condyle.functions.dynamics import FORWARD_DYNAMICS, INVERSE_DYNAMICS
from condyle.functions.repeat import repeat
from condyle.functions.steps import STEP
from condyle.specification import Call, Derivative, Function, MinusProduct, Repeat, Taking, expanded
from condyle.specification.ports import F_EXT, GRAVITY, INERTIAS

pytestmark = pytest.mark.smoke

EVERY = [*FUNCTIONS.values(), *AUXILIARY.values()]
COMPOSITIONS = 400


def composed(rng: np.random.Generator) -> Function:
    """A random function of the library, with up to three things made of it."""
    function = EVERY[rng.integers(len(EVERY))]
    if function.takes and rng.random() < 0.5:
        function = function.taking(*rng.permutation(function.takes)[: rng.integers(1, 4)].tolist())
    for _ in range(rng.integers(3)):
        if function.repeat is None and rng.random() < 0.3:
            return rolled(function, rng)
        kind = DERIVATIVE_KINDS[rng.integers(len(DERIVATIVE_KINDS))]
        names = [port.name for port in function.inputs]
        by = rng.permutation(names)[: rng.integers(1, len(names) + 1)].tolist()
        function = derivative(kind, function, by if kind == "jacobian" and rng.random() < 0.7 else None)
    return function


def rolled(function: Function, rng: np.random.Generator) -> Function:
    """A random rollout, or the vjp of one."""
    carried = {port.name for port in function.inputs} & {port.name for port in function.outputs}
    inputs, outputs = (
        [p.name for p in ports if p.name not in carried] for ports in (function.inputs, function.outputs)
    )
    by_time = rng.permutation(inputs)[: rng.integers(len(inputs) + 1)].tolist()
    summed = rng.permutation(outputs)[: rng.integers(len(outputs) + 1)].tolist()
    last = bool(rng.random() < 0.3)
    every = 1 if last else int(rng.integers(1, 4))
    rollout = repeat(function, int(rng.integers(1, 200)), by_time, every, last, summed)
    return vjp(rollout) if rng.random() < 0.4 else rollout


def test_printer_and_reader_are_inverses() -> None:
    rng = np.random.default_rng(36)
    names = dict[str, Function]()
    for _ in range(COMPOSITIONS):
        function = composed(rng)
        assert function_of(function.name) == function, function.name
        assert names.setdefault(function.name, function) == function, f"{function.name} names two functions"
    assert len(names) > COMPOSITIONS // 2


def test_a_function_says_what_it_was_made_of() -> None:
    forced = FORWARD_DYNAMICS.taking(F_EXT, INERTIAS)
    assert forced.origin == Taking(FORWARD_DYNAMICS, ("f_ext", "inertias"))
    assert forced.plain is FORWARD_DYNAMICS and forced.without_forces == FORWARD_DYNAMICS.taking(INERTIAS)
    assert jacobian(forced, by="q").origin == Derivative("jacobian", forced, ("q",))
    assert jacobian(forced, by="q").root is FORWARD_DYNAMICS
    rollout = repeat(STEP, 5, by_time=("tau",))
    assert rollout.repeat == rollout.origin == Repeat(STEP, 5, ("q", "v"), ("tau",))
    backwards = vjp(rollout).repeat
    assert backwards is not None and backwards.backwards and backwards.function is STEP
    assert taking(vjp(INVERSE_DYNAMICS), F_EXT) == vjp(INVERSE_DYNAMICS.taking(F_EXT))


def test_a_composition_of_compositions_is_their_steps_under_the_names_outside() -> None:
    """What is inside keeps its names where it says none, and has those of the outer call where that says some."""
    bias, product = Call(INVERSE_DYNAMICS, ("tau",)), MinusProduct("Minv", "dtau_dq", "da_dq")
    renamed = Call(INVERSE_DYNAMICS, ("tau",), ("q", "dv", "a"))
    inner = replace(FUNCTIONS["difd"], name="inner", composition=(bias, renamed, product))
    outer = replace(inner, name="outer", composition=(Call(inner, ("x", "y"), ("q", "v", "b", "W")), product))
    assert [port.name for port in inner.inputs] == ["q", "v", "a", "Minv"]
    assert [port.name for port in inner.outputs] == ["da_dq", "da_dv"]
    assert expanded(outer) == (
        Call(INVERSE_DYNAMICS, ("tau",), ("q", "v", "b")),
        Call(INVERSE_DYNAMICS, ("tau",), ("q", "dv", "b")),
        MinusProduct("W", "dtau_dq", "x"),
        product,
    )
    plain = replace(outer, composition=(Call(inner, ("x", "y")),))
    assert expanded(plain) == (bias, renamed, MinusProduct("Minv", "dtau_dq", "x"))


def test_order_and_repetition_of_what_is_taken_do_not_matter() -> None:
    forced = FORWARD_DYNAMICS.taking(F_EXT, INERTIAS, GRAVITY)
    assert FORWARD_DYNAMICS.taking(GRAVITY, F_EXT, INERTIAS) is forced
    assert FORWARD_DYNAMICS.taking(F_EXT).taking(GRAVITY).taking(INERTIAS) is forced
    assert [port.name for port in forced.inputs] == ["q", "v", "tau", "f_ext", "inertias", "gravity"]
    assert FORWARD_DYNAMICS.taking() is FORWARD_DYNAMICS
    assert FUNCTIONS["fk"].taking(F_EXT, GRAVITY) is FUNCTIONS["fk"]  # it depends on neither


def test_equal_values_have_equal_keys_and_others_not() -> None:
    made = [vjp(FORWARD_DYNAMICS), jvp(FORWARD_DYNAMICS), hessian(FORWARD_DYNAMICS), FORWARD_DYNAMICS.taking(F_EXT)]
    made += [
        jacobian(FORWARD_DYNAMICS),
        jacobian(FORWARD_DYNAMICS, by="q"),
        repeat(STEP, 5),
        repeat(STEP, 5, last=True),
    ]
    functions = [*EVERY, *made]
    assert len({function.key for function in functions}) == len(functions) == len(set(functions))
    assert vjp(FORWARD_DYNAMICS).key == function_of("vjp_fd").key
    assert replace(FORWARD_DYNAMICS) != FORWARD_DYNAMICS  # what is not the library's own is another one


SHOW = (
    "from condyle.functions import function_of\n"
    "print(*(function_of(name).key for name in ('fd', 'jacobian_fd_f_ext_by_q_v', 'rollout_50_by_tau_last_of_step')))"
)


def test_keys_are_the_same_in_every_process() -> None:
    seeds = [{**os.environ, "PYTHONHASHSEED": seed} for seed in ("1", "2")]
    said = {
        subprocess.run([sys.executable, "-c", SHOW], env=env, capture_output=True, check=True).stdout for env in seeds
    }
    assert len(said) == 1


@pytest.mark.parametrize("name", ["fd", "vjp_fd_f_ext", "rollout_50_by_tau_last_of_step"])
def test_a_pickle_is_the_same_value(name: str) -> None:
    function = function_of(name)
    again = pickle.loads(pickle.dumps(function))
    assert again == function and again.key == function.key


def test_what_no_name_says_has_no_pickle() -> None:
    own = replace(FORWARD_DYNAMICS, name="user_1", method="user_arm", content="1")
    with pytest.raises(UnsupportedError, match="has no pickle of its own"):
        pickle.dumps(vjp(own))
