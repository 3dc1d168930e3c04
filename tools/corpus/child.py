"""One file in one way, in a process of its own: loaded, then compared with the other engine. Sends what it found."""

from __future__ import annotations

import os
import resource
import tempfile
import time
import warnings
from multiprocessing.connection import Connection

import mujoco
import pinocchio as pin

import condyle
from condyle import CondyleError, ModelWarning, Robot
from tools.corpus.compared import compared
from tools.corpus.find import Case, How, Record
from tools.corpus.reasons import message, reason


def main(send: Connection, case: Case, how: How) -> None:
    """Sends parts of the record; each has the stage that comes next, the last one "done"."""
    resource.setrlimit(resource.RLIMIT_AS, (how.memory, how.memory))
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # MuJoCo writes a log where it stands
        robot, part = loaded(case, how)
        send.send({**part, "stage": "other"})
        if robot is None:
            send.send({"other": other_reads(case), "stage": "done"})
        else:
            for found in compared(robot, case, how) if how.most else ():
                send.send(found)
            send.send({"stage": "done"})


def loaded(case: Case, how: How) -> tuple[Robot | None, Record]:
    """The robot with the file's own digits and every joint free, as the other engine has it; or why there is none."""
    start = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        try:
            robot = condyle.load(
                case.path,
                floating_base=case.variant == "floating",
                snap=how.snap,
                mimic="independent",
                unmodelled="ignore" if case.variant == "ignore" else "refuse",
                assets=how.assets,
            )
        except CondyleError as error:
            about = {"reason": reason(error, str(case.path)), "message": message(error, str(case.path))[:300]}
            return None, {"status": "refused", **about}
        except Exception as error:
            return None, {"status": "failed", "reason": f"{type(error).__name__}: {error}"[:300]}
    seconds = round(time.process_time() - start, 3)
    part = {"nv": robot.nv, "bodies": len(robot.bodies), "warnings": len(caught), "load_seconds": seconds}
    return robot, {"status": "loads", **part}


def other_reads(case: Case) -> str:
    """Whether Pinocchio or MuJoCo reads a file that we refuse, and what it says if not."""
    try:
        if case.format == "urdf":
            pin.buildModelFromUrdf(str(case.path), *([pin.JointModelFreeFlyer()] if case.variant == "floating" else []))
        else:
            mujoco.MjModel.from_xml_path(str(case.path))
    except Exception as error:
        return f"refuses: {' '.join(str(error).split())[:200]}"
    return "loads"
