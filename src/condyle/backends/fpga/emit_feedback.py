"""What comes in again: a of a dfd for its derivatives, the state of an integration step for its next stage.

As many tasks of either kind are admitted as the queues of the loop have places: no loop can block itself.
"""

from __future__ import annotations

from condyle.backends.fpga import steps
from condyle.backends.fpga.accelerator import TAG_BITS
from condyle.backends.fpga.adders import literal
from condyle.backends.fpga.datapath import Word
from condyle.backends.fpga.emit_array import widths
from condyle.backends.fpga.emit_wires import Places, Wires, laid, sliced
from condyle.backends.fpga.tasks import SOLVED, STAGE
from condyle.text import wrapped


class Feedback(Wires):
    """Writes the feedback module."""

    def second_pass(self, room: list[str]) -> None:
        """Of dfd: a enters with the task's state."""
        e, depth, low = self.e, self.acc.depths["back"], self.nq + self.nv
        solve = self.acc.arrays["solve"]
        e(f"wire is_dfd = {self.sent(task.is_fed_back for task in self.tasks)};")
        self.credits("loop", depth, "take & is_dfd", "kept_pop")
        state = f"entry_q[{low - 1}:0]"
        if self.nf:
            state = f"{{entry_q[{low + self.nu + self.nf - 1}:{low + self.nu}], {state}}}"
        if self.nb:
            state = f"{{given_a, {state}}}"
        self.queue("state", low + self.nf + self.nb, depth, "take & is_dfd", state)
        wide = self.id.width + widths(solve, "out")
        e("wire again = back_full;", "assign back_pop = again & trig_take, state_pop = back_pop;")
        wide = self.id.width + widths(solve, "out")
        over: list[str] = []
        parts: list[str] = []
        places = self.found("back_q", SOLVED)
        for word in self.plan.takes("a"):
            was, now = solve.datapath.formats("out")[word], self.plan.formats[word]
            n = word.index
            e(f"wire [{now.width - 1}:0] again_a{n};", f"wire again_over{n};")
            e(
                f"fx_fit #({was.width}, {was.frac - now.frac}, {now.width}) again_fit{n} "
                f"(.p({sliced(places[word], was.width)}), .y(again_a{n}), .over(again_over{n}));"
            )
            over.append(f"again_over{n}")
            kept = self._slice({word: ("state_q", low + self.nf + n * now.width)}, word)
            parts.append(f"again_a{n} | {kept}" if n < self.plan.base else f"again_a{n}")  # one of the two is zero
        e(f"wire [{self.nu - 1}:0] back_a = {{{', '.join(reversed(parts))}}};")
        e(f"wire [{self.id.width - 1}:0] was_id = back_q[{wide - 1}:{wide - self.id.width}];")
        *rest, (_, last) = [task.codes for task in self.twice]
        bits, at = self.id.code_bits, self.id.code
        was = "".join(f"was_id[{at}] == {first} ? {bits}'d{second} : " for first, second in rest)
        e(f"wire [{bits - 1}:0] back_code = {was}{bits}'d{last};")
        over_any = " | ".join([f"was_id[{self.id.width - 1}]", *(over if self.plan.flags else ())])
        e(f"wire [{self.id.width - 1}:0] back_id = {{{over_any}, back_code, was_id[{TAG_BITS - 1}:0]}};")
        room.append("(~is_dfd | loop_room)")

    def rounds(self, room: list[str]) -> None:
        """Of integration steps: what goes with a sub-task waits in `course`; what a stage left waits in `round`."""
        e, depth = self.e, self.acc.depths["course"]
        e(f"wire is_step = {self.sent(bool(task.stages) for task in self.tasks)};")
        self.credits("steps", depth, "take & is_step", "step_out_valid")
        room.append("(~is_step | steps_room)")
        fresh = self.fields("entry_q", "q", "v", "tau", "f_ext")
        sums = [word for word in self.plan.course if word.name in steps.FRESH]
        fresh |= {word: fresh.get(Word(steps.FRESH[word.name], word.index), ("", 0)) for word in sums}
        enters, data = "take & is_step", self._joined(fresh, self._first())
        if self.plan.has_rounds:
            (code,) = (task.codes[0] for task in self.tasks if task.has_rounds)
            width = self.id.width + widths(self.acc.arrays["step"], "again")
            e(f"wire round_now = round_full & tau_free{' & ~again' if self.twice else ''};")
            e("assign round_pop = round_now & trig_take;")
            e(f"wire [{self.id.width - 1}:0] round_id = {{round_q[{width - 1}], {self.id.code_bits}'d{code}, ")
            e(f"    round_q[{width - self.id.width + TAG_BITS - 1}:{width - self.id.width}]}};")
            places = self.found("round_q", STAGE)
            places |= {word: places[Word(steps.AGAIN[word.name], word.index)] for word in sums}
            enters += " | round_pop"
            stage = self._slice(places, Word("stage", 0))
            data = f"round_pop ? {self._joined(places, f'{stage} + 1')} : {data}"
        self.queue("course", sum(format.width for format in self.plan.course.values()), depth, enters, data)

    def round_task(self) -> str:
        """The state of the next stage, as the trigonometry takes a task: q, v, a = 0, f_ext."""
        places = self.found("round_q", STAGE)
        words = [Word(f"n{word.name}", word.index) for name in ("q", "v") for word in self.plan.takes(name)]
        forces = [self._slice(places, word) for word in reversed(self.plan.takes("f_ext"))]
        state = [self._slice(places, word) for word in reversed(words)]
        return "{" + wrapped(", ", [*forces, self._zeros(self.nu), *state]) + "}"

    def round_tau(self) -> str:
        """The torques of a step for its next stage, as wide as the task's."""
        places = self.found("round_q", STAGE)
        parts = [self._slice(places, word) for word in reversed(self.plan.takes("tau"))]
        wide = sum(self.width_of(word) for word in self.plan.takes("tau"))
        return "{" + wrapped(", ", [*([self._zeros(self.nu - wide)] if wide < self.nu else []), *parts]) + "}"

    def step(self) -> None:
        """Schedule module: fd's answer and the step's sums become the next sub-task, or the result."""
        e = self.e
        e("", "// schedule module: integration steps")
        at = laid("course_q", ((word, format.width) for word, format in self.plan.course.items()))
        stage = self._slice(at, Word("stage", 0))
        if self.plan.has_rounds:
            e(f"wire step_last = {' | '.join(f'{stage} == {s}' for s in steps.LAST)};")
        for name, (values, format) in self.plan.weights.items():
            e(f"reg signed [{format.width - 1}:0] step_{name};")
            with e.block(f"always @* case ({stage})", "endcase"):
                *rest, final = [literal(value, format.width) for value in values]
                e(*(f"{s}: step_{name} = {value};" for s, value in enumerate(rest)))
                e(f"default: step_{name} = {final};")
            at[Word(name, 0)] = (f"step_{name}", 0)
        at |= self.found("solved_q", SOLVED, "k")
        width = widths(self.acc.arrays["solve"], "out")
        code = kind = f"solved_q[{width + self.id.code_bits + TAG_BITS - 1}:{width + TAG_BITS}]"
        if self.plan.has_rounds:
            (follows,) = self.plan.through(STAGE)
            kind = f"step_last ? {code} : {self.id.code_bits}'d{follows}"
        id_ = f"{{solved_q[{width + self.id.width - 1}], {kind}, solved_q[{width + TAG_BITS - 1}:{width}]}}"
        self.array("step", "solved_full", id_, self.gather("step", at))
        e("assign solved_pop = step_take, course_pop = step_take;")

    def width_of(self, word: Word) -> int:
        course = self.plan.course
        return course[word].width if word in course else self.plan.formats[steps.like(word)].width

    def _joined(self, places: Places, stage: str) -> str:
        stage_, *words = self.plan.course
        parts = [self._slice(places, word) for word in reversed(words)]
        self.e(f"wire [{self.width_of(stage_) - 1}:0] stage_{places[words[0]][0]} = {stage};")
        return "{" + wrapped(", ", [*parts, f"stage_{places[words[0]][0]}"]) + "}"

    def _slice(self, places: Places, word: Word) -> str:
        width = self.width_of(word)
        return sliced(places[word], width) if places[word][0] else self._zeros(width)

    def _first(self) -> str:
        codes = [f"entry_code == {task.codes[0]} ? {task.stages[0]}" for task in self.tasks if task.stages]
        return " : ".join([*codes, "0"])

    def _zeros(self, width: int) -> str:
        return f"{width}'b0"
