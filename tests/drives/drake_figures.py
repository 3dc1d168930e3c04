"""Writes drake.json, what Drake says of geared.urdf: `python tests/drives/drake_figures.py`, with the package drake."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant

HERE = Path(__file__).parent
STEP = 0.005


def plant_of(step: float) -> MultibodyPlant:
    plant = MultibodyPlant(step)
    if step:
        plant.SetUseSampledOutputPorts(False)  # so that the step is a function of the state
    Parser(plant).AddModels(str(HERE / "geared.urdf"))
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"))
    plant.Finalize()
    return plant


def figures() -> dict[str, object]:
    still, stepped = plant_of(0.0), plant_of(STEP)
    rng = np.random.default_rng(0)
    states = []
    for _ in range(6):
        q, v = rng.uniform([-2, -1.5, 0.1, -3], [2, 1.5, 0.2, 3]), rng.uniform(-1.0, 1.0, 4)
        u = 1.5 * rng.uniform(-1.0, 1.0, 4) * (60.0, 80.0, 200.0, 5.0)  # up to 1.5 times the limits of effort
        row = {"q": q, "v": v, "u": u}
        context = still.CreateDefaultContext()
        still.SetPositions(context, q)
        still.SetVelocities(context, v)
        still.get_actuation_input_port().FixValue(context, u)
        row["M"] = still.CalcMassMatrix(context)
        row["a"] = still.EvalTimeDerivatives(context).get_generalized_velocity().CopyToVector()
        context = stepped.CreateDefaultContext()
        stepped.SetPositions(context, q)
        stepped.SetVelocities(context, v)
        stepped.get_actuation_input_port().FixValue(context, u)
        after = np.asarray(stepped.EvalUniquePeriodicDiscreteUpdate(context).value())
        row["q_next"], row["v_next"] = after[:4], after[4:]
        states.append({name: np.asarray(x).tolist() for name, x in row.items()})
    names = [still.GetJointByName(name).velocity_start() for name in ("turn", "lift", "reach", "roll")]
    assert names == [0, 1, 2, 3]
    return {"drake": version("drake"), "step": STEP, "states": states}


if __name__ == "__main__":
    (HERE / "drake.json").write_text(json.dumps(figures()) + "\n", encoding="utf-8")
