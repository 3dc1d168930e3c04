"""What a plan's project in C says of its arrays and holds its functions to, and exact derivatives of linear plans."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.errors import UnsupportedError
from condyle.jobs.optimal_control import OptimalControl, exported
from condyle.jobs.optimal_control.scheduled import Input

KNOTS = 3
ASKED = ("mixed", "tolerance, iterations, the least mu", "asked")
STATE = "mu, nu, damping, iterations, status (1 solved), cost, largest violation, failed iterations"
GAINS = ("mixed", "K of each interval, u + K [dq; dv], row major", "gains")


@cache
def rail() -> condyle.Robot:
    """A load of 2 kg on a rail across a cart of 2 kg."""
    builder = condyle.Builder("rail", gravity=(0.0, 0.0, 0.0))
    for k, (name, mass) in enumerate((("cart", 2.0), ("load", 2.0))):
        builder.body(name, mass=mass, inertia=1e-2 * np.eye(3))
        builder.joint(f"j{k}", parent="cart" if k else "world", child=name, type="prismatic", axis=np.eye(3)[k])
    return builder.build()


def costs(at: Any, u: Any, goal: Any, top: Any) -> dict[str, Any]:
    return {
        "residual": [at.q - goal, 0.3 * at.v, 0.2 * u],
        "cost": 0.05 * (at.q @ at.q) + goal[1] * u[0],
        "below": [at.v[0] - top, -2.0 - u[1]],
    }


def last(at: Any, goal: Any) -> dict[str, Any]:
    return {"residual": [3.0 * (at.q - goal), at.v], "equal": at.q[1] - 0.5 * goal[0], "below": at.v[1] - 9.0}


def problem(integrator: str = "semi_implicit_euler", knots: int = KNOTS, dt: float = 0.1) -> OptimalControl:
    return OptimalControl(
        rail(), costs, last, knots=knots, dt=dt, inputs={"goal": 2, "top": ()}, by_knot=("goal",),
        bounds={"u": (-3.0, 3.0), "v": (-5.0, 5.0)}, integrator=integrator,
    )  # fmt: skip


def written(monkeypatch: pytest.MonkeyPatch, job: OptimalControl, **options: Any) -> list[Any]:
    """The arguments with which a project is written."""
    calls: list[Any] = []
    monkeypatch.setattr(exported, "export_schedules", lambda *args: calls.append(args))
    job.export("c", "nowhere", **options)
    return calls[0]


# By slab: shape, unit, text, and name in C.
NOW = {
    "given_q": ((2,), "joint", "the state now: configuration", "q"),
    "given_v": ((2,), "joint", "the state now: velocity", "v"),
    "asked": ((3,), *ASKED),
}
INPUTS = {
    "free": ((KNOTS, 1), "1", "1 but for the first knot", "plan_free"),
    "goal": ((KNOTS + 1, 2), "as given", "an input of the problem", ""),
    "top": ((1,), "as given", "an input of the problem", ""),
}
PLAN = {
    "q": ((KNOTS + 1, 2), "joint", "configurations of all knots"),
    "v": ((KNOTS + 1, 2), "joint", "velocities of all knots"),
    "u": ((KNOTS, 2), "joint", "controls of all intervals"),
    "slack": ((KNOTS, 10), "1", "slacks of limits"),
    "multiplier": ((KNOTS, 10), "mixed", "multipliers of limits, bounds behind those of below"),
    "last_slack": ((5,), "1", "slacks of limits, of the last knot"),
    "last_multiplier": ((5,), "mixed", "multipliers of limits, bounds behind those of below, of the last knot"),
    "last_price": ((1,), "mixed", "multipliers of equalities, of the last knot"),
}


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "euler"])
def test_a_header_says_what_each_array_is(monkeypatch: pytest.MonkeyPatch, integrator: str) -> None:
    """By accelerations there are panels of gains, which the next step begins with, and torques."""
    monkeypatch.setattr(exported, "_example", lambda *_: None)
    job, linear = problem(integrator), integrator != "euler"
    robot, target, out, entries, kernels, name, dtype, bound, embedded, limits = written(
        monkeypatch, job, shift=2, flash=9, stack=8, part="cortex-m7", name="arm", embedded=not linear
    )
    assert (robot, target, out, name, dtype, embedded) == (job.robot, "c", "nowhere", "arm", "float64", not linear)
    assert bound is job.bound and limits == {"part": "cortex-m7", "flash": 9, "stack": 8}
    solve, step = entries
    assert (solve.schedule.name, step.schedule.name) == ("solve", "step")
    assert (solve.text, step.text) == (exported.SOLVE, exported.STEP)
    assert {call.kernel for entry in entries for call in entry.schedule.calls()} <= kernels.keys()
    lanes = 8 if linear else 1
    assert solve.schedule.lanes == step.schedule.lanes == lanes
    gains = {"gains": ((KNOTS, 8), *GAINS)}
    plan = dict(PLAN)
    if linear:
        plan["u"] = (*plan["u"][:2], "accelerations of all intervals")
        panel = -(-3 // lanes) * 2 * lanes
        for name, entry in (("KQ", "q"), ("KV", "v")):
            plan[name] = ((KNOTS, panel), "mixed", f"gains of accelerations by {entry}, in panels")
        gains["torque"] = ((KNOTS, 2), "joint", "torques of all intervals", "plan_torque")
    after = {x: (*said, f"plan_{x}") for x, said in plan.items()}
    before = {f"start_{x}": (*said[:2], f"{said[2]}, of the plan before", f"before_{x}") for x, said in plan.items()}
    state = {"state": ((8,), "mixed", STATE, "plan_state")}
    start = {"start_state": ((8,), "mixed", f"{STATE}, of the plan before", "before_state")}
    assert {x: tuple(said) for x, said in solve.meanings.items()} == NOW | INPUTS | start | after | gains | state
    assert {x: tuple(said) for x, said in step.meanings.items()} == (
        NOW | INPUTS | start | before | after | gains | state
    )
    assert set(solve.fixed) == {"free", "start_state"} and set(step.fixed) == {"free"}
    assert solve.fixed["free"].ravel().tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_project_is_held_to_three_iterations_and_a_step(monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    """From a bent state at rest, with inputs 0; the step begins at that plan, moved on."""
    job, digits = problem(), 1e-9 if dtype == "float64" else 1e-4
    solve, step = written(monkeypatch, job, dtype=dtype, shift=2)[3]
    assert solve.schedule.lanes == {"float64": 8, "float32": 16}[dtype]
    assert solve.example.tolerance == step.example.tolerance == {"float64": 1e-6, "float32": 1e-2}[dtype]
    away, rest, goal = np.array([0.3, -0.2], dtype), np.zeros(2, dtype), np.zeros((KNOTS + 1, 2), dtype)
    for entry, asked in ((solve, (1e-12, 3.0, 0.0)), (step, (1e-6, 1.0, 1e-4))):
        given = entry.example.inputs
        assert all(x.dtype == dtype for x in (*given.values(), *entry.example.outputs.values()))
        np.testing.assert_allclose(given["given_q"][0], away, rtol=1e-6)
        np.testing.assert_allclose(given["asked"][0], asked, rtol=1e-6)
        assert given["free"].tolist() == [[0.0], [1.0], [1.0]]
        assert not given["given_v"].any() and not given["goal"].any() and not given["top"].any()
    begun = [0.1, 1.0, 1e-12, 0.0, 0.0, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(solve.example.inputs["start_state"][0], begun, rtol=1e-6)
    solver = job.compile(dtype=dtype, threads=1)
    plan = solver.solve(away, rest, goal=goal, top=0.0, tolerance=1e-12, most=3)
    after = solver.step(plan, away, rest, shift=2, goal=goal, top=0.0)
    for entry, want in ((solve, plan), (step, after)):
        found = entry.example.outputs
        assert [*found] == [*entry.schedule.outputs]
        for name in ("q", "v", "u", "torque", "slack", "multiplier", "last_slack", "last_multiplier", "last_price"):
            expected = np.ravel(getattr(want.answers, name))
            np.testing.assert_allclose(np.ravel(found[name]), expected, rtol=digits, atol=digits, err_msg=name)
        np.testing.assert_allclose(np.ravel(found["gains"]), np.ravel(want.K), rtol=100 * digits, atol=100 * digits)
    for name in solve.schedule.outputs:
        if f"start_{name}" in step.example.inputs:
            np.testing.assert_array_equal(
                np.ravel(step.example.inputs[f"start_{name}"]), np.ravel(solve.example.outputs[name]), err_msg=name
            )


@pytest.mark.parametrize("wrong", [None, 0, -1])
def test_an_example_with_an_answer_that_is_no_number_is_left_out(
    monkeypatch: pytest.MonkeyPatch, wrong: int | None
) -> None:
    def kernel(n: int, inputs: Any, outputs: Any, threads: int) -> None:
        for k, array in enumerate(outputs):
            array[...] = np.nan if wrong is not None and k == wrong % len(outputs) else 0.0
            array.flat[1:] = 0.0

    monkeypatch.setattr(exported, "scheduled", lambda *_: kernel)
    for entry in written(monkeypatch, problem("euler"), embedded=True)[3]:
        assert (entry.example is None) == (wrong is not None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"target": "cuda"}, "target 'cuda' writes no schedules"),
        ({"target": "go"}, "target='go'"),
        ({"shift": -1}, "shift=-1: give a whole number from 0 on"),
        ({"shift": KNOTS + 1}, f"step: shift={KNOTS + 1}; give a whole number from 0 to {KNOTS} knots"),
    ],
)
def test_projects_that_cannot_be_written_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UnsupportedError, match=f"^{said}"):
        problem().export(**{"target": "c", "out": "nowhere", **options})


def test_inputs_have_as_many_numbers_as_their_shape() -> None:
    sizes = {(): 1, (3,): 3, (2, 5): 10, (0, 4): 0}
    assert {shape: Input("x", shape, 1).size for shape in sizes} == sizes


# Linear plans: while the same limits press, a plan is a linear function of what it was made from.


def optimum(integrator: str, values: dict[str, Any], pressing: Any, h: float, N: int) -> dict[str, Any]:
    """The minimum with these rows of limits as equations: by one dense matrix of optimality in u and multipliers."""
    mass = np.array([4.0, 2.0])
    size = 2 * N

    def path(u: Any, q: Any, v: Any) -> Any:
        u, rows = u.reshape(N, 2), [(q, v)]
        for k in range(N):
            after = v + h * u[k] / mass
            q, v = q + h * (after if integrator == "semi_implicit_euler" else v), after
            rows.append((q, v))
        return np.array([row[0] for row in rows]), np.array([row[1] for row in rows])

    def parts(u: Any) -> tuple[Any, Any, Any]:
        """Residuals, which are linear in u; the linear cost; and all limits of the problem."""
        goal, top = values["goal"], values["top"]
        q, v = path(u, values["q"], values["v"])
        u = u.reshape(N, 2)
        residual = [q[:-1] - goal[:-1], 0.3 * v[:-1], 0.2 * u, np.sqrt(0.1) * q[:-1], 3.0 * (q[-1:] - goal[-1]), v[-1:]]
        limits = [v[k, 0] - top for k in range(N)], [-2.0 - u[k, 1] for k in range(N)], [*(u - 3.0).ravel()]
        equal = q[-1, 1] - 0.5 * goal[-1, 0]
        rows = np.concatenate([[equal], *limits])
        return np.concatenate([x.ravel() for x in residual]), (goal[:-1, 1] * u[:, 0]).sum(), rows

    r, c, e = parts(np.zeros(size))
    columns = [parts(x) for x in np.eye(size)]
    J, g = np.array([x[0] - r for x in columns]).T, np.array([x[1] - c for x in columns])
    A = np.array([x[2] - e for x in columns]).T[pressing]
    n = len(A)
    matrix = np.block([[J.T @ J, A.T], [A, np.zeros((n, n))]])
    u = np.linalg.solve(matrix, np.concatenate([-J.T @ r - g, -e[pressing]]))[:size]
    q, v = path(u, values["q"], values["v"])
    residual, linear, _ = parts(u)
    return {"q": q, "v": v, "u": u.reshape(N, 2), "cost": 0.5 * residual @ residual + linear}


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "euler"])
def test_derivatives_of_a_linear_plan_are_those_of_its_equations(integrator: str) -> None:
    """An upper bound of u, a limit of v, one of u and an equation at the end hold."""
    N, h, rng = 5, 0.4, np.random.default_rng(3)
    goal = np.array([1.2, -1.5]) + 0.05 * rng.normal(size=(N + 1, 2))
    values: dict[str, Any] = {"q": np.array([0.1, 0.8]), "v": np.array([0.1, -0.2]), "goal": goal, "top": 0.45}
    job = problem(integrator, N, h).compile(threads=1)
    plan = job.solve(**values, tolerance=1e-12)
    below, bound = plan.multipliers["below"], plan.multipliers["u"]
    pressing = np.concatenate([[True], below[:, 0] > 1e-4, below[:, 1] > 1e-4, (bound > 1e-4).ravel()])
    counts = [pressing[1 : 1 + N].sum(), pressing[1 + N : 1 + 2 * N].sum(), pressing[1 + 2 * N :].sum()]
    want = optimum(integrator, values, pressing, h, N)
    for name in ("q", "v", "u"):
        np.testing.assert_allclose(getattr(plan, name), want[name], atol=1e-5, err_msg=name)
    assert plan.cost == pytest.approx(want["cost"], rel=1e-6)
    assert min(counts) > 0
    bars = {f"{x}_bar": rng.normal(size=want[x].shape) for x in ("q", "v", "u")} | {"cost_bar": 0.7}
    found = job.vjp(plan, **bars)
    for name, value in values.items():
        along = rng.normal(size=np.shape(value))
        sides = [optimum(integrator, {**values, name: value + sign * along}, pressing, h, N) for sign in (0.5, -0.5)]
        phi = [sum((bars[f"{x}_bar"] * side[x]).sum() for x in ("q", "v", "u", "cost")) for side in sides]
        # the cost is a quadratic function, whose central difference is exact
        assert (getattr(found, name) * along).sum() == pytest.approx(phi[0] - phi[1], rel=1e-5), name


# What a problem is, by its robot and options.


def bare(robot: Any, **options: Any) -> OptimalControl:
    return OptimalControl(robot, lambda at, u: {"residual": u}, **{"knots": 4, "dt": 0.05, **options})


ARM = condyle.chain(2, 3)
HELD = [condyle.Contact(ARM.body_names[-1])]
DAMPED = ARM.with_drives({name: condyle.Drive(damping=0.1) for name in ARM.joint_names})


@pytest.mark.parametrize(
    ("robot", "options", "by_acceleration"),
    [
        (ARM, {}, True),
        (ARM, {"integrator": "euler"}, False),
        (ARM, {"contacts": HELD}, False),
        (DAMPED, {}, True),
        (DAMPED, {"joint_forces": ("damping",)}, False),
        (ARM, {"bounds": {"u": ([1.0, -1.0], [1.0, 2.0])}}, False),
        (ARM, {"bounds": {"q": (1.0, 1.0), "u": (-1.0, 1.0)}}, True),
        (ARM, {"dynamics": lambda at, u: {"q": at.q + 0.1 * at.v, "v": at.v + u}, "controls": 2}, False),
    ],
)
def test_accelerations_are_the_variables_where_every_joint_is_driven(
    robot: Any, options: dict[str, Any], by_acceleration: bool
) -> None:
    job = bare(robot, **options)
    assert job.by_acceleration == by_acceleration and (job.nu, job._root) == (2, 0)
    assert job.columns == ((3,) if by_acceleration else (5, 2))
    kind = "accelerations" if by_acceleration else "controls"
    assert repr(job) == f"<OptimalControl of {robot.name}: 4 knots of 0.05 s, variables are {kind}>"


@pytest.mark.parametrize(
    ("types", "floating", "turning"),
    [
        (("revolute",), False, ()),
        (("revolute",), True, ((0, 6),)),
        (("spherical",), True, ((0, 6), (6, 3), (9, 3))),
        (("spherical",), False, ((0, 3), (3, 3))),
        (("planar",), False, None),
        (("planar",), True, None),
    ],
)
def test_joints_that_turn_have_the_form_of_joints_but_for_planar_ones(types: Any, floating: bool, turning: Any) -> None:
    robot = condyle.random_tree(2, 5, types=types, floating_base=floating)
    job = bare(robot, bounds={"u": False})
    assert job._turning == turning and job.by_acceleration == (types == ("revolute",) and not floating)
    assert (job._root, job.nu) == ((6, robot.nv - 6) if floating else (0, robot.nv))


def test_flags_of_contacts_are_inputs_by_knot_and_rise_where_there_are_impacts() -> None:
    options: dict[str, Any] = {"inputs": {"goal": 2, "active": 1, "w": ()}, "contacts": HELD}
    for impacts in (True, False):
        job = bare(ARM, by_knot=("active", "w"), impacts=impacts, **options)
        rising = [("rising", (1,), 4)] if impacts else []
        assert [(item.name, item.shape, item.rows) for item in job.inputs] == [
            ("goal", (2,), 1), ("active", (1,), 4), *rising, ("w", (), 5),
        ]  # fmt: skip
        assert job.names == ("goal", "active", "w") and [*job.signature.parameters] == [*job.names]
    with pytest.raises(
        UnsupportedError, match=r"^OptimalControl: 'active' is an input by knot: by_knot=\('active',\)$"
    ):
        bare(ARM, **options)
    with pytest.raises(UnsupportedError, match=r"^OptimalControl: inputs: 'rising' is taken: choose another name$"):
        bare(ARM, inputs={"rising": 1}, contacts=HELD)
    with pytest.raises(UnsupportedError, match=r"^OptimalControl: by_knot: 'x' is no input; there are none$"):
        bare(ARM, by_knot=("x",))
    with pytest.raises(UnsupportedError, match=r"^OptimalControl: by_knot: 'x' is no input; there are goal, w$"):
        bare(ARM, inputs={"goal": 2, "w": ()}, by_knot=("x", "goal"))


@pytest.mark.parametrize("dt", [0.0, -0.1, np.nan, np.inf])
def test_knots_are_some_seconds_apart(dt: float) -> None:
    with pytest.raises(UnsupportedError, match=rf"^OptimalControl: dt={dt!r}, expected seconds above 0$"):
        bare(ARM, dt=dt)


def test_counts_of_a_problem_are_whole_numbers() -> None:
    def moves(at: Any, u: Any) -> dict[str, Any]:
        return {"q": at.q, "v": at.v + u[0]}

    assert bare(ARM, knots=1).knots == 1 and bare(ARM, dynamics=moves, controls=1, bounds={}).nu == 1
    with pytest.raises(UnsupportedError, match=r"^knots=0: give a whole number from 1 on"):
        bare(ARM, knots=0)
    with pytest.raises(UnsupportedError, match=r"^controls=0: give a whole number from 1 on"):
        bare(ARM, dynamics=moves, controls=0)
    with pytest.raises(UnsupportedError, match=r"^OptimalControl: controls= goes with dynamics=; leave it out$"):
        bare(ARM, controls=2)
    with pytest.raises(UnsupportedError, match=r"^OptimalControl: bounds: 'a'; allowed are 'u', 'q' and 'v'$"):
        bare(ARM, bounds={"a": True})
