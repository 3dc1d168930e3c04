"""Feedback: a of a dfd for its derivatives, the state of an integration step for its next stage.

As many tasks of either kind are admitted as the queues of the loop have entries: no loop can block itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from condyle.fpga.rtl import steps
from condyle.fpga.rtl.adders import literal
from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.emit_wires import Wires
from condyle.fpga.rtl.expressions import cases, joined, packed, zeros
from condyle.fpga.rtl.stream import CODE, OVER, TAG, Bus, laid, width
from condyle.fpga.rtl.tasks import SOLVED, STAGE

STAGE_NUMBER = Word("stage", 0)


class Loop(NamedTuple):
    """What a loop asks of the start of tasks, as Verilog; empty where tasks are only counted.

    room: what must be there before a new task starts. now: a task that was fed back is next, with this id and these
    words. pop: it starts; then these torques, tau, are kept again.
    """

    room: tuple[str, ...]
    now: str = ""
    id: str = ""
    words: str = ""
    pop: str = ""
    tau: str = ""


def second_pass(w: Wires) -> Loop:
    """The second pass of dfd: a and the state of the task."""
    e, depth, back = w.e, w.acc.depths["back"], w.buses["back"]
    w.credits("loop", depth, "take & is_dfd", "kept_pop")
    base = [(Word("a", word.index), w.plan.formats[word]) for word in w.base]
    state = Bus("state_q", [*w.takes("q", "v", "f_ext"), *base])
    kept = joined(w.entry.part("f_ext"), w.entry.part("q", "v"))
    w.queue(state, depth, "take & is_dfd", joined("given_a", kept) if base else kept)
    e("wire again = back_full;", "assign back_pop = again & trig_take, state_pop = back_pop;")
    over, parts = list[str](), list[str]()
    for (word, was), (_, now) in zip(w.group(SOLVED), w.takes("a"), strict=True):
        n, sizes = word.index, f"{was.width}, {was.frac - now.frac}, {now.width}"
        e(f"wire [{now.width - 1}:0] again_a{n};", f"wire again_over{n};")
        e(f"fx_fit #({sizes}) again_fit{n} (.p({back[word]}), .y(again_a{n}), .over(again_over{n}));")
        over.append(f"again_over{n}")
        # one of the two is zero
        parts.append(f"again_a{n} | {state[word]}" if word in state.field_of else f"again_a{n}")
    e(f"wire [{w.tau.width - 1}:0] back_a = {{{', '.join(reversed(parts))}}};")
    was_id, bits = Bus("was_id", w.head), w.id.code_bits
    e(f"wire [{w.id.width - 1}:0] was_id = {back.id};")
    *rest, (_, last) = [task.codes for task in w.twice]
    code = "".join(f"{was_id[CODE]} == {first} ? {bits}'d{second} : " for first, second in rest)
    e(f"wire [{bits - 1}:0] back_code = {code}{bits}'d{last};")
    over_any = " | ".join([was_id[OVER], *(over if w.plan.flags else ())])
    e(f"wire [{w.id.width - 1}:0] back_id = {joined(over_any, 'back_code', was_id[TAG])};")
    words = joined(state.part("f_ext"), "back_a", state.part("q", "v"))
    return Loop(("(~is_dfd | loop_room)",), "again", "back_id", words)


def rounds(w: Wires) -> Loop:
    """Integration steps: the queue `course` has the words of sub-tasks, the queue `round` the state of a stage."""
    e, depth, plan = w.e, w.acc.depths["course"], w.plan
    loop = Loop(("(~is_step | steps_room)",))
    w.credits("steps", depth, "take & is_step", "step_out_valid")
    words = dict(w.entry)
    fresh = {word: format for word, format in plan.course.items() if word.name in steps.FRESH}
    words |= {to: words.get(Word(steps.FRESH[to.name], to.index), zeros(format.width)) for to, format in fresh.items()}
    first = [f"entry_code == {task.codes[0]} ? {task.stages[0]}" for task in w.tasks if task.stages]
    enters, data = "take & is_step", _course(w, words, w.entry.name, " : ".join([*first, "0"]))
    if plan.has_rounds:
        (code,) = (task.codes[0] for task in w.tasks if task.has_rounds)
        left = w.buses["round"]
        e(f"wire round_now = round_full & tau_free{' & ~again' if w.twice else ''};")
        e("assign round_pop = round_now & trig_take;")
        e(f"wire [{w.id.width - 1}:0] round_id = {{{left[OVER]}, {w.id.code_bits}'d{code}, ")
        e(f"    {left[TAG]}}};")
        words = dict(left)
        words |= {to: words[Word(steps.AGAIN[to.name], to.index)] for to in plan.course if to.name in steps.AGAIN}
        enters += " | round_pop"
        data = f"round_pop ? {_course(w, words, left.name, f'{words[STAGE_NUMBER]} + 1')} : {data}"
        # The state of the next stage as a task: q, v, a = 0, f_ext; the torques in the width of a task's.
        state = [left[Word(f"n{word.name}", word.index)] for word, _ in w.takes("q", "v")]
        task = packed([*state, zeros(w.tau.width), *(left[word] for word, _ in w.takes("f_ext"))])
        rest = w.tau.width - width(laid(w.takes("tau")))
        torques = packed([*(left[word] for word, _ in w.takes("tau")), *[zeros(rest)] * (rest > 0)])
        loop = Loop((*loop.room, "~round_full"), "round_now", "round_id", task, "round_pop", torques)
    w.queue(w.course, depth, enters, data)
    return loop


def step(w: Wires) -> None:
    """Schedule module: fd's answer and the step's sums become the next sub-task, or the result."""
    e, solved, words = w.e, w.buses["solved"], dict(w.course)
    e("", "// schedule module: integration steps")
    stage, kind = words[STAGE_NUMBER], solved[CODE]
    if w.plan.has_rounds:
        (follows,) = w.plan.through(STAGE)
        e(f"wire step_last = {' | '.join(f'{stage} == {s}' for s in steps.LAST)};")
        kind = f"step_last ? {kind} : {w.id.code_bits}'d{follows}"
    for name, (values, format) in w.plan.weights.items():
        weight = Bus(f"step_{name}", [(Word(name, 0), format)])
        e(f"reg signed [{format.width - 1}:0] {weight.name};")
        *rest, final = [literal(value, format.width) for value in values]
        cases(e, weight.name, stage, enumerate(rest), final)
        words |= weight
    id_ = joined(solved[OVER], kind, solved[TAG])
    w.array("step", "solved_full", id_, words | solved.renamed("k"))
    e("assign solved_pop = step_take, course_pop = step_take;")


def _course(w: Wires, words: Mapping[Word, str], source: str, stage: str) -> str:
    """Its words, and the number of its stage."""
    (_, format), *rest = w.plan.course.items()
    w.e(f"wire [{format.width - 1}:0] stage_{source} = {stage};")
    return packed([f"stage_{source}", *(words[word] for word, _ in rest)])
