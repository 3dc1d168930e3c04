"""Inverse kinematics: many targets at once, one in microseconds, a hand's fingers together, a posture to be near.

`robot.inverse_kinematics` is an iteration of users' functions, repeated until each target is reached. Its docstring has
the equation; `robot.function` and `iterate` are enough to write another one.
"""

from __future__ import annotations

import time

import numpy as np

import condyle

N, FLANGE = 1000, "iiwa_link_7"
robot = condyle.load("iiwa14")
goal = robot.compile(frames=(FLANGE,)).frame_placements(robot.random_state(N, 1).q)  # poses that can be reached

# Many targets: each starts again from other postures until it is reached, within the limits of the joints.
ik = robot.inverse_kinematics((FLANGE,)).compile()
answer = ik(goal.rotation, goal.translation)  # (N, 1, 3, 3) and (N, 1, 3): of one frame
assert answer.solved.mean() > 0.995
assert (answer.q >= robot.lower).all() and (answer.q <= robot.upper).all()
began = time.perf_counter()
ik(goal.rotation, goal.translation)
each = (time.perf_counter() - began) / N
print(f"{answer.solved.sum()} of {N} targets, {answer.iterations.mean():.1f} iterations, {1e6 * each:.2f} us")

# One target, as a control loop asks: sixteen attempts side by side, and the first that arrives ends them all.
single = ik(goal.rotation[0], goal.translation[0])
began = time.perf_counter()
for k in range(100):
    single = ik(goal.rotation[k], goal.translation[k])
    assert single.solved
print(f"one by one: {1e4 * (time.perf_counter() - began):.1f} us each")

# What the flange leaves free goes to a posture: one that is reached from it moves little.
rest = np.array([0.0, 0.6, 0.0, -1.2, 0.0, 0.8, 0.0])
near = robot.inverse_kinematics((FLANGE,), rest=rest).compile()(goal.rotation, goal.translation)
assert near.solved.mean() > 0.97
print(f"from the posture: {np.abs(answer.q - rest).mean():.2f} rad, drawn to it {np.abs(near.q - rest).mean():.2f} rad")
assert np.abs(near.q - rest).mean() < np.abs(answer.q - rest).mean()

# Four fingertips at once: positions alone. A target that is too far has the least error that there is.
hand = condyle.load("allegro")
tips = [name for name in hand.frames if name.endswith("_tip")]
touch = hand.compile(frames=tips).frame_placements(hand.random_state(N, 2).q).translation
grasp = hand.inverse_kinematics(tips).compile()
both = grasp(None, np.concatenate([touch, touch + 1.0]))
print(f"{both.solved[:N].mean():.1%} of {N} grasps of {len(tips)} tips; of those a metre away {both.solved[N:].sum()}")
assert both.solved[:N].mean() > 0.99 and not both.solved[N:].any()
