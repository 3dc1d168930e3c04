"""Small MJCF files with springs and actuators of each kind."""

from __future__ import annotations

from pathlib import Path

ARM = """<body name="a"><joint name="j" axis="0 1 0" ref="20" springref="-30" stiffness="4" damping=".3"/>
<geom size=".1" pos=".1 0 0"/>
<body pos=".3 0 0"><joint name="k" type="slide" axis="1 0 1" ref=".1" springref=".3" stiffness="50"/><geom size=".1"/>
<body pos="0 0 .2"><joint name="l" axis="1 0 0" class="soft"/><geom size=".1" pos="0 .1 0"/></body></body></body>"""
TENDON = """<tendon><fixed name="t"><joint joint="j" coef="2"/><joint joint="l" coef="-.5"/></fixed></tendon>"""
DEFAULTS = """<default><default class="soft"><joint stiffness="2" springref="5"/></default>
<default class="servo"><position kp="30" kv="2" gear="3" ctrlrange="-1 1"/></default></default>"""
FILES = {
    "motors": (
        "",
        '<motor joint="j" gear="-50" ctrlrange="-1 2"/><motor name="n" jointinparent="k" forcerange="-3 4"/>',
    ),
    "servos": ("", '<position joint="j" class="servo"/><velocity joint="k" kv="7" gear="-2"/><motor tendon="t"/>'),
    "damped": ("", '<position joint="l" kp="5" dampratio="1"/><damper joint="j" kv="3" gear="2" ctrlrange="0 2"/>'),
    "tendon": ("", '<position tendon="t" kp="20" kv="1" gear="1.5" forcerange="-9 9"/><position joint="l" kp="3"/>'),
    "general": (
        "",
        """<general joint="k" gainprm="3" biastype="affine" biasprm="1 2 3" ctrlrange="-.5 .5"/>
        <general joint="j" gaintype="affine" gainprm="0 0 -2" ctrlrange="0 1" forcerange="-1 1"/>
        <general tendon="t" biasprm="9 9 9" gear="-1"/>""",
    ),
    "radians": (
        '<compiler angle="radian" autolimits="false"/>',
        '<motor joint="j" ctrllimited="true" ctrlrange="-1 1"/>',
    ),
    "unlimited": ('<compiler autolimits="false"/>', '<motor joint="l" ctrllimited="false" ctrlrange="-1 1"/>'),
    "unclamped": ('<option><flag clampctrl="disable"/></option>', '<motor joint="j" ctrlrange="-.1 .1"/>'),
    "no springs": ('<option><flag spring="disable"/></option>', ""),
    "no damping": ('<option><flag damper="disable"/></option>', '<velocity joint="j" kv="2"/>'),
}


def write(folder: Path, head: str, actuators: str, body: str = ARM, more: str = TENDON) -> Path:
    path = folder / "drives.xml"
    path.write_text(
        f"<mujoco>{head}{DEFAULTS}<worldbody>\n{body}</worldbody>\n{more}\n<actuator>\n{actuators}</actuator></mujoco>"
    )
    return path
