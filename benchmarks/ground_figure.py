"""The picture of docs/how-to/ground.md: 4096 quadrupeds fall, land and stand, in one call.

    python -m benchmarks.ground_figure [--robots 4096]     writes docs/figures/ground.svg

Bases begin 0.65 to 0.95 m high, turned by up to 0.2 rad, with velocities up to 0.5 m/s and 0.5 rad/s; joints are held
at a stance by springs and dampers. Feet, knees and corners of the trunk touch the ground, so that who falls over lies.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import condyle
from benchmarks.figures import pyplot, save
from benchmarks.results import ROOT
from condyle.ground import Foot, Ground

Array = NDArray[np.floating]
PATH = ROOT / "docs" / "figures" / "ground.svg"
LEGS = ("lf", "lh", "rf", "rh")
SIGN = np.array([1.0, -1.0, 1.0, -1.0])
STAND = np.stack([-0.15 + 0.0 * SIGN, 0.75 * SIGN, -1.5 * SIGN], axis=1).ravel()
FEET = [Foot(f"{leg}_lowerleg", (0.35, 0.0, 0.0)) for leg in LEGS]
KNEES = [Foot(f"{leg}_lowerleg") for leg in LEGS]
TRUNK = [Foot("base_link_0", (x, y, z)) for x in (-0.45, 0.45) for y in (-0.15, 0.15) for z in (-0.1, 0.1)]
GROUND = Ground([*FEET, *KNEES, *TRUNK], stiffness=5e4, damping=0.2, friction=0.8, slip=0.3)
H, STEPS, EVERY = 5e-4, 4000, 20
SHOWN, MOMENTS = 3, (0.0, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0)
WIDE, TALL = 1.5, 1.15
UPRIGHT = 0.5
"""Metres of a base that stands, at least."""


def held(at: Any, dt: Any) -> dict[str, Any]:
    tau = np.concatenate([np.zeros(6), 600.0 * (STAND - at.q[7:]) - 40.0 * at.v[6:]])
    after = at.step(tau, dt, f_ext=GROUND.f_ext(at))
    return {"q": after.q, "v": after.v}


def fallen(robot: condyle.Robot, n: int) -> Array:
    """q (n, T, nq) at the beginning and after every 20 steps."""
    rng = np.random.default_rng(0)
    turned = rng.uniform(-1.0, 1.0, (n, robot.nv)) * np.array([0.0] * 3 + [0.2, 0.2, 0.2] + [0.2] * 12)
    q = np.tile(robot.neutral(), (n, 1))
    q[:, 2], q[:, 7:] = rng.uniform(0.65, 0.95, n), STAND
    q, v = robot.integrate(q, turned), 0.5 * rng.uniform(-1.0, 1.0, (n, robot.nv))
    f: Any = robot.function(held, {"q": "nq", "v": "nv", "dt": ()}).compile()
    return np.concatenate((q[:, None], f.rollout(q, v, H, steps=STEPS, every=EVERY).q), axis=1)


def lines(robot: condyle.Robot, q: Array) -> list[Array]:
    """The robot at q (nq,) as lines, points (k, 3) each: its trunk, and each leg."""
    names = ("base_link_0", *(f"{leg}_{part}" for leg in LEGS for part in ("hipassembly", "upperleg", "lowerleg")))
    turns, places = robot.compile("numpy", frames=names).frame_placements(q)
    trunk = places[0] + np.array([(x, 0.0, 0.0) for x in (-0.45, 0.45)]) @ turns[0].T
    legs = [places[k : k + 3] for k in range(1, 13, 3)]
    feet = [places[k] + turns[k] @ np.array([0.35, 0.0, 0.0]) for k in (3, 6, 9, 12)]
    return [trunk, *(np.vstack((leg, foot)) for leg, foot in zip(legs, feet, strict=True))]


def draw(robot: condyle.Robot, q: Array, path: Path) -> None:
    plots = pyplot()
    if plots is None:
        return
    time, heights = H * EVERY * np.arange(q.shape[1]), q[:, :, 2]
    standing = float((heights[:, -1] > UPRIGHT).mean())
    figure, (above, below) = plots.subplots(2, 1, figsize=(8.0, 6.4), layout="constrained", height_ratios=(1.0, 1.5))
    low, q1, middle, q3, high = np.percentile(heights, (1, 25, 50, 75, 99), axis=0)
    above.fill_between(time, low, high, color="#1b6ca8", alpha=0.2, linewidth=0, label="1 % to 99 %")
    above.fill_between(time, q1, q3, color="#1b6ca8", alpha=0.4, linewidth=0, label="25 % to 75 %")
    above.plot(time, middle, color="#1b6ca8", label="median")
    above.set(xlabel="s", ylabel="height of the base, m", xlim=(0.0, time[-1]))
    above.set_title(f"{len(q)} HyQ fall, land and stand: after {time[-1]:.0f} s {100 * standing:.1f} % stand")
    above.legend(frameon=False, ncols=3)
    for row in range(SHOWN):
        for column, moment in enumerate(MOMENTS):
            _side(below, robot, q[row, round(moment / (H * EVERY))], WIDE * column, -TALL * row)
    for column, moment in enumerate(MOMENTS):
        below.annotate(f"{moment:g} s", (WIDE * column, -TALL * SHOWN + 0.9), ha="center")
    below.set(aspect="equal", ylim=(-TALL * SHOWN + 0.8, 1.1))
    below.set_title(f"{SHOWN} of them from the side", fontsize=9)
    below.axis("off")
    path.parent.mkdir(parents=True, exist_ok=True)
    save(plots, figure, path)


def _side(axes: Any, robot: condyle.Robot, q: Array, x: float, z: float) -> None:
    """One robot at one moment, and the ground under it; near legs dark, far ones light."""
    centred = q.copy()
    centred[0] = 0.0
    axes.plot([x - 0.6, x + 0.6], [z, z], color="#c8553d", linewidth=1)
    trunk, *legs = lines(robot, centred)
    for line, leg in zip(legs, LEGS, strict=True):
        axes.plot(x + line[:, 0], z + line[:, 2], color="#1b6ca8" if leg[0] == "r" else "#8fb8d8", linewidth=1)
    axes.plot(x + trunk[:, 0], z + trunk[:, 2], color="#1b6ca8", linewidth=2.5)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", type=int, default=4096)
    parser.add_argument("--out", type=Path, default=PATH)
    options = parser.parse_args()
    robot = condyle.load("hyq", floating_base=True)
    draw(robot, fallen(robot, options.robots), options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
