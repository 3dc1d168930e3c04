"""crocoddyl's own nodes and solvers, beside ours."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.errors import UnsupportedError
from tests.interop.cases import Case, case, crocoddyl, ours
from tests.processor import slow

from condyle.interop.crocoddyl.coordinates import Coordinates  # isort: skip  # behind what skips this file

DT = 0.02
BLOCKS = ("Fx", "Fu", "Lx", "Lu", "Lxx", "Lxu", "Luu")


def integrated(model: Any, integrator: str, dt: float = DT) -> Any:
    if integrator == "rk4":
        return crocoddyl.IntegratedActionModelRK(model, crocoddyl.RKType.four, dt)
    return crocoddyl.IntegratedActionModelEuler(model, dt)


def held(own: Any, their: Any, x: Any, u: Any, tolerance: float = 1e-9) -> None:
    """Both models say the same of a node, or of a terminal one."""
    given = (x,) if u is None else (x, u)
    data, wanted = own.createData(), their.createData()
    for model, of in ((own, data), (their, wanted)):
        model.calc(of, *given)
        model.calcDiff(of, *given)
    assert np.isclose(data.cost, wanted.cost, rtol=1e-10)
    answers = ("xout",) if hasattr(wanted, "xout") else ("xnext",)
    blocks = (*answers, *BLOCKS) if u is not None else ("Lx", "Lxx")
    for name in blocks:
        have, want = getattr(data, name), getattr(wanted, name)
        assert np.allclose(have, want, rtol=0, atol=tolerance * max(1.0, np.abs(want).max())), name


@pytest.mark.parametrize("name", ["iiwa14", "hyq", "turning", "cart"])
def test_differential_model_is_crocoddyls(name: str) -> None:
    of = case(name)
    costs = of.costs()
    own, their = ours.DifferentialActionModel(of.state, of.dyn, costs), of.theirs(costs)
    for _ in range(3):
        held(own, their, of.x(), of.u())
    held(own, their, of.x(), None)
    held(crocoddyl.IntegratedActionModelEuler(own, DT), crocoddyl.IntegratedActionModelEuler(their, DT), of.x(), of.u())


@pytest.mark.parametrize(
    ("name", "integrator"),
    [
        ("iiwa14", "semi_implicit_euler"),
        ("iiwa14", "rk4"),
        ("hyq", "crocoddyl_euler"),
        slow("hyq", "rk4"),
        ("turning", "semi_implicit_euler"),
        ("turning", "crocoddyl_euler"),
        ("cart", "crocoddyl_euler"),
        ("turning", "rk4"),
    ],
)
def test_integrated_model_is_crocoddyls(name: str, integrator: str) -> None:
    of = case(name)
    costs = of.costs()
    own = ours.IntegratedActionModel(ours.DifferentialActionModel(of.state, of.dyn, costs), DT, integrator)
    their = integrated(of.theirs(costs), integrator)
    approximate = (name, integrator) == ("hyq", "rk4")  # crocoddyl's derivatives, see the next test
    for _ in range(3):
        held(own, their, of.x(), of.u(), 1e-5 if approximate else 1e-9)
    held(own, their, of.x(), None)


@pytest.mark.parametrize("has_residual", [False, True])
@pytest.mark.parametrize("name", ["hyq", "cart"])
def test_semi_implicit_euler_is_the_step_of_dyn(name: str, has_residual: bool) -> None:
    """On a base that spins; its derivatives are A, B and differences of its cost."""
    of, nv = case(name), case(name).state.nv
    costs: Any = (lambda at, u: np.concatenate([at.v, 0.1 * u])) if has_residual else of.costs()
    node = ours.IntegratedActionModel(ours.DifferentialActionModel(of.state, of.dyn, costs), DT)
    x, u, small, data = of.x(), of.u(), 1e-6, node.createData()
    x[-nv:] *= 5.0
    node.calc(data, x, u)
    node.calcDiff(data, x, u)
    robot = node.differential.drive.coordinates
    after = of.dyn.step(*robot.ours(x), u, DT)
    assert np.allclose(data.xnext, robot.theirs(*after), rtol=0, atol=1e-12)
    slopes = np.hstack(of.dyn.step_derivatives(*robot.ours(x), u, DT))
    assert np.allclose(np.hstack([data.Fx, data.Fu]), slopes, rtol=0, atol=1e-9 * np.abs(slopes).max())
    for k, by in enumerate(np.eye(2 * nv)[: nv + 3] * small):
        ends = [node.createData() for _ in range(2)]
        for end, dx in zip(ends, (by, -by), strict=True):
            node.calc(end, of.state.integrate(x, dx), u)
        assert np.isclose(data.Lx[k], (ends[0].cost - ends[1].cost) / (2 * small), rtol=1e-6, atol=1e-5)


@pytest.mark.slow
def test_derivatives_of_rk4_on_a_floating_base_are_those_of_crocoddyls_steps() -> None:
    """By central differences; crocoddyl's own leave out terms of 1e-6."""
    of = case("hyq")
    costs, x, u, small = of.costs(), of.x(), of.u(), 1e-6
    own = ours.IntegratedActionModel(ours.DifferentialActionModel(of.state, of.dyn, costs), DT, "rk4")
    their, found = integrated(of.theirs(costs), "rk4"), own.createData()
    own.calc(found, x, u)
    own.calcDiff(found, x, u)
    for k, by in enumerate(np.eye(36) * small):
        ends = []
        for dx in (by, -by):
            data = their.createData()
            their.calc(data, of.state.integrate(x, dx), u)
            ends.append((data.xnext.copy(), data.cost))
        slope = of.state.diff(ends[1][0], ends[0][0]) / (2 * small)
        assert np.allclose(found.Fx[:, k], slope, atol=2e-8)
        assert np.isclose(found.Lx[k], (ends[0][1] - ends[1][1]) / (2 * small), rtol=1e-6, atol=1e-5)


def quadratic(of: Case, goal: Any, state: float, control: float) -> Any:
    nv = of.state.nv
    found = crocoddyl.CostModelSum(of.state, nv)
    found.addCost("x", crocoddyl.CostModelResidual(of.state, crocoddyl.ResidualModelState(of.state, goal, nv)), state)
    found.addCost("u", crocoddyl.CostModelResidual(of.state, crocoddyl.ResidualModelControl(of.state, nv)), control)
    return found


def residual(state: float, control: float) -> Any:
    return lambda at, u: np.concatenate([state**0.5 * (at.q - 0.5), state**0.5 * at.v, control**0.5 * u])


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4"])
def test_solver_has_the_same_iterates_with_costs_and_with_a_residual(integrator: str) -> None:
    of, T = case("iiwa14"), 12
    goal, x0 = np.r_[np.full(7, 0.5), np.zeros(7)], np.zeros(14)
    weights = ((1.0, 1e-3), (100.0, 0.0))
    sums = [quadratic(of, goal, *w) for w in weights]

    def problem(costs: Any) -> Any:
        models = [ours.DifferentialActionModel(of.state, of.dyn, each) for each in costs]
        nodes = [ours.IntegratedActionModel(model, DT, integrator) for model in models]
        return ours.ShootingProblem(x0, [nodes[0]] * T, nodes[1])

    running, terminal = (integrated(of.theirs(each), integrator) for each in sums)
    wanted = crocoddyl.ShootingProblem(x0, [running] * T, terminal)
    logs = []
    for each in (wanted, problem(sums), problem([residual(*w) for w in weights])):
        solver, log = crocoddyl.SolverFDDP(each), crocoddyl.CallbackLogger()
        solver.setCallbacks([log])
        assert solver.solve([x0] * (T + 1), [np.zeros(7)] * T, 30)
        logs.append((np.array(log.costs), np.array(solver.xs), np.array(solver.us)))
    for log in logs[1:]:
        for have, want in zip(log, logs[0], strict=True):
            assert have.shape == want.shape and np.allclose(have, want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("has_residual", [False, True])
def test_problem_is_one_call_for_all_nodes(has_residual: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    of, T = case("iiwa14"), 5
    goal = np.zeros(14)
    each = [residual(1.0, 0.1)] * 2 if has_residual else [quadratic(of, goal, 1.0, 0.1), quadratic(of, goal, 2.0, 0.1)]
    models = [ours.DifferentialActionModel(of.state, of.dyn, costs) for costs in each]
    models = [models[0]] * 2 if has_residual else models
    nodes = [ours.IntegratedActionModel(models[k % 2], DT * (k + 1), "rk4") for k in range(T)]
    problem = ours.ShootingProblem(np.zeros(14), nodes, nodes[0])
    motion, calls = nodes[0].motion, []
    for name in ("value", "slopes"):
        call = getattr(motion, name)
        monkeypatch.setitem(vars(motion), name, lambda *a, c=call, n=name: (calls.append((n, len(a[0]))), c(*a))[1])
    xs, us = [of.x() for _ in range(T + 1)], [of.u() for _ in range(T)]
    cost = problem.calc(xs, us)
    assert np.isclose(problem.calcDiff(xs, us), cost)
    assert calls == [("value", T), ("slopes", T)]
    for k, (node, data) in enumerate(zip(nodes, problem.runningDatas, strict=True)):
        lone = node.createData()
        node.calc(lone, xs[k], us[k])
        node.calcDiff(lone, xs[k], us[k])
        for name in ("xnext", *BLOCKS):
            assert np.allclose(getattr(data, name), getattr(lone, name), rtol=1e-9, atol=1e-9), name
    assert np.isclose(cost, crocoddyl.ShootingProblem.calc(problem, xs, us))


def test_derivatives_are_those_of_the_place_asked_for() -> None:
    """calcDiff without calc, or behind calc elsewhere, is not that of the last place."""
    of = case("iiwa14")
    node = ours.IntegratedActionModel(ours.DifferentialActionModel(of.state, of.dyn, of.costs()), DT)
    x, u, data, wanted = of.x(), of.u(), node.createData(), node.createData()
    node.calc(data, of.x(), of.u())
    node.calcDiff(data, of.x(), of.u())
    node.calcDiff(data, x, u)
    node.calc(wanted, x, u)
    node.calcDiff(wanted, x, u)
    assert all(np.array_equal(getattr(data, name), getattr(wanted, name)) for name in ("xnext", *BLOCKS))


def test_data_is_freed_with_its_problem() -> None:
    of, freed = case("iiwa14"), []
    node = ours.IntegratedActionModel(ours.DifferentialActionModel(of.state, of.dyn, residual(1.0, 0.1)), DT)

    class Mark:
        def __del__(self) -> None:
            freed.append(self)

    problem = ours.ShootingProblem(np.zeros(14), [node] * 3, node)
    problem.calc([np.zeros(14)] * 4, [np.zeros(7)] * 3)
    problem.calcDiff([np.zeros(14)] * 4, [np.zeros(7)] * 3)
    problem.runningDatas[1].mark = Mark()
    del problem
    gc.collect()
    assert freed


def test_wrong_states_robots_and_costs_are_refused() -> None:
    of, other = case("iiwa14"), case("turning")
    costs = of.costs()
    make = ours.DifferentialActionModel
    with pytest.raises(UnsupportedError, match="joint 0 is 'iiwa_joint_1' in the state and 'j0' in the robot"):
        make(of.state, other.dyn, costs)
    with pytest.raises(UnsupportedError, match=r"state is a StateVector; expected crocoddyl.StateMultibody"):
        make(crocoddyl.StateVector(14), of.dyn, costs)
    with pytest.raises(UnsupportedError, match="dyn has float32 on 'cpu'"):
        make(of.state, of.robot.compile(dtype="float32"), costs)
    with pytest.raises(UnsupportedError, match="open numbers"):
        make(of.state, of.robot.compile(inputs=("gravity",)), costs)
    with pytest.raises(UnsupportedError, match=r"expected crocoddyl.CostModelSum or a function"):
        make(of.state, of.dyn, 3.0)
    with pytest.raises(UnsupportedError, match="integrator='midpoint': allowed is"):
        ours.IntegratedActionModel(make(of.state, of.dyn, costs), DT, "midpoint")
    locked = condyle.load("iiwa14").lock({"iiwa_joint_7": 0.0})
    with pytest.raises(UnsupportedError, match="the state has 7 joints and the robot 6"):
        Coordinates(of.model, locked)
    node = ours.IntegratedActionModel(make(of.state, of.dyn, costs), DT)
    with pytest.raises(UnsupportedError, match="runningModels is empty"):
        ours.ShootingProblem(np.zeros(14), [], node)
    with pytest.raises(UnsupportedError, match="2 states and 0 controls; expected 2 and 1"):
        ours.ShootingProblem(np.zeros(14), [node], node).calc([np.zeros(14)] * 2, [])


def test_coordinates_go_there_and_back() -> None:
    of = case("turning")
    at = Coordinates(of.model, of.robot)
    x = np.stack([of.x() for _ in range(4)])
    q, v = at.ours(x)
    assert q.shape == (4, 3) and not at.same
    assert np.allclose([at.theirs(*pair) for pair in zip(q, v, strict=True)], x)


def test_a_missing_package_says_how_to_install_it() -> None:
    code = "import sys; sys.modules['crocoddyl'] = None; import condyle.interop.crocoddyl"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'condyle[crocoddyl]'" in done.stderr


def test_program_of_the_page_runs(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "crocoddyl.md"
    code = "".join(re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL))
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0 and code, done.stderr


TURNING = """<robot name="turning"><link name="base"/><link name="arm"><inertial>
<origin xyz="0.2 0 0"/><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="TYPE"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="9" velocity="9"/></joint></robot>"""


def test_two_states_of_one_robot_share_nothing_where_their_coordinates_differ(tmp_path: Path) -> None:
    """A joint that turns without limits has a cosine and a sine in one state, and an angle in the other."""
    pinocchio = pytest.importorskip("pinocchio")
    texts = [TURNING.replace("TYPE", kind) for kind in ("continuous", "revolute")]
    (tmp_path / "turning.urdf").write_text(texts[0])
    dyn, velocities = condyle.load(tmp_path / "turning.urdf").compile(), list[float]()
    for text, x in zip(texts, ([np.cos(0.4), np.sin(0.4), 0.1], [0.4, 0.1]), strict=True):
        state = crocoddyl.StateMultibody(pinocchio.buildModelFromXML(text))
        costs = crocoddyl.CostModelSum(state, 1)
        node = ours.IntegratedActionModel(ours.DifferentialActionModel(state, dyn, costs), DT)
        data = node.createData()
        node.calc(data, np.array(x), np.zeros(1))
        velocities.append(float(data.xnext[-1]))
    assert np.isclose(*velocities, rtol=1e-12)
