"""The accelerator as a Verilog module: queues and joins between the arrays, feedback, the merging of results.

A queue's ready and valid come from registers, so no path runs from one end of the accelerator to the other.
"""

from __future__ import annotations

from condyle.backends.fpga.accelerator import AGAIN, CODES, TO_SOLVE
from condyle.backends.fpga.build import Accelerator
from condyle.backends.fpga.emit_array import FUNCTION_BITS, ID, TAG_BITS, widths
from condyle.backends.fpga.emit_feedback import Feedback
from condyle.backends.fpga.emit_wires import result_width
from condyle.backends.fpga.given import FLAG, FLOATS, GIVEN, both
from condyle.backends.fpga.steps import STEPS

FUNCTION = f"{TAG_BITS + FUNCTION_BITS - 1}:{TAG_BITS}"
"""Where a task's function stands in its id."""


class TopEmitter(Feedback):
    """Writes the top module."""

    def text(self) -> str:
        e, width = self.e, self.nq + self.nv + self.nu + self.nf + self.ni
        ports = ["input clock", "input reset", "input in_valid", "output in_ready"]
        ports += [f"input [{FUNCTION_BITS - 1}:0] in_function", f"input [{TAG_BITS - 1}:0] in_tag"]
        ports += [f"input [{width - 1}:0] in_data", "output out_valid", "input out_ready"]
        ports += [f"output [{FUNCTION_BITS - 1}:0] out_function", f"output [{TAG_BITS - 1}:0] out_tag"]
        ports += ["output out_flag", f"output [{result_width(self.acc) - 1}:0] out_data"]
        e(f"module {self.prefix} (", *(f"    {port}," for port in ports[:-1]), f"    {ports[-1]}", ");")
        with e.block("", "endmodule"):
            self._decode()
            self._fork()
            if "dynamics" in self.plan.datapaths:
                self._dynamics()
            if "mass" in self.plan.datapaths:
                self._mass()
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
        e("wire take = in_valid & in_ready;", "wire " + ", ".join(f"{name}_ready" for name in self.acc.arrays) + ";")
        room = ["trig_ready"]
        queues = self.acc.queues
        if "solve" in self.plan.datapaths:
            e(f"wire keeps_tau = {self.is_one_of('in_function', *TO_SOLVE)};")
            e("wire tau_enters;", f"wire [{self.nu - 1}:0] tau_in;")
            self.queue("tau", self.nu, queues.tau, "tau_enters", "tau_in")
            room.append("(~keeps_tau | tau_free)")
        if "difd" in self.has:
            e(f"wire keeps_inverse = {self.is_one_of('in_function', 'difd')};")
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
        if "rk4" in self.has:
            again.append("round_now")
            first, id_ = f"round_now ? {self.round_task()} : {first}", f"round_now ? round_id : {id_}"
            tau = (f"{tau[0]} | round_pop", f"round_pop ? {self.round_tau()} : {tau[1]}")
        if "solve" in self.plan.datapaths:
            e(f"assign tau_enters = {tau[0]};", f"assign tau_in = {tau[1]};")
        e(f"wire [{high + self.nf - 1}:0] trig_in = {first};")
        waiting = ["~round_full" if name == "round_now" else f"~{name}" for name in again]
        e(f"assign in_ready = {' & '.join([*room, *waiting])};")
        e(f"wire trig_valid = {' | '.join(['take', *again])};")
        self.outside()
        e(f"wire [{ID - 1}:0] trig_id = {id_};")
        places = self.fields("trig_in", "q", "v", "a", "f_ext")
        if self.plan.base:
            given = self.is_one_of(f"trig_id[{FUNCTION}]", *GIVEN)
            e(f"wire [{FLAG.width - 1}:0] trig_floats = {{1'b0, ~{given}}};")
            places[FLOATS] = ("trig_floats", 0)
        self.instance("trig", "trig_valid", "trig_id", self.gather("trig", places))

    def _fork(self) -> None:
        """A copy of the task for each array that it needs."""
        e, width = self.e, ID + widths(self.acc.arrays["trig"], "out")
        users = [name for name in ("dynamics", "mass") if name in self.plan.datapaths]
        to = {"dynamics": ("id", "did", "difd", *self.again, *TO_SOLVE), "mass": ("m", *both("minv"), *TO_SOLVE)}
        e("", "// broadcast")
        e("wire " + ", ".join(f"{name}_in_free" for name in users) + ";")
        for name in users:
            e(f"wire to_{name} = {self.is_one_of(f'trig_out_id[{FUNCTION}]', *to[name])};")
        for name in users:
            others = "".join(f" & (~to_{other} | {other}_in_free)" for other in users if other != name)
            self.queue(f"{name}_in", width, 2, f"trig_out_valid & to_{name}{others}", "{trig_out_id, trig_out}")
        e("assign trig_out_ready = " + " & ".join(f"(~to_{name} | {name}_in_free)" for name in users) + ";")

    def _fed(self, name: str) -> None:
        """An array behind its queue."""
        width = widths(self.acc.arrays["trig"], "out")
        self.e("", f"// {name}")
        places = self.places(f"{name}_in_q", "trig", "out")
        self.instance(name, f"{name}_in_full", f"{name}_in_q[{width + ID - 1}:{width}]", self.gather(name, places))
        self.e(f"assign {name}_in_pop = {name}_ready;")

    def _leave(self, array: str, group: str, results: tuple[str, ...], onward: tuple[str, ...], queue: str) -> None:
        """A group whose tasks are results, of one function and of its kind, or go on into a queue."""
        e, where = self.e, f"{array}_{group}"
        data, width = where, widths(self.acc.arrays[array], group)
        here, on = any(f in self.has for f in results), any(f in (*self.has, *self.again) for f in onward)
        ready: list[str] = []
        kind = f"{where}_id[{FUNCTION}]"
        if here:
            e(f"wire {where}_here = {self.is_one_of(kind, *results)};")
            free = self.result(results[0], f"{where}_valid & {where}_here", f"{where}_id", data, width)
            ready.append(f"({where}_here & {free})")
        if on:
            e(f"wire {where}_on = {self.is_one_of(kind, *onward)};")
            depth = {"c": self.acc.queues.c, "inverse": self.acc.queues.inverse}.get(queue, 2)
            self.queue(queue, ID + width, depth, f"{where}_valid & {where}_on", f"{{{where}_id, {data}}}")
            ready.append(f"({where}_on & {queue}_free)")
        e(f"assign {where}_ready = {' | '.join(ready)};")

    def _dynamics(self) -> None:
        self._fed("dynamics")
        groups = dict(self.acc.arrays["dynamics"].datapath.groups)
        if "tau" in groups:
            self._leave("dynamics", "tau", ("id",), tuple(f for f in TO_SOLVE if f in self.has), "c")
        if "dtau" in groups:
            onward = (*(["difd"] if "difd" in self.has else []), *self.again)
            self._leave("dynamics", "dtau", ("did",), onward, "dtau")

    def _mass(self) -> None:
        self._fed("mass")
        groups = dict(self.acc.arrays["mass"].datapath.groups)
        if "M" in groups:
            self._leave("mass", "M", ("m",), (), "")
        if "Minv" in groups:
            self._leave("mass", "Minv", both("minv"), tuple(f for f in TO_SOLVE if f in self.has), "inverse")

    def _solve(self) -> None:
        e = self.e
        nc, ni = widths(self.acc.arrays["dynamics"], "tau"), widths(self.acc.arrays["mass"], "Minv")
        e("", "// schedule module: M^-1 (tau - c)")
        ids = (f"c_q[{nc + ID - 1}:{nc}]", f"inverse_q[{ni + ID - 1}]")
        e(f"wire [{ID - 1}:0] solve_id = {ids[0]} | {{{ids[1]}, {ID - 1}'b0}};")
        ready = "c_full & inverse_full & tau_full"
        if self.twice:
            e(f"wire solve_again = {self.is_one_of(f'solve_id[{FUNCTION}]', *self.twice)};")
            ready += " & (~solve_again | kept_free)"
        e(f"wire solve_valid = {ready};", "wire solve_fire = solve_valid & solve_ready;")
        e(*(f"assign {queue}_pop = solve_fire;" for queue in ("c", "inverse", "tau")))
        places = self.places("c_q", "dynamics", "tau", "c") | self.places("inverse_q", "mass", "Minv")
        places |= self.fields("tau_q", "tau")
        self.instance("solve", "solve_valid", "solve_id", self.gather("solve", places))
        width = widths(self.acc.arrays["solve"], "out")
        ready = "1'b0"
        if self.twice:
            self.queue("kept", ni, self.acc.queues.again, "solve_fire & solve_again", f"inverse_q[{ni - 1}:0]")
            e(f"wire solve_on = {self.is_one_of(f'solve_out_id[{FUNCTION}]', *self.twice)};")
            e("assign back_valid = solve_out_valid & solve_on;", "assign back_in = {solve_out_id, solve_out};")
            ready = "(solve_on & back_free)"
        if any(f in self.has for f in both("fd")):
            e(f"wire solve_here = {self.is_one_of(f'solve_out_id[{FUNCTION}]', *both('fd'))};")
            free = self.result("fd", "solve_out_valid & solve_here", "solve_out_id", "solve_out", width)
            ready += f" | (solve_here & {free})"
        if "step" in self.plan.datapaths:
            e(f"wire solve_step = {self.is_one_of(f'solve_out_id[{FUNCTION}]', *STEPS)};")
            ready += " | (solve_step & step_ready)"
        e(f"assign solve_out_ready = {ready};")

    def _derivatives(self) -> None:
        e = self.e
        nd = widths(self.acc.arrays["dynamics"], "dtau")
        e("", "// schedule module: -M^-1 dtau, M^-1 the user's or the task's own")
        e(f"wire [{ID - 1}:0] dtau_id = dtau_q[{nd + ID - 1}:{nd}];")
        mixed = self.twice and "difd" in self.has
        own = self.is_one_of(f"dtau_id[{FUNCTION}]", *self.again)
        ni = self._inverse_width()
        inverse = "dtau_own ? kept_q : given_q" if mixed else "kept_q" if self.twice else "given_q"
        full = "(dtau_own ? kept_full : given_full)" if mixed else "kept_full" if self.twice else "given_full"
        e(f"wire dtau_own = {own};", f"wire [{ni - 1}:0] dtau_inverse = {inverse};")
        e(f"wire derivatives_valid = dtau_full & {full};")
        e("wire derivatives_fire = derivatives_valid & derivatives_ready;", "assign dtau_pop = derivatives_fire;")
        if self.twice:
            e("assign kept_pop = derivatives_fire & dtau_own;", "assign returned = kept_pop;")
        if "difd" in self.has:
            e("assign given_pop = derivatives_fire & ~dtau_own;")
        names = self.places("dtau_inverse", "mass", "Minv") if self.twice else self.fields("dtau_inverse", "Minv")
        places = self.places("dtau_q", "dynamics", "dtau") | names
        self.instance("derivatives", "derivatives_valid", "dtau_id", self.gather("derivatives", places))
        width = widths(self.acc.arrays["derivatives"], "out")
        free = self.result("derivatives", "derivatives_out_valid", "derivatives_out_id", "derivatives_out", width)
        e(f"assign derivatives_out_ready = {free};")

    def _inverse_width(self) -> int:
        path = self.acc.arrays["derivatives"].datapath
        return sum(path.ops[k].format.width for word, k in path.inputs if word.name == "Minv")

    def _encode(self) -> None:
        """Results of all functions in one stream: in turns, so that none waits for ever."""
        e, n, width = self.e, len(self.sources), result_width(self.acc)
        heads = [f"out_{name}" for name in self.sources]
        e("", "// encode")
        if n == 1:
            (head,) = heads
            e(f"assign out_valid = {head}_full;", f"assign {head}_pop = out_ready;")
            e(f"wire [{ID + width - 1}:0] encoded = {head}_q;")
        else:
            e(f"wire [{n - 1}:0] full = {{{', '.join(f'{head}_full' for head in reversed(heads))}}};")
            e(
                f"reg [{n - 1}:0] turn;",
                f"wire [{2 * n - 1}:0] from_turn = {{full, full}} & ~({{{n}'b0, turn}} - 1'b1);",
            )
            e(f"wire [{2 * n - 1}:0] first = from_turn & (~from_turn + 1'b1);")
            e(f"wire [{n - 1}:0] grant = first[{2 * n - 1}:{n}] | first[{n - 1}:0];")
            e(*(f"assign {head}_pop = grant[{k}] & merged_free;" for k, head in enumerate(heads)))
            with e.block("always @(posedge clock) begin", "end"):
                e(
                    "if (reset) turn <= 1;",
                    f"else if (|full & merged_free) turn <= {{grant[{n - 2}:0], grant[{n - 1}]}};",
                )
            e(f"reg [{ID + width - 1}:0] chosen;")
            with e.block("always @* begin", "end"):
                e(f"chosen = {heads[0]}_q;")
                e(*(f"if (grant[{k}]) chosen = {head}_q;" for k, head in enumerate(heads) if k))
            self.queue("merged", ID + width, 2, "|full", "chosen")
            e("assign merged_pop = out_ready;", "assign out_valid = merged_full;")
            e(f"wire [{ID + width - 1}:0] encoded = merged_q;")
        e(f"wire [{FUNCTION_BITS - 1}:0] code = encoded[{width + TAG_BITS + FUNCTION_BITS - 1}:{width + TAG_BITS}];")
        was = " : ".join([*(f"code == {AGAIN[f]} ? {FUNCTION_BITS}'d{CODES[f]}" for f in self.twice), "code"])
        e(f"assign out_function = {was};")
        e(f"assign out_tag = encoded[{width + TAG_BITS - 1}:{width}];")
        e(f"assign out_flag = encoded[{width + ID - 1}];", f"assign out_data = encoded[{width - 1}:0];")


def emit_top(acc: Accelerator, prefix: str) -> str:
    """The text of the top module; `prefix` is its name."""
    return TopEmitter(acc, prefix).text()
