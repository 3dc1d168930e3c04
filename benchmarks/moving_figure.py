"""The moving picture of docs/index.md: HyQ trots. The paths of its feet are told, and its joints follow from them.

python -m benchmarks.moving_figure     writes docs/figures/moving.svg

Each moment is a group of the file, and its style shows one after the other. Readers who ask their system for less
motion see the first.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

import condyle
from benchmarks.results import ROOT
from benchmarks.robot_figures import LEGS, feet
from condyle.model.array import Array
from condyle.view import poses_by, scene_of
from condyle.view.drawing import box_of, draw_robot
from condyle.view.picture import Ellipse, Item, Picture, Pixel, Sheet, Words, camera, svg
from condyle.view.scene import Scene, Shot

PATH = ROOT / "docs" / "figures" / "moving.svg"
TITLE = "HyQ, a quadruped, trots: diagonal pairs of legs take turns, and half of its weight is on each foot that stands"
MOMENTS, PERIOD = 24, 0.9  # of a loop, and how long it is shown [s]
STRIDE, LIFT, HEIGHT = 0.4, 0.1, 0.56  # on which way the base moves in a loop, a foot is lifted, the base is high [m]
STAND = np.array([(0.0, 0.75 * sign, -1.5 * sign) for sign in (1.0, -1.0, 1.0, -1.0)]).ravel()
LAYERS = ("bodies", "links", "com", "forces")
ALONG, ACROSS, LINE = 0.8, 0.45, 0.2
"""Half of the ground that is drawn along x and y, and between its lines [m]: `STRIDE` is a multiple of that."""


def trot() -> tuple[Array, Array]:
    """q (T, nq), in axes that move with the base, and forces on the feet (T, 4, 3) [N]."""
    robot, legs = condyle.load("hyq", floating_base=True), condyle.load("hyq")
    frames = tuple(f"{leg}_foot" for leg in LEGS)
    phase = (np.arange(MOMENTS) / MOMENTS)[:, None] + np.array([0.0, 0.5, 0.5, 0.0])
    phase = phase % 1.0
    stands, swing = phase < 0.5, 2.0 * phase - 1.0
    path = legs.compile(frames=frames).frame_placements(STAND).translation + np.zeros((MOMENTS, 1, 1))
    smooth = swing**2 * (3.0 - 2.0 * swing)
    path[..., 0] += STRIDE * np.where(stands, 0.25 - phase, smooth * 0.5 - 0.25)
    path[..., 2] = -HEIGHT + np.where(stands, 0.0, LIFT * np.sin(np.pi * swing) ** 2)
    path[..., 2] -= 0.008 * np.cos(4.0 * np.pi * phase[:, :1])  # the base sways a little: up where the pairs change
    answer = legs.inverse_kinematics(frames, rest=STAND).compile()(None, path)
    if not answer.solved.all():
        raise ValueError("a foot does not reach its path: make STRIDE or LIFT smaller")
    q = np.repeat(robot.neutral()[None], MOMENTS, axis=0)
    q[:, 7:], q[:, 2] = answer.q, HEIGHT + 0.008 * np.cos(4.0 * np.pi * phase[:, 0])
    forces = np.where(stands[..., None], -0.5 * robot.mass * robot.gravity, 0.0)
    return q, forces


def scene(q: Array, forces: Array) -> Scene:
    robot = condyle.load("hyq", floating_base=True)
    poses = poses_by(robot, lambda robot, frames: robot.compile("numpy", frames=frames))
    return scene_of(robot, poses, trajectory=q, frames=(), contacts=feet(), contact_forces=forces)


def lines(sheet: Sheet) -> list[str]:
    """The items of a sheet as text, without the words that a pointer shows."""
    plain: list[Item] = [item if isinstance(item, Words) else replace(item, title="") for item in sheet.items]
    sheet.items.clear()
    return svg(Picture("", 1.0, 1.0, tuple(plain))).splitlines()[4:-1]


def ends(item: Item) -> list[Pixel]:
    """Corners of the box around an item."""
    if not isinstance(item, Ellipse):
        return [item.pixel] if isinstance(item, Words) else list(item.points)
    turn = np.radians(item.angle) + np.array([0.0, 0.5 * np.pi])
    wide, high = np.hypot(*(item.radii * np.cos(turn))), np.hypot(*(item.radii * np.sin(turn)))
    return [(item.centre[0] + sign * wide, item.centre[1] + sign * high) for sign in (-1.0, 1.0)]


def drawn(moving: Scene) -> str:
    """The file's text."""
    eye = camera("iso")
    corners = [
        np.array((x, y, 0.0)) for x, y in ((-ALONG, -ACROSS), (ALONG, -ACROSS), (ALONG, ACROSS), (-ALONG, ACROSS))
    ]
    sheet = Sheet.around(eye, eye.flat(np.concatenate([box_of(moving), corners])))
    for y in np.arange(-ACROSS, ACROSS + 1e-9, 2.0 * ACROSS / 4.0):
        sheet.line([np.array((-ALONG, y, 0.0)), np.array((ALONG, y, 0.0))], "grid")
    still = lines(sheet)
    for x in np.arange(-ALONG, ALONG + STRIDE + 1e-9, LINE):
        sheet.line([np.array((x, -ACROSS, 0.0)), np.array((x, ACROSS, 0.0))], "grid")
    ground = lines(sheet)
    moments, seen = list[str](), [sheet.pixel(point) for point in corners]
    for k in range(MOMENTS):
        draw_robot(sheet, moving, Shot(k, 0, 1.0), LAYERS)
        seen += [end for item in sheet.items for end in ends(item)]
        moments += [
            f'<g class="moment" style="animation-delay:{PERIOD * (k / MOMENTS - 1.0):.4g}s">',
            *lines(sheet),
            "</g>",
        ]
    x, y = np.subtract(sheet.pixel(np.zeros(3)), sheet.pixel(np.array((STRIDE, 0.0, 0.0)))).tolist()
    (left, top), (right, low) = np.min(seen, axis=0) - 12.0, np.max(seen, axis=0) + 12.0
    wide, high = right - left, low - top
    patch = " ".join(f"{px:.1f},{py:.1f}" for px, py in seen[:4])
    style = re.findall(r"<style>(.*)</style>", svg(Picture("", 1.0, 1.0, ())))[0]
    style += (
        f".moment{{visibility:hidden;animation:moment {PERIOD:g}s steps(1,end) infinite}}"
        f"@keyframes moment{{0%{{visibility:visible}}{100.0 / MOMENTS:.5g}%{{visibility:hidden}}}}"
        f".moves{{animation:moves {PERIOD:g}s steps({MOMENTS},end) infinite}}"
        f"@keyframes moves{{to{{transform:translate({x:.1f}px,{y:.1f}px)}}}}"
        "@media(prefers-reduced-motion:reduce){.moment,.moves{animation:none}.moment:first-of-type{visibility:visible}}"
    )
    size = f'viewBox="{left:.0f} {top:.0f} {wide:.0f} {high:.0f}" width="{wide:.0f}" height="{high:.0f}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{TITLE}">',
            f"<title>{TITLE}</title>",
            f"<style>{style}</style>",
            f'<clipPath id="patch"><polygon points="{patch}"/></clipPath>',
            f'<rect class="paper" x="{left:.0f}" y="{top:.0f}" width="{wide:.0f}" height="{high:.0f}" rx="6"/>',
            *still,
            '<g clip-path="url(#patch)"><g class="moves">',
            *ground,
            "</g></g>",
            "<g>",
            *moments,
            "</g>",
            "</svg>\n",
        ]
    )


def main() -> None:
    PATH.write_text(drawn(scene(*trot())))


if __name__ == "__main__":
    main()
