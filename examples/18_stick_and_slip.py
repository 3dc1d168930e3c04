"""Boxes on a hard slope stick and slip; the friction of each is found from how far it came, by gradients."""

from __future__ import annotations

import numpy as np

import condyle
from condyle.ground import Plane
from condyle.model.placement import Placement

DT, STEPS = 1e-3, 400  # [s]
builder = condyle.Builder().body("box", mass=2.0, inertia=np.diag([0.02, 0.03, 0.04]))
robot = builder.joint("base", parent="world", child="box", type="free").build()
corners = [(x, y, -0.05) for x in (-0.2, 0.2) for y in (-0.1, 0.1)]
contacts = [condyle.Contact("box", placement=Placement.from_rpy(corner)) for corner in corners]

angle = np.radians(20.0)
normal = (np.sin(angle), 0.0, np.cos(angle))  # the slope goes down along x
step = Plane(normal=normal).step(robot, contacts).compile()  # q, v, tau, dt, friction -> q, v, impulse, residual
q = np.array([0.05 * normal[0], 0.0, 0.05 * normal[2], 0.0, np.sin(angle / 2), 0.0, np.cos(angle / 2)])
still = np.zeros(6)

# from rest: boxes stick where friction is above tan 20 = 0.364
friction = np.linspace(0.1, 0.6, 101)
path = step.rollout(q, still, still, DT, friction, steps=STEPS)
moves = np.linalg.norm(path.v[:, -1, :3], axis=1) > 1e-3
print(
    f"at rest 101 boxes: those with a friction below {friction[~moves].min():.3f} slide, tan 20 is {np.tan(angle):.3f}"
)
print(f"largest residual of {path.residual.size} steps: {path.residual.max():.0e} m/s")
assert np.array_equal(moves, friction < np.tan(angle)) and path.residual.max() < 1e-4

# pushed downhill: the friction of each from where it is after 0.4 s, by Newton's method through the rollout
truth = np.random.default_rng(0).uniform(0.1, 0.9, 50)
v = np.array([1.5, 0.2, 0.0, 0.0, 0.0, 0.0])
seen = step.rollout(q, v, still, DT, truth, steps=STEPS, last=True).q[:, 0]
guess = np.full(50, 0.3)
bars = np.tile(np.eye(7)[0, :6], (50, 1)), np.zeros((50, 6)), np.zeros((50, 4, 3)), np.zeros(50)
for _ in range(4):
    miss = step.rollout(q, v, still, DT, guess, steps=STEPS, last=True).q[:, 0] - seen
    along = step.vjp("rollout")(q, v, still, DT, guess, *bars, steps=STEPS, last=True).friction
    guess = np.clip(guess - miss / (np.cos(angle) * along), 0.05, 1.0)  # along: of the way along the slope
    print(f"frictions are off by {np.abs(guess - truth).max():.1e}")
assert np.abs(guess - truth).max() < 1e-8
