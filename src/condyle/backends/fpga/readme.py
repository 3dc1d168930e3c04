"""The README of an exported accelerator, from what report.json holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from condyle.backends.common.facts import Facts as Birth
from condyle.backends.common.readme import Coordinates, birth, order
from condyle.backends.fpga.accelerator import TAG_BITS, Plan
from condyle.backends.fpga.board import commands, files, tried
from condyle.backends.fpga.build import Accelerator
from condyle.backends.fpga.readme_boundary import boundary_files, boundary_readme
from condyle.backends.fpga.report import Facts, cycles, said_box, said_latency
from condyle.backends.fpga.stream import Field, bus, result_width
from condyle.backends.fpga.target import STEPS
from condyle.backends.fpga.tasks import Task


def readme(acc: Accelerator, facts: Facts, report: Mapping[str, Any], joints: Sequence[Coordinates]) -> str:
    """README.md: the files, the ports, how a task is sent, each function, the order of the joints."""
    name, plan = facts.name, acc.plan
    known = Birth(plan.nq, plan.nv, facts.fingerprint, facts.version, name)
    fields = bus(plan)
    arrays = ", ".join(f"`{name}_{array}.v`" for array in acc.arrays)
    first = fields[0]
    box = said_box(report)
    rows = "\n".join(_function(task, report["functions"][name]) for name, task in plan.tasks.items())
    return f"""\
# {name}: rigid-body dynamics in hardware

One pipelined accelerator in Verilog-2005, module `{name}`. It computes {_count(plan)} of one robot with
nq = {plan.nq} and nv = {plan.nv}. Words: {facts.word}. It takes a task every {cycles(acc.ii)}. It has {acc.dsp} \
{acc.device.multiplier}, {report["dsp_percent"]} % of an {report["device"]}.
{_pipelined(acc)}{birth(known)} No clock frequency was measured, because nothing was placed and routed.

A *task* is a function and its inputs. The outputs of that function are its *result*. A *word* is one number of either.

| file | what it is |
|---|---|
| `{name}.v` | the accelerator: queues between the arrays, feedback, the stream of results |
| {arrays} | the arrays with their pipeline stages. The names of signals are explained at the top of each file |
| `fx_operators.v` | one module for each operator: products, sine and cosine, reciprocal (with their tables), FIFOs |
| `{name}_bench.v`, `tasks.hex`, `answers.hex` | the test bench, its tasks, and the expected results to the bit |
{boundary_files(name)}
{files(acc, name, facts.boundary.async_clock)}
| `report.json`, `report.html` | cycles, DSPs, formats of all words, errors; a page that draws the pipeline |
| `robot.json` | the names of joints and bodies, and gravity, as data |
| `condyle-export.json` | the files that an export wrote. A later export replaces only these |

```sh
make sim      # iverilog: compares every bit of every result, and fails at the first wrong one
make stall    # the same, with random stalls at the input and the output
make axi      # the AXI boundary, packet by packet
make fast     # as make stall, by verilator, for many tasks
{commands(acc)}
```

For synthesis take all `.v` files except the test benches. {tried(acc, facts.clock)}

{boundary_readme(facts, report)}
## Ports of the accelerator

| port | bits | what it is |
|---|---:|---|
| `clock`, `reset` | 1 | registers change at the rising edge. The reset is synchronous and active high. Reset first |
| `in_valid`, `in_ready` | 1 | a task is transferred at a rising edge with both high. `in_ready` is low in reset |
| `in_function` | {plan.id.code_bits} | the code of the function, see below |
| `in_tag` | {TAG_BITS} | any number; the result has the same |
| `in_data` | {fields[-1].high + 1} | the words of the task |
| `out_valid`, `out_ready` | 1 | a result is transferred at a rising edge with both high. It is stable until then |
| `out_function`, `out_tag` | {plan.id.code_bits}, {TAG_BITS} | those of the task |
| `out_flag` | 1 | {FLAGS[plan.flags]} |
| `out_error` | 1 | the code is unknown. `out_function` repeats it, `out_data` is 0, `out_flag` is high |
| `out_data` | {result_width(plan)} | the words of the result. Bits above them have no meaning |

`in_ready` comes from a register and does not depend on the inputs.
Tasks of all functions can be mixed freely. A task with an unknown code does not disturb other tasks. A result comes
when it is ready. Results of one function come in the order of its tasks.

## A task

| field | bits of `in_data` | words |
|---|---|---:|
{_fields(acc, fields)}

The words are packed without gaps, entry 0 in the lowest bits. Each word is a two's-complement integer and has its own
scale. `formats` in `report.json` lists them from bit 0 on. `{first.format}` means {first.format.width} bits, \
{first.format.frac} of them behind the binary point.
For example, the first word is `{first.word}`: for the value 0.5 send {first.format.from_real(np.array(0.5))}.
{_example(acc)}

* **Matrices**: word `NAME_k` is entry k = row * nv + column. Of a symmetric matrix only the upper triangle is sent.
  Every entry that is not listed is zero.{_echoed(plan)}
* **Gravity** is a constant here, that of `robot.json`. Damping and friction are left out.
* **Words that a function does not use** are ignored.
* **The box** is the range of the inputs, in SI units: {box}. Other coordinates of q are within their limits.

| function | code | result | latency | interval | relative error: median | 90 % | 99 % | maximum |
|---|---:|---|---:|---:|---:|---:|---:|---:|
{rows}

Latency: cycles from a task to its result, with no other task in the accelerator. Interval: cycles from one task of the
function to the next. Errors are those against float64, relative to the largest entry of a column (matrices) or of an
entry (vectors): the quantiles and the maximum of {report["functions"][plan.functions[0]]["states"]} samples.
These are random states of the box without a flag. The maximum is not a bound. `report.json` has the errors of each
output.
{_orders(joints)}"""


def _count(plan: Plan) -> str:
    n = len(plan.functions)
    return f"{n} functions" if n > 1 else "one function"


def _fields(acc: Accelerator, fields: Sequence[Field]) -> str:
    """A row for each run of words of one name; a and tau have the same bits."""
    rows: list[str] = []
    for name in dict.fromkeys(field.word.name for field in fields):
        own = [field for field in fields if field.word.name == name]
        said = name
        if name == "Minv":
            said = UPPER + ", ".join(function for function, task in acc.plan.tasks.items() if name in task.inputs)
        elif name == "a" and acc.plan.takes("tau"):
            said = SHARED_GIVEN if acc.plan.base else SHARED
        rows.append(f"| {said} | {own[-1].high}:{own[0].low} | {len(own)} |")
    return "\n".join(rows)


def _example(acc: Accelerator) -> str:
    """How a word of a result is read."""
    for function, words in acc.plan.results.items():
        for word, format in words:
            read = f"`{format}`, so its value is the integer divided by 2^{format.frac}"
            return f"Results are read in the same way: the first word of `{function}` is `{word}`, {read}."
    return "No result has a word, because all its entries are zero."


FLAGS = {
    True: "an input was outside the box, or a signal was clamped. Do not use this result",
    False: "high only with `out_error`. This accelerator clamps without a flag (`--overflow silent`)",
}
UPPER = "M⁻¹, its upper triangle row by row; used by "
SHARED = "a; tau for functions that take tau"
SHARED_GIVEN = f"{SHARED}; for functions of a given base: a of the base, then tau of the joints"


def _echoed(plan: Plan) -> str:
    """What comes behind the words of a function's outputs."""
    beside = [
        name
        for name, words in plan.results.items()
        if not {word.name for word, _ in words} <= {*plan.tasks[name].words.values()}
    ]
    return f" Behind the words of {', '.join(beside)} comes the M⁻¹ of its task." if beside else ""


def _pipelined(acc: Accelerator) -> str:
    """What `--pipeline` gave the operators."""
    return (
        f"Operators have more registers (`--pipeline {acc.pipeline}`): {STEPS[acc.pipeline]}.\n" if acc.pipeline else ""
    )


def _function(task: Task, found: Mapping[str, Any]) -> str:
    result = ", ".join(port.name for port in task.function.outputs)
    errors = (*found["relative_quantiles"].values(), found["worst_relative"])
    cells = (task.function.name, task.codes[0], result, said_latency(found), found["ii"], *(f"{x:.1e}" for x in errors))
    return "| " + " | ".join(map(str, cells)) + " |"


def _orders(joints: Sequence[Coordinates]) -> str:
    return f"\n## Order of joints\n\n{order(joints)}\n" if joints else ""
