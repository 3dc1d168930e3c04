"""Policies are kept and read, robots stand in MuJoCo, and tables say what rows hold."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from experiments.environments import stand, stand_in_mujoco, trials, walk, walk_in_mujoco
from experiments.environments.tasks import Policy, Stand, Walk, policy_file
from experiments.papers import rows


@pytest.fixture
def policy() -> Policy:
    rng = np.random.default_rng(0)
    return Policy([(rng.standard_normal((5, 4)), np.zeros(5)), (rng.standard_normal((2, 5)), np.ones(2))])


def test_a_policy_is_kept_as_float32(policy, tmp_path):
    file = policy_file(Walk(), "go2 seed 3", tmp_path / "policies")
    policy.save(file)
    assert file.name == "go2_3.npz"
    x = np.linspace(-1.0, 1.0, 4)
    assert np.allclose(Policy.read(file)(x), policy(x), atol=1e-5)  # float32


def test_a_policy_has_elu_between_its_layers(policy):
    (W, b), (U, c) = policy.layers
    x = np.linspace(-1.0, 1.0, 4)
    hidden = W @ x + b
    hidden[hidden < 0.0] = np.exp(hidden[hidden < 0.0]) - 1.0
    assert np.allclose(policy(x), U @ hidden + c)


@pytest.mark.parametrize("kind", [Walk, Stand])
def test_environments_observe_what_trials_do(kind):
    task = kind()
    environments = task.environment().compile(2, target="numpy", dtype="float64")
    observation, state = environments.reset(seed=0), environments.state()
    at = SimpleNamespace(q=state["q"][1], v=state["v"][1])
    inputs = {name: state[name][1] for name in (*task.inputs, "last_action")}
    assert np.allclose(task.observe(at, **inputs), observation[1], rtol=0.0, atol=1e-12)
    assert not task.done(at)


def test_a_go2_stands_in_mujoco_without_a_policy():
    pytest.importorskip("mujoco")
    trial = trials.Trial(Walk(), lambda observation: np.zeros(12), 0.8, command=np.zeros(3))
    trial.run(1.0, np.random.default_rng(0))
    assert trial.fell is None and len(trial.states) == 50
    assert np.abs(trial.world.v).max() < 0.2
    assert trial.world.touching() == {"FL_calf", "FR_calf", "RL_calf", "RR_calf"}  # their feet


def test_tables_say_when_robots_walk():
    point = {"samples": 1e6, "reward": 1.0, "falls": 0.02, "residual": 1e-6, "residual_p99": 1e-3}
    curve = [{**point, "seconds": 10.0, "error": 0.3}, {**point, "seconds": 20.0, "error": 0.1, "falls": 0.0}]
    row = {"curve": curve, "seconds": 20.0, "wall": 30.0, "environment": 0.08}
    for part, kind in ((walk, "go2"), (stand, "g1")):
        (table,) = part.tables({f"{kind} seed 0": row}).values()
        assert table[1][:2] == [f"{kind} seed 0", "20"]
        assert table[2][1] == "not measured"
        assert len({len(line) for line in table[:2]}) == 1
        assert all(not figure.empty() for figure in part.figures({f"{kind} seed 0": row}).values())


def test_tables_say_who_fell():
    follows = {f"{x:g}": {f"{y:g}": None if y < 0.3 else 0.01 for y in trials.COMMANDS} for x in trials.FRICTIONS}
    runs = {"trials": 100, "fell": [{"trial": 1}], "errors": {"mean": [0.01, 0.02, 0.03]}}
    row = {"follows": follows, "alone": runs, "pushed": {**runs, "fell": []}}
    straight, chance = walk_in_mujoco.tables({"go2 policy 0": row}).values()
    assert straight[1][:4] == ["go2 policy 0", "fell", "fell", "fell"] and straight[1][-1] == "+1.0"
    assert chance[1] == ["go2 policy 0", "100", "1", "0.010", "0.020", "0.030", "0"]
    (pushed,) = stand_in_mujoco.tables(
        {"g1 policy 0": {kind: {"trials": 2, "fell": []} for kind in trials.RUNS}}
    ).values()
    assert pushed[1][:3] == ["g1 policy 0", "2", "0"]


def test_rows_have_names_of_their_own():
    names = [row for _, row in rows("environments", quick=False)]
    assert len(set(names)) == len(names)
