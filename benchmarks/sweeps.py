"""`contact_solve` by a fixed number of sweeps: what is left after them, and the time of a control step.

    python -m benchmarks.sweeps [joints]

Writes results/sweeps.json. Unitree go2 of the example-robot-data wheel, four substeps of 5 ms a control step, servos of
25 N m/rad and 0.6 N m s/rad as torques, a plane. Residuals: 512 robots in float64 for 120 control steps, of which the
last 95 count, under a random policy that throws them about; each substep begins at the impulses before, or at none.
Times: N = 256, one thread, nanoseconds a control step of one robot, 12 sweeps.

joints: residuals with rows of joints instead, of the tasks of `benchmarks.environment_tasks` with a dry friction of
0.2 N m (go2) and 0.3 N m (g1): 256 robots in float64 for 240 steps of 5 ms, of which the last 200 count, random targets
every fourth one; about their posture, and about one beyond stops, of calves or of knees and elbows. Rows of joints
begin at their impulses before, or at none.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

import condyle
from benchmarks import environment_tasks as tasks
from benchmarks import results
from benchmarks.bench import BATCH, pinned
from benchmarks.robots import Case
from benchmarks.run import FULL
from condyle.cli.bound import Call, Sampling, interleaved
from condyle.ground import Plane
from condyle.model.placement import Placement

GO2 = Case("go2-floating", "go2_description/urdf/go2.urdf", floating=True)
SWEEPS, POINTS = (2, 4, 6, 8, 12, 25), (4, 8, 12, 24)
LEGS, RADIUS, DT, SUBSTEPS = ("FL", "FR", "RL", "RR"), 0.022, 5e-3, 4
POSE = np.array([0.1, 0.8, -1.5, -0.1, 0.8, -1.5, 0.1, 1.0, -1.5, -0.1, 1.0, -1.5])
EFFORT = np.array([23.7, 23.7, 45.4] * 4)
ROBOTS, STEPS, FIRST = 512, 120, 25
Array = np.ndarray


def points(n: int) -> list[condyle.Contact]:
    """Feet, then knees, corners of the trunk, and three on each thigh and hip."""
    points = [(f"{leg}_foot", (0.0, 0.0, 0.0)) for leg in LEGS]
    points += [(f"{leg}_calf", (0.0, 0.0, -0.02)) for leg in LEGS]
    points += [("base", (0.19 * x, 0.09 * y, -0.05)) for x in (1, -1) for y in (1, -1)]
    rest = (("thigh", (0.02, 0.0, -0.05)), ("thigh", (-0.02, 0.0, -0.15)), ("hip", (0.0, 0.0, 0.03)))
    points += [(f"{leg}_{link}", point) for leg in LEGS for link, point in rest]
    return [condyle.Contact(frame, placement=Placement.from_rpy(point)) for frame, point in points[:n]]


def control_step(robot: condyle.Robot, n: int, sweeps: int | None, warm: bool = True) -> Any:
    """q, v, action, impulse, friction -> those after a control step; n = 0: without ground."""
    plane = Plane(offset=RADIUS)

    def go2(at: Any, action: Any, impulse: Any, friction: Any) -> dict[str, Any]:
        q, v, residual = at.q, at.v, friction
        for _ in range(SUBSTEPS):
            pull = np.clip(25.0 * (POSE + 0.25 * action - q[7:]) - 0.6 * v[6:], -EFFORT, EFFORT)
            tau, here = np.concatenate([np.zeros(6), pull]), at.moved_to(q, v)
            if n:
                begin = {"impulse0": impulse} if warm else {}
                v, impulse, residual = plane.contact_solve(here, tau, DT, friction, **begin)
            else:
                v = v + DT * here.forward_dynamics(tau)
            q = here.stepped(v, DT).q
        return {"q": q, "v": v, "impulse": impulse, "residual": residual}

    sizes: dict[str, Any] = {"q": "nq", "v": "nv", "action": 12, "impulse": (max(n, 1), 3), "friction": ()}
    return robot.function(go2, sizes, contacts=points(n), sweeps=sweeps if n else None)


def start(robot: condyle.Robot, n: int, count: int) -> list[Array]:
    rng = np.random.default_rng(0)
    q = np.tile(robot.neutral(), (count, 1))
    q[:, 2], q[:, 7:] = 0.34, POSE + 0.1 * rng.normal(size=(count, 12))
    v, friction = 0.1 * rng.normal(size=(count, robot.nv)), rng.uniform(0.4, 1.0, count)
    return [q, v, 0.3 * rng.normal(size=(count, 12)), np.zeros((count, max(n, 1), 3)), friction]


def residuals(robot: condyle.Robot, sweeps: int, warm: bool) -> dict[str, float]:
    """Of the last substep of each control step."""
    step, rng = control_step(robot, 4, sweeps, warm).compile(), np.random.default_rng(1)
    q, v, action, impulse, friction = start(robot, 4, ROBOTS)
    left = list[Array]()
    for _ in range(STEPS):
        action = 0.8 * action + 0.6 * rng.normal(size=action.shape)
        q, v, impulse, residual = step(q, v, action, impulse, friction)
        left.append(residual)
    late = np.array(left[FIRST:])
    return {"median": float(np.median(late)), "p99": float(np.quantile(late, 0.99)), "max": float(late.max())}


def times(robot: condyle.Robot, dtype: str) -> dict[str, dict[str, float]]:
    """ns by the number of contacts, and over that of 4."""

    def call_of(n: int, sweeps: int | None) -> Call:
        step = control_step(robot, n, sweeps).compile(dtype=dtype, threads=1)
        arguments = [np.asarray(x, dtype) for x in start(robot, n, BATCH)]
        for _ in range(30):  # until they stand
            q, v, impulse, _ = step(*arguments)
            arguments = [q, v, arguments[2], impulse, arguments[4]]
        out = tuple(np.empty_like(x) for x in step(*arguments))
        return lambda: step(*arguments, out=out)

    calls = {f"{n} contacts": call_of(n, 12) for n in (0, *POINTS)} | {"4 contacts, solved": call_of(4, None)}
    calls |= {f"4 contacts, {n} sweeps": call_of(4, n) for n in (6, 8)}
    ns = interleaved(calls, Sampling("cpu", 3 * FULL.samples, FULL.sample_s, FULL.longest_s))
    four = ns["4 contacts"].minimum
    return {name: {"ns": one.minimum / BATCH, "ratio": one.minimum / four} for name, one in ns.items()}


def of_joints(name: str, stops: bool) -> dict[str, Any]:
    """Residuals by the number of sweeps, from the impulses of joints before and from none."""
    walk = {"go2": tasks.go2, "g1": tasks.g1}[name]()
    names, friction = walk.robot.joint_names[1:], 0.2 if name == "go2" else 0.3
    robot = walk.robot.with_drives(dict.fromkeys(names, condyle.Drive(friction=friction)))
    low, high, posture, n = robot.lower[7:], robot.upper[7:], walk.posture.copy(), len(names)
    if stops:
        for k, joint in enumerate(names):
            beyond = {"calf": high[k] + 0.25, "thigh": 0.6, "knee": low[k] - 0.3, "elbow": high[k] + 0.3}
            beyond |= dict.fromkeys(("hip_pitch", "ankle_pitch"), 0.0)
            posture[k] = next((x for word, x in beyond.items() if word in joint), posture[k])
    begin, height = np.clip(posture, low + 0.06, high - 0.06), 0.36 if stops and name == "go2" else walk.height
    base = np.array([0.0, 0.0, height, 0.0, 0.0, 0.0, 1.0])
    env = condyle.Environment(
        robot, lambda at: at.q[7:], lambda at: at.v[0], walk.done, control=lambda at, action: posture + 0.25 * action,
        actions=n, contacts=walk.contacts, ground=tasks.ground(walk), draws=n, randomise={"friction": (0.4, 1.0)},
        reset=lambda draws: {"q": np.concatenate([base, begin + 0.1 * (draws - 0.5)])}, substeps=1, actuators=True,
        joint_forces=("friction", "limits"), joint_rows=True,
    )  # fmt: skip
    rows = dict[str, Any]()
    for sweeps in (4, 6, 8, 12, 25):
        for warm in (True, False):
            envs, rng, left, at_stop = env.compile(256, "float64", sweeps=sweeps), np.random.default_rng(0), [], []
            envs.reset(seed=0)
            for k in range(240):
                if k % 4 == 0:
                    action = rng.normal(0.0, 0.5, (256, n))
                envs.set(**({} if warm else {"joint_impulse": np.zeros(robot.nv)}))
                q, *_, info = envs.step(action)
                left.append(info["residual"])
                at_stop.append(((q > high - 1e-5) | (q < low + 1e-5)).sum(axis=1).mean())
            late = np.array(left[40:])
            row = {"median": np.median(late), "p99": np.quantile(late, 0.99), "joints at stops": np.mean(at_stop[40:])}
            rows[f"{sweeps}, {'warm' if warm else 'cold'}"] = {key: float(x) for key, x in row.items()}
    return rows


def main(words: Sequence[str] = ()) -> None:
    if "joints" in words:
        for name in ("go2", "g1"):
            cases = {"posture": of_joints(name, False), "stops": of_joints(name, True)}
            path = results.merge("sweeps", f"{name}, rows of joints", cases, results.FOLDER / "sweeps.json")
        print(path.read_text())
        return
    robot = GO2.load()
    with pinned():
        rows: dict[str, Any] = {dtype: times(robot, dtype) for dtype in ("float32", "float64")}
        for warm in (True, False):
            name = "residual, warm" if warm else "residual, cold"
            rows[name] = {str(n): residuals(robot, n, warm) for n in SWEEPS}
    path = results.merge("sweeps", GO2.name, rows, results.FOLDER / "sweeps.json")
    print(path.read_text())


if __name__ == "__main__":
    main(sys.argv[1:])
