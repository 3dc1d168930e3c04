"""The accelerator as a Verilog module: queues and joins between the arrays, feedback, the merging of results.

A queue's ready and valid come from registers, so no path runs from one end of the accelerator to the other.
"""

from __future__ import annotations

from condyle.backends.fpga.accelerator import TAG_BITS
from condyle.backends.fpga.build import Accelerator
from condyle.backends.fpga.emit_array import widths
from condyle.backends.fpga.emit_feedback import Feedback
from condyle.backends.fpga.emit_wires import is_one_of, result_width
from condyle.backends.fpga.tasks import BIAS, COLUMNS, FLAG, FLOATS, INVERSE, SOLVED, STEP, TRIG, Leaf

QUEUES = {BIAS: "c", COLUMNS: "dtau", INVERSE: "inverse"}
"""Where the words of a group wait that go on."""


class TopEmitter(Feedback):
    """Writes the top module."""

    def text(self) -> str:
        e, width = self.e, self.nq + self.nv + self.nu + self.nf + self.ni
        ports = ["input clock", "input reset", "input in_valid", "output in_ready"]
        ports += [f"input [{self.id.code_bits - 1}:0] in_function", f"input [{TAG_BITS - 1}:0] in_tag"]
        ports += [f"input [{width - 1}:0] in_data", "output out_valid", "input out_ready"]
        ports += [f"output [{self.id.code_bits - 1}:0] out_function", f"output [{TAG_BITS - 1}:0] out_tag"]
        ports += ["output out_flag", "output out_error", f"output [{result_width(self.acc) - 1}:0] out_data"]
        e(f"module {self.prefix} (", *(f"    {port}," for port in ports[:-1]), f"    {ports[-1]}", ");")
        with e.block("", "endmodule"):
            self._decode()
            self._fork()
            for array in self._fed_by_trig():
                self._traced(array)
            if "solve" in self.plan.datapaths:
                self._solve()
            if "derivatives" in self.plan.datapaths:
                self._derivatives()
            if "step" in self.plan.datapaths:
                self.step()
            self._encode()
        return e.text()

    def _decode(self) -> None:
        """Input Stream and Feedback: a task that comes again goes first; what is needed later waits in queues."""
        e, low = self.e, self.nq + self.nv
        high = low + self.nu
        e("// decode, input stream, feedback")
        e(f"wire is_known = {self.sent(True for _ in self.tasks)};", "wire take = in_valid & in_ready & is_known;")
        e("wire " + ", ".join(f"{name}_ready" for name in self.acc.arrays) + ";")
        room = ["trig_ready"]
        queues = self.acc.queues
        if "solve" in self.plan.datapaths:
            e(f"wire keeps_tau = {self.sent(task.solves for task in self.tasks)};")
            e("wire tau_enters;", f"wire [{self.nu - 1}:0] tau_in;")
            self.queue("tau", self.nu, queues.tau, "tau_enters", "tau_in")
            room.append("(~keeps_tau | tau_free)")
        if self.ni:
            e(f"wire keeps_inverse = {self.sent('Minv' in task.inputs for task in self.tasks)};")
            upper = f"in_data[{high + self.nf + self.ni - 1}:{high + self.nf}]"
            self.queue("given", self.ni, queues.given, "take & keeps_inverse", upper)
            room.append("(~keeps_inverse | given_free)")
        forces = f"in_data[{high + self.nf - 1}:{high}], " if self.nf else ""
        first = f"{{in_data[{high + self.nf - 1}:0]}}"
        torques = f"in_data[{high - 1}:{low}]"
        if "solve" in self.plan.datapaths:
            still, torques = self.base_and_joints() if self.nb else (f"{self.nu}'b0", torques)
            first = f"{{{forces}keeps_tau ? {still} : in_data[{high - 1}:{low}], in_data[{low - 1}:0]}}"
        again, id_ = list[str](), "{outside, in_function, in_tag}"
        if self.twice:
            again.append("again")
            self.second_pass(room)
            kept = f"state_q[{low + self.nf - 1}:{low}], " if self.nf else ""
            first = f"again ? {{{kept}back_a, state_q[{low - 1}:0]}} : {first}"
            id_ = f"again ? back_id : {id_}"
        tau = ("take & keeps_tau", torques)
        if "step" in self.plan.datapaths:
            self.rounds(room)
        if self.plan.has_rounds:
            again.append("round_now")
            first, id_ = f"round_now ? {self.round_task()} : {first}", f"round_now ? round_id : {id_}"
            tau = (f"{tau[0]} | round_pop", f"round_pop ? {self.round_tau()} : {tau[1]}")
        if "solve" in self.plan.datapaths:
            e(f"assign tau_enters = {tau[0]};", f"assign tau_in = {tau[1]};")
        e(f"wire [{high + self.nf - 1}:0] trig_in = {first};")
        waiting = ["~round_full" if name == "round_now" else f"~{name}" for name in again]
        refused = self.result("refused", "in_valid & in_ready & ~is_known", "{1'b1, in_function, in_tag}", "", 0)
        e(f"assign in_ready = ~reset & (is_known ? {' & '.join([*room, *waiting])} : {refused});")
        e(f"wire trig_valid = {' | '.join(['take', *again])};")
        self.outside()
        e(f"wire [{self.id.width - 1}:0] trig_id = {id_};")
        places = self.fields("trig_in", "q", "v", "a", "f_ext")
        if self.plan.base:
            given = is_one_of(f"trig_id[{self.id.code}]", [task.codes[0] for task in self.tasks if task.base_given])
            e(f"wire [{FLAG.width - 1}:0] trig_floats = {{1'b0, ~{given}}};")
            places[FLOATS] = ("trig_floats", 0)
        self.instance("trig", "trig_valid", "trig_id", self.gather("trig", places))

    def _fork(self) -> None:
        """A copy of the task for each array that it needs."""
        e, width = self.e, self.id.width + widths(self.acc.arrays["trig"], "out")
        users = self._fed_by_trig()
        e("", "// broadcast")
        e("wire " + ", ".join(f"{name}_in_free" for name in users) + ";")
        for name in users:
            groups = self.acc.arrays[name].datapath.groups
            codes = {code for group, _ in groups for code in self.plan.through(Leaf(name, group))}
            e(f"wire to_{name} = {is_one_of(f'trig_out_id[{self.id.code}]', sorted(codes))};")
        for name in users:
            others = "".join(f" & (~to_{other} | {other}_in_free)" for other in users if other != name)
            self.queue(f"{name}_in", width, 2, f"trig_out_valid & to_{name}{others}", "{trig_out_id, trig_out}")
        e("assign trig_out_ready = " + " & ".join(f"(~to_{name} | {name}_in_free)" for name in users) + ";")

    def _fed_by_trig(self) -> list[str]:
        return [name for name in ("dynamics", "mass") if name in self.plan.datapaths]

    def _traced(self, name: str) -> None:
        """An array behind its queue."""
        width = widths(self.acc.arrays["trig"], "out")
        self.e("", f"// {name}")
        places = self.places(f"{name}_in_q", TRIG)
        id_ = f"{name}_in_q[{width + self.id.width - 1}:{width}]"
        self.instance(name, f"{name}_in_full", id_, self.gather(name, places))
        self.e(f"assign {name}_in_pop = {name}_ready;")
        for group, _ in self.acc.arrays[name].datapath.groups:
            self._leave(Leaf(name, group))

    def _leave(self, leaf: Leaf) -> None:
        """A group whose tasks are results, or go on into a queue."""
        e, where = self.e, f"{leaf.array}_{leaf.group}"
        width, code = widths(self.acc.arrays[leaf.array], leaf.group), f"{where}_id[{self.id.code}]"
        here = self.plan.leaving(leaf)
        on = [one for one in self.plan.through(leaf) if one not in here]
        ready: list[str] = []
        if here:
            e(f"wire {where}_here = {is_one_of(code, here)};")
            free = self.result(where, f"{where}_valid & {where}_here", f"{where}_id", where, width)
            ready.append(f"({where}_here & {free})")
        if on:
            e(f"wire {where}_on = {is_one_of(code, on)};")
            queue = QUEUES[leaf]
            depth = {BIAS: self.acc.queues.c, INVERSE: self.acc.queues.inverse}.get(leaf, 2)
            self.queue(queue, self.id.width + width, depth, f"{where}_valid & {where}_on", f"{{{where}_id, {where}}}")
            ready.append(f"({where}_on & {queue}_free)")
        e(f"assign {where}_ready = {' | '.join(ready)};")

    def _solve(self) -> None:
        e = self.e
        nc, ni = widths(self.acc.arrays["dynamics"], "tau"), widths(self.acc.arrays["mass"], "Minv")
        e("", "// schedule module: M^-1 (tau - c)")
        ids = (f"c_q[{nc + self.id.width - 1}:{nc}]", f"inverse_q[{ni + self.id.width - 1}]")
        e(f"wire [{self.id.width - 1}:0] solve_id = {ids[0]} | {{{ids[1]}, {self.id.width - 1}'b0}};")
        ready = "c_full & inverse_full & tau_full"
        if self.twice:
            e(f"wire solve_again = {is_one_of(f'solve_id[{self.id.code}]', [task.codes[0] for task in self.twice])};")
            ready += " & (~solve_again | kept_free)"
        e(f"wire solve_valid = {ready};", "wire solve_fire = solve_valid & solve_ready;")
        e(*(f"assign {queue}_pop = solve_fire;" for queue in ("c", "inverse", "tau")))
        places = self.places("c_q", BIAS, "c") | self.places("inverse_q", INVERSE)
        places |= self.fields("tau_q", "tau")
        self.instance("solve", "solve_valid", "solve_id", self.gather("solve", places))
        width = widths(self.acc.arrays["solve"], "out")
        ready, code = "1'b0", f"solve_out_id[{self.id.code}]"
        if self.twice:
            self.queue("kept", ni, self.acc.queues.again, "solve_fire & solve_again", f"inverse_q[{ni - 1}:0]")
            e(f"wire solve_on = {is_one_of(code, [task.codes[0] for task in self.twice])};")
            e("assign back_valid = solve_out_valid & solve_on;", "assign back_in = {solve_out_id, solve_out};")
            ready = "(solve_on & back_free)"
        here = [task.codes[0] for task in self.tasks if task.leaf == SOLVED]
        if here:
            e(f"wire solve_here = {is_one_of(code, here)};")
            free = self.result("solve", "solve_out_valid & solve_here", "solve_out_id", "solve_out", width)
            ready += f" | (solve_here & {free})"
        if "step" in self.plan.datapaths:
            e(f"wire solve_step = {is_one_of(code, self.plan.leaving(STEP))};")
            ready += " | (solve_step & step_ready)"
        e(f"assign solve_out_ready = {ready};")

    def _derivatives(self) -> None:
        e = self.e
        nd = widths(self.acc.arrays["dynamics"], "dtau")
        e("", "// schedule module: -M^-1 dtau, M^-1 the user's or the task's own")
        e(f"wire [{self.id.width - 1}:0] dtau_id = dtau_q[{nd + self.id.width - 1}:{nd}];")
        mixed = self.twice and self.ni
        own = is_one_of(f"dtau_id[{self.id.code}]", [task.codes[1] for task in self.twice])
        path = self.acc.arrays["derivatives"].datapath
        ni = sum(path.ops[k].format.width for word, k in path.inputs if word.name == "Minv")
        inverse = "dtau_own ? kept_q : given_q" if mixed else "kept_q" if self.twice else "given_q"
        full = "(dtau_own ? kept_full : given_full)" if mixed else "kept_full" if self.twice else "given_full"
        e(f"wire dtau_own = {own};", f"wire [{ni - 1}:0] dtau_inverse = {inverse};")
        e(f"wire derivatives_valid = dtau_full & {full};")
        e("wire derivatives_fire = derivatives_valid & derivatives_ready;", "assign dtau_pop = derivatives_fire;")
        if self.twice:
            e("assign kept_pop = derivatives_fire & dtau_own;", "assign returned = kept_pop;")
        if self.ni:
            e("assign given_pop = derivatives_fire & ~dtau_own;")
        names = self.places("dtau_inverse", INVERSE) if self.twice else self.fields("dtau_inverse", "Minv")
        places = self.places("dtau_q", COLUMNS) | names
        self.instance("derivatives", "derivatives_valid", "dtau_id", self.gather("derivatives", places))
        width = widths(self.acc.arrays["derivatives"], "out")
        free = self.result("derivatives", "derivatives_out_valid", "derivatives_out_id", "derivatives_out", width)
        e(f"assign derivatives_out_ready = {free};")

    def _encode(self) -> None:
        """Results of all functions in one stream; behind them the error of a code that names none."""
        e, width = self.e, result_width(self.acc)
        e("", "// encode")
        e(f"wire [{self.id.width + width}:0] encoded;")
        (refused, error), *heads = self.sources.items()
        heads = [(head, f"{{1'b0, {data}}}") for head, data in heads]
        if len(heads) == 1:
            self._one(heads[0], (refused, f"{{1'b1, {error}}}"))
        else:
            self._turns([*heads, (refused, f"{{1'b1, {error}}}")], self.id.width + width + 1)
        bits, at = self.id.code_bits, width + TAG_BITS
        e(f"wire [{bits - 1}:0] code = encoded[{at + bits - 1}:{at}];")
        e(f"assign out_error = encoded[{width + self.id.width}], out_flag = encoded[{width + self.id.width - 1}];")
        codes = [task.codes for task in self.twice]
        was = " : ".join([*(f"code == {second} ? {bits}'d{first}" for first, second in codes), "code"])
        e(f"assign out_function = {f'out_error ? code : {was}' if self.twice else 'code'};")
        e(f"assign out_tag = encoded[{width + TAG_BITS - 1}:{width}];", f"assign out_data = encoded[{width - 1}:0];")

    def _one(self, head: tuple[str, str], refused: tuple[str, str]) -> None:
        """Results go first; an error that is shown stays until it is taken."""
        e, (name, data), (error, code) = self.e, head, refused
        e("reg error_waits;", f"wire error_now = {error}_full & (error_waits | ~{name}_full);")
        e("always @(posedge clock) error_waits <= ~reset & error_now & ~out_ready;")
        e(f"assign out_valid = {name}_full | {error}_full, encoded = error_now ? {code} : {data};")
        e(f"assign {name}_pop = out_ready & ~error_now, {error}_pop = out_ready & error_now;")

    def _turns(self, heads: list[tuple[str, str]], width: int) -> None:
        """In turns, so that none waits for ever."""
        e, n = self.e, len(heads)
        e(f"wire [{n - 1}:0] full = {{{', '.join(f'{name}_full' for name, _ in reversed(heads))}}};")
        e(f"reg [{n - 1}:0] turn;", f"wire [{2 * n - 1}:0] from_turn = {{full, full}} & ~({{{n}'b0, turn}} - 1'b1);")
        e(f"wire [{2 * n - 1}:0] first = from_turn & (~from_turn + 1'b1);")
        e(f"wire [{n - 1}:0] grant = first[{2 * n - 1}:{n}] | first[{n - 1}:0];")
        e(*(f"assign {name}_pop = grant[{k}] & merged_free;" for k, (name, _) in enumerate(heads)))
        with e.block("always @(posedge clock) begin", "end"):
            e("if (reset) turn <= 1;", f"else if (|full & merged_free) turn <= {{grant[{n - 2}:0], grant[{n - 1}]}};")
        e(f"reg [{width - 1}:0] chosen;")
        with e.block("always @* begin", "end"):
            e(f"chosen = {heads[0][1]};")
            e(*(f"if (grant[{k}]) chosen = {data};" for k, (_, data) in enumerate(heads) if k))
        self.queue("merged", width, 2, "|full", "chosen")
        e("assign merged_pop = out_ready;", "assign out_valid = merged_full, encoded = merged_q;")


def emit_top(acc: Accelerator, prefix: str) -> str:
    """The text of the top module; `prefix` is its name."""
    return TopEmitter(acc, prefix).text()
