"""crocoddyl's own contacts, actuations and impacts, beside ours."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.errors import UnsupportedError
from condyle.model.placement import Placement
from tests.interop.cases import crocoddyl, ours, pinocchio
from tests.interop.contact_cases import AXES, FOOT, LEGS, Quadruped
from tests.processor import slow

DT = 0.01
BLOCKS = ("Fx", "Fu", "Lx", "Lu", "Lxx", "Lxu", "Luu")
FLAGS = [(1, 1, 1, 1), (1, 0, 0, 1), (0, 1, 0, 0), (0, 0, 0, 0)]


@pytest.fixture(scope="module")
def of() -> Quadruped:
    return Quadruped()


def held(own: Any, their: Any, x: Any, u: Any, blocks: tuple[str, ...] = BLOCKS) -> None:
    """Both models say the same of a node: answers to 1e-9, derivatives to 1e-7 of the largest entry."""
    given = (x,) if u is None else (x, u)
    data, wanted = own.createData(), their.createData()
    for model, to in ((own, data), (their, wanted)):
        model.calc(to, *given)
        model.calcDiff(to, *given)
    assert np.isclose(data.cost, wanted.cost, rtol=1e-9)
    answers = ("xout",) if hasattr(wanted, "xout") else ("xnext",)
    for names, tolerance in ((answers, 1e-9), (blocks, 1e-7)):
        for name in names:
            have, want = getattr(data, name), getattr(wanted, name)
            assert np.allclose(have, want, rtol=0, atol=tolerance * max(1.0, np.abs(want).max(initial=0.0))), name


def made(of: Quadruped, on: Any, *how: Any) -> tuple[Any, Any]:
    costs, contacts = of.costs(on), of.contacts(on, *how)
    return ours.DifferentialActionModel(of.state, of.dyn, costs, contacts, of.actuation), of.theirs(costs, contacts)


@pytest.mark.parametrize("on", FLAGS)
def test_differential_model_with_contacts_is_crocoddyls(of: Quadruped, on: Any) -> None:
    own, their = made(of, on)
    for _ in range(3):
        held(own, their, of.x(), of.u())
    held(own, their, of.x(), None, ("Lx", "Lxx"))
    step = ours.IntegratedActionModel(own, DT, "crocoddyl_euler")
    wanted = crocoddyl.IntegratedActionModelEuler(their, DT)
    held(step, wanted, of.x(), of.u())
    held(crocoddyl.IntegratedActionModelEuler(own, DT), wanted, of.x(), of.u())
    assert np.array_equal(own.u_ub, their.u_ub) and np.array_equal(step.u_lb, wanted.u_lb)


@pytest.mark.parametrize("axes", [AXES.LOCAL, AXES.WORLD])
def test_axes_gains_and_references_are_those_of_crocoddyls_contacts(of: Quadruped, axes: Any) -> None:
    for gains in ((0.0, 0.0), (30.0, 5.0)):
        own, their = made(of, (1, 0, 1, 1), axes, gains)
        held(own, their, of.x(), of.u())


def test_postures_are_held_as_by_crocoddyl(of: Quadruped) -> None:
    for on in FLAGS:
        own, their = made(of, on)
        x = of.x()
        assert np.allclose(own.quasiStatic(own.createData(), x), their.quasiStatic(their.createData(), x), atol=1e-9)


def test_a_plane_contact_of_an_arm_is_crocoddyls() -> None:
    """In 6-D, every joint actuated."""
    robot = condyle.load("iiwa14")
    model = pinocchio.buildModelFromXML(robot.to_urdf())
    state, rng = crocoddyl.StateMultibody(model), np.random.default_rng(2)
    tip = model.getFrameId("iiwa_link_7")
    dyn = robot.compile(contacts=[condyle.Contact("iiwa_link_7", "plane")], threads=1)
    for axes in (AXES.LOCAL, AXES.LOCAL_WORLD_ALIGNED):
        contacts, costs = crocoddyl.ContactModelMultiple(state, 7), crocoddyl.CostModelSum(state, 7)
        one = crocoddyl.ContactModel6D(state, tip, pinocchio.SE3.Identity(), axes, 7, np.array([0.0, 4.0]))
        contacts.addContact("tip", one)
        wanted = pinocchio.Force(np.arange(6.0))
        force = crocoddyl.ResidualModelContactForce(state, tip, wanted, 6, 7, True)
        costs.addCost("force", crocoddyl.CostModelResidual(state, force), 1e-4)
        full = crocoddyl.ActuationModelFull(state)
        their = crocoddyl.DifferentialActionModelContactFwdDynamics(state, full, contacts, costs, 0.0, True)
        own = ours.DifferentialActionModel(state, dyn, costs, contacts)
        bent = np.array([0.2, 0.6, -0.3, -1.2, 0.4, 0.9, 0.1])  # stretched, six rows are nearly dependent
        held(own, their, np.concatenate([bent, rng.uniform(-1, 1, 7)]), rng.uniform(-9, 9, 7))


@pytest.mark.parametrize("on", FLAGS[:3])
def test_impacts_are_crocoddyls(of: Quadruped, on: Any) -> None:
    costs, impulses = of.without_torques(0), of.impulses(on)
    own = ours.ImpulseActionModel(of.state, of.dyn, costs, impulses)
    their = crocoddyl.ActionModelImpulseFwdDynamics(of.state, impulses, costs)
    for _ in range(2):
        held(own, their, of.x(), None, ("Fx", "Lx", "Lxx"))
    assert own.nu == 0 and own.quasiStatic(None, of.x()).shape == (0,)


def test_derivatives_of_an_impact_with_restitution_are_those_of_crocoddyls_impacts(of: Quadruped) -> None:
    """By central differences."""
    impulses, costs, small = of.impulses((1, 1, 0, 1)), of.without_torques(0), 1e-6
    own = ours.ImpulseActionModel(of.state, of.dyn, costs, impulses, 0.4)
    their = crocoddyl.ActionModelImpulseFwdDynamics(of.state, impulses, costs)
    their.r_coeff = 0.4
    x, found = of.x(), own.createData()
    own.calc(found, x)
    own.calcDiff(found, x)
    for k, by in enumerate(np.eye(36) * small):
        ends = []
        for dx in (by, -by):
            data = their.createData()
            their.calc(data, of.state.integrate(x, dx))
            ends.append(data.xnext.copy())
        slope = of.state.diff(ends[1], ends[0]) / (2 * small)
        assert np.allclose(found.Fx[:, k], slope, atol=2e-7 * max(1.0, np.abs(slope).max()))


def gait(of: Quadruped) -> tuple[list[Any], Any]:
    """Nodes of crocoddyl's over three phases with an impact, and x at rest."""
    nodes = [crocoddyl.IntegratedActionModelEuler(made(of, FLAGS[k])[1], DT) for k in (0, 0, 1, 1, 3)]
    nodes.append(crocoddyl.ActionModelImpulseFwdDynamics(of.state, of.impulses(FLAGS[0]), of.without_torques(0)))
    x = of.state.zero()
    x[2], x[7:19] = 0.55, [0.0, 0.75, -1.5] * 4
    return [*nodes, nodes[0]], x


def test_a_problem_is_rebuilt_and_solved_with_the_same_iterates(of: Quadruped) -> None:
    nodes, x0 = gait(of)
    theirs = crocoddyl.ShootingProblem(x0, nodes, nodes[0])
    logs = []
    for problem in (theirs, ours.rebuilt(theirs, of.dyn)):
        solver, log = crocoddyl.SolverFDDP(problem), crocoddyl.CallbackLogger()
        solver.setCallbacks([log])
        us = [np.asarray(u) for u in problem.quasiStatic([x0] * problem.T)]
        solver.solve([x0] * (problem.T + 1), us, 20, False)
        logs.append((np.array(log.costs), np.array(solver.xs), np.concatenate(list(solver.us))))
    for have, want in zip(logs[1], logs[0], strict=True):
        assert have.shape == want.shape and np.allclose(have, want, rtol=1e-6, atol=1e-6)
    assert len(logs[0][0]) > 3


def test_all_phases_are_differentiated_in_one_call(of: Quadruped, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes, x0 = gait(of)
    problem, calls = ours.rebuilt(crocoddyl.ShootingProblem(x0, nodes, nodes[0]), of.dyn), list[Any]()
    for model in (problem.models[0], problem.models[5]):
        for name in ("value", "slopes"):
            call = getattr(model.motion, name)
            count = lambda *a, c=call, n=name: (calls.append((n, len(a[0]))), c(*a))[1]  # noqa: E731
            monkeypatch.setitem(vars(model.motion), name, count)
    xs, us = [of.x() for _ in range(8)], [of.u()[: model.nu] for model in problem.models]
    assert np.isclose(problem.calc(xs, us), problem.calcDiff(xs, us))
    assert sorted(calls) == [("slopes", 1), ("slopes", 6), ("value", 1), ("value", 6)]
    for k, (model, data) in enumerate(zip(problem.models, problem.datas, strict=True)):
        lone = model.createData()
        model.calc(lone, xs[k], us[k])
        model.calcDiff(lone, xs[k], us[k])
        for name in ("xnext", *BLOCKS):
            assert np.allclose(getattr(data, name), getattr(lone, name), rtol=1e-9, atol=1e-9), name


@pytest.mark.parametrize("integrator", ["crocoddyl_euler", slow("rk4")])
def test_a_residual_reads_the_forces(of: Quadruped, integrator: str) -> None:
    """Its cost and derivatives are those of crocoddyl's sum of squares of the same forces."""
    on = (1, 0, 1, 1)
    contacts, costs = of.contacts(on), crocoddyl.CostModelSum(of.state, 12)
    for k, frame in enumerate(of.ids):
        if on[k]:
            rest = crocoddyl.ResidualModelContactForce(of.state, frame, pinocchio.Force.Zero(), 3, 12, True)
            costs.addCost(f"f{k}", of.cost(rest), 1e-4)
    costs.addCost("u", of.cost(crocoddyl.ResidualModelControl(of.state, 12)), 0.01)

    def residual(at: Any, u: Any, force: Any) -> Any:
        return np.concatenate([0.01 * force, 0.1 * u])

    own = ours.DifferentialActionModel(of.state, of.dyn, residual, contacts, of.actuation)
    their = of.theirs(costs, contacts)
    held(own, their, of.x(), of.u())
    step = ours.IntegratedActionModel(own, DT, integrator)
    if integrator == "rk4":
        wanted = crocoddyl.IntegratedActionModelRK(their, crocoddyl.RKType.four, DT)
        data, want, x, u = step.createData(), wanted.createData(), of.x(), of.u()
        step.calc(data, x, u)
        wanted.calc(want, x, u)
        assert np.allclose(data.xnext, want.xnext, atol=1e-9) and np.isclose(data.cost, want.cost, rtol=1e-9)
    else:
        held(step, crocoddyl.IntegratedActionModelEuler(their, DT), of.x(), of.u())
    end = step.createData()
    step.calc(end, of.x())
    assert end.cost == 0.0


def test_one_residual_serves_nodes_with_numbers_of_their_own(of: Quadruped) -> None:
    """In one call, each with its own weight and contacts."""

    def residual(at: Any, u: Any, force: Any, own: Any) -> Any:
        return np.concatenate([own[0] * force, own[1:] * u])

    def fixed(own: Any) -> Any:
        return lambda at, u, force: residual(at, u, force, own)

    own, flags = of.rng.uniform(0, 1, (3, 13)), FLAGS[:3]
    contacts = [of.contacts(on) for on in flags]
    make, x0 = ours.DifferentialActionModel, of.state.zero()
    models = [make(of.state, of.dyn, residual, c, of.actuation, own=n) for c, n in zip(contacts, own, strict=True)]
    nodes = [ours.IntegratedActionModel(model, DT) for model in models]
    problem = ours.ShootingProblem(x0, nodes, nodes[0])
    assert len(problem._groups) == 1
    xs, us = [of.x() for _ in range(4)], [of.u() for _ in range(3)]
    problem.calc(xs, us)
    problem.calcDiff(xs, us)
    last = ours.IntegratedActionModel(make(of.state, of.dyn, fixed(own[2]), contacts[2], of.actuation), DT)
    wanted = last.createData()
    last.calc(wanted, xs[2], us[2])
    last.calcDiff(wanted, xs[2], us[2])
    for name in ("cost", "xnext", *BLOCKS):
        assert np.allclose(getattr(problem.datas[2], name), getattr(wanted, name), rtol=1e-9, atol=1e-9), name
    with pytest.raises(UnsupportedError, match="own is given with a CostModelSum"):
        make(of.state, of.dyn, of.costs(flags[0]), contacts[0], of.actuation, own=[1.0])


def test_loops_of_the_robot_hold_in_every_node(of: Quadruped) -> None:
    """Without contacts of crocoddyl's, and beside them."""
    loop = condyle.Contact("lf_lowerleg", other="rf_lowerleg", gains=(9.0, 6.0))
    feet = [condyle.Contact(f"{leg}_lowerleg", placement=Placement.from_rpy(FOOT)) for leg in LEGS]
    costs = of.costs((0, 0, 0, 0))
    for contacts, held_, on in ((None, [loop], [1]), (of.contacts((0, 0, 0, 1)), [loop, *feet], [1, 0, 0, 0, 1])):
        dyn = of.robot.compile(contacts=held_, inputs=("gains",), threads=1)
        own = ours.DifferentialActionModel(of.state, of.robot.compile(contacts=held_), costs, contacts, of.actuation)
        data, x, u = own.createData(), of.x(), of.u()
        own.calc(data, x, u)
        gains = [[9.0, 6.0], *[[0.0, 50.0]] * (len(on) - 1)]
        tau = np.concatenate([np.zeros(6), u])
        a = dyn.constrained_forward_dynamics(x[:19], x[19:], tau, np.array(on, float), gains=np.array(gains)).a
        assert np.allclose(data.xout, a, atol=1e-9 * np.abs(a).max())


def test_a_residual_that_cannot_be_traced_is_said_before_a_solver_runs(of: Quadruped) -> None:
    model = ours.DifferentialActionModel(of.state, of.robot.compile(), lambda at, u: u[:5] + u, None, of.actuation)
    node = ours.IntegratedActionModel(model, DT)
    with pytest.raises(ValueError, match="broadcast"):
        ours.ShootingProblem(of.state.zero(), [node], node)


def test_joints_are_put_into_pinocchios_order() -> None:
    text = condyle.load("hyq").to_urdf().replace('="lf_', '="zz_')  # joints and links alike
    model = pinocchio.buildModelFromXML(text, pinocchio.JointModelFreeFlyer())
    with tempfile.NamedTemporaryFile("w", suffix=".urdf") as file:
        file.write(text)
        file.flush()
        robot = condyle.load(file.name, floating_base=True)
    wanted = [str(name) for name in model.names][1:]
    assert [joint.name for joint in robot.joints] != wanted
    found = ours.arranged(robot, model)
    assert [joint.name for joint in found.joints] == wanted
    q = found.random_state(1, 0).q[0]
    assert np.allclose(found.compile().mass_matrix(q), pinocchio.crba(model, model.createData(), q), atol=1e-10)
    state = crocoddyl.StateMultibody(model)
    with pytest.raises(UnsupportedError, match=r"arranged\(robot, state.pinocchio\)"):
        ours.DifferentialActionModel(state, robot.compile(), crocoddyl.CostModelSum(state))


def test_what_crocoddyl_has_and_we_do_not_is_refused_by_name(of: Quadruped) -> None:
    state, costs, make = of.state, of.costs(FLAGS[0]), ours.DifferentialActionModel
    contacts = of.contacts(FLAGS[0])
    with pytest.raises(
        UnsupportedError, match=r"'a_rf' is at frame 'rf_point', where dyn has no contact of kind 'point'"
    ):
        make(state, of.robot.compile(), costs, contacts, of.actuation)
    one = crocoddyl.ContactModelMultiple(state, 12)
    one.addContact("one", crocoddyl.ContactModel1D(state, of.ids[0], 0.0, AXES.LOCAL, np.eye(3), 12, np.zeros(2)))
    with pytest.raises(UnsupportedError, match="contact 'one' is a ContactModel1D; expected one of ContactModel3D"):
        make(state, of.dyn, costs, one, of.actuation)
    mixed = of.contacts((1, 1, 0, 0))
    mixed.addContact("z", crocoddyl.ContactModel3D(state, of.ids[2], np.zeros(3), AXES.LOCAL, 12, np.zeros(2)))
    with pytest.raises(UnsupportedError, match="some are LOCAL, some are not"):
        make(state, of.dyn, costs, mixed, of.actuation)
    with pytest.raises(
        UnsupportedError, match="actuation is a float; expected ActuationModelFull or ActuationModelFloatingBase"
    ):
        make(state, of.dyn, costs, contacts, 3.0)
    held_ = make(state, of.dyn, costs, contacts, of.actuation)
    with pytest.raises(UnsupportedError, match="integrator='rk4': with contacts and crocoddyl's costs"):
        ours.IntegratedActionModel(held_, DT, "rk4")
    with pytest.raises(UnsupportedError, match=r"costs is a function; expected crocoddyl\.CostModelSum with nu = 0"):
        ours.ImpulseActionModel(state, of.dyn, lambda at: at.q, of.impulses(FLAGS[0]))
    stepped = crocoddyl.IntegratedActionModelRK(of.theirs(costs, contacts), crocoddyl.RKType.four, DT)
    with pytest.raises(UnsupportedError, match="node 0 is an IntegratedActionModelRK of"):
        ours.rebuilt(crocoddyl.ShootingProblem(state.zero(), [stepped], stepped), of.dyn)
