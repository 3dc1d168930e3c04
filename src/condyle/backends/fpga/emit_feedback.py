"""Feedback: a of a dfd for its derivatives, the state of an integration step for its next stage.

As many tasks of either kind are admitted as the queues of the loop have entries: no loop can block itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from condyle.backends.fpga import steps
from condyle.backends.fpga.adders import literal
from condyle.backends.fpga.datapath import Word
from condyle.backends.fpga.emit_wires import Wires
from condyle.backends.fpga.expressions import cases, joined, packed, zeros
from condyle.backends.fpga.stream import CODE, OVER, TAG, Bus, laid, width
from condyle.backends.fpga.tasks import SOLVED, STAGE

STAGE_NUMBER = Word("stage", 0)


class Feedback(Wires):
    """Writes the feedback module."""

    def second_pass(self) -> str:
        """The second pass of dfd: a and the state of the task. Returns the words of that pass."""
        e, depth, back = self.e, self.acc.depths["back"], self.buses["back"]
        self.room.append("(~is_dfd | loop_room)")
        self.credits("loop", depth, "take & is_dfd", "kept_pop")
        own = [(Word("a", word.index), self.plan.formats[word]) for word in self.base]
        state = Bus("state_q", [*self.takes("q", "v", "f_ext"), *own])
        kept = joined(self.entry.part("f_ext"), self.entry.part("q", "v"))
        self.queue(state, depth, "take & is_dfd", joined("given_a", kept) if own else kept)
        e("wire again = back_full;", "assign back_pop = again & trig_take, state_pop = back_pop;")
        over, parts = list[str](), list[str]()
        for (word, was), (_, now) in zip(self.group(SOLVED), self.takes("a"), strict=True):
            n, sizes = word.index, f"{was.width}, {was.frac - now.frac}, {now.width}"
            e(f"wire [{now.width - 1}:0] again_a{n};", f"wire again_over{n};")
            e(f"fx_fit #({sizes}) again_fit{n} (.p({back[word]}), .y(again_a{n}), .over(again_over{n}));")
            over.append(f"again_over{n}")
            parts.append(f"again_a{n} | {state[word]}" if word in state.at else f"again_a{n}")  # one of the two is zero
        e(f"wire [{self.tau.width - 1}:0] back_a = {{{', '.join(reversed(parts))}}};")
        was_id = Bus("was_id", self.head)
        e(f"wire [{self.id.width - 1}:0] was_id = {back.id};")
        *rest, (_, last) = [task.codes for task in self.twice]
        bits = self.id.code_bits
        code = "".join(f"{was_id[CODE]} == {first} ? {bits}'d{second} : " for first, second in rest)
        e(f"wire [{bits - 1}:0] back_code = {code}{bits}'d{last};")
        over_any = " | ".join([was_id[OVER], *(over if self.plan.flags else ())])
        e(f"wire [{self.id.width - 1}:0] back_id = {joined(over_any, 'back_code', was_id[TAG])};")
        return joined(state.part("f_ext"), "back_a", state.part("q", "v"))

    def rounds(self) -> None:
        """Integration steps: the queue `course` has the words of sub-tasks, the queue `round` the state of a stage."""
        e, depth = self.e, self.acc.depths["course"]
        self.room.append("(~is_step | steps_room)")
        self.credits("steps", depth, "take & is_step", "step_out_valid")
        own = dict(self.entry)
        fresh = {word: format for word, format in self.plan.course.items() if word.name in steps.FRESH}
        own |= {w: own.get(Word(steps.FRESH[w.name], w.index), zeros(format.width)) for w, format in fresh.items()}
        first = [f"entry_code == {task.codes[0]} ? {task.stages[0]}" for task in self.tasks if task.stages]
        enters, data = "take & is_step", self._course(own, self.entry.name, " : ".join([*first, "0"]))
        if self.plan.has_rounds:
            (code,) = (task.codes[0] for task in self.tasks if task.has_rounds)
            left = self.buses["round"]
            e(f"wire round_now = round_full & tau_free{' & ~again' if self.twice else ''};")
            e("assign round_pop = round_now & trig_take;")
            e(f"wire [{self.id.width - 1}:0] round_id = {{{left[OVER]}, {self.id.code_bits}'d{code}, ")
            e(f"    {left[TAG]}}};")
            own = dict(left)
            own |= {w: own[Word(steps.AGAIN[w.name], w.index)] for w in self.plan.course if w.name in steps.AGAIN}
            enters += " | round_pop"
            data = f"round_pop ? {self._course(own, left.name, f'{own[STAGE_NUMBER]} + 1')} : {data}"
        self.queue(self.course, depth, enters, data)

    def round_task(self) -> str:
        """The state of the next stage in the format of a task: q, v, a = 0, f_ext."""
        left = self.buses["round"]
        state = [left[Word(f"n{word.name}", word.index)] for word, _ in self.takes("q", "v")]
        return packed([*state, zeros(self.tau.width), *(left[word] for word, _ in self.takes("f_ext"))])

    def round_tau(self) -> str:
        """The torques of a step for its next stage, in the width of the task's torques."""
        rest = self.tau.width - width(laid(self.takes("tau")))
        return packed([*(self.buses["round"][word] for word, _ in self.takes("tau")), *[zeros(rest)] * (rest > 0)])

    def step(self) -> None:
        """Schedule module: fd's answer and the step's sums become the next sub-task, or the result."""
        e, solved, words = self.e, self.buses["solved"], dict(self.course)
        e("", "// schedule module: integration steps")
        stage, kind = words[STAGE_NUMBER], solved[CODE]
        if self.plan.has_rounds:
            (follows,) = self.plan.through(STAGE)
            e(f"wire step_last = {' | '.join(f'{stage} == {s}' for s in steps.LAST)};")
            kind = f"step_last ? {kind} : {self.id.code_bits}'d{follows}"
        for name, (values, format) in self.plan.weights.items():
            weight = Bus(f"step_{name}", [(Word(name, 0), format)])
            e(f"reg signed [{format.width - 1}:0] {weight.name};")
            *rest, final = [literal(value, format.width) for value in values]
            cases(e, weight.name, stage, enumerate(rest), final)
            words |= weight
        id_ = joined(solved[OVER], kind, solved[TAG])
        self.array("step", "solved_full", id_, words | solved.renamed("k"))
        e("assign solved_pop = step_take, course_pop = step_take;")

    def _course(self, words: Mapping[Word, str], source: str, stage: str) -> str:
        """Its words, and the number of its stage."""
        (_, format), *rest = self.plan.course.items()
        self.e(f"wire [{format.width - 1}:0] stage_{source} = {stage};")
        return packed([f"stage_{source}", *(words[word] for word, _ in rest)])
