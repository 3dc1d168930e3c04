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

One pipelined accelerator in Verilog-2005, module `{name}`: {len(plan.functions)} functions of one robot,
nq = {plan.nq}, nv = {plan.nv}, words {facts.word}, a task every {cycles(acc.ii)}, {acc.dsp} {acc.device.multiplier}
({report["dsp_percent"]} % of an {report["device"]}).
{_pipelined(acc)}{birth(known)} No clock is promised: nothing was placed and routed.

| file | what it is |
|---|---|
| `{name}.v` | the top: queues, feedback, the stream of results |
| {arrays} | the arrays with their stages; what the names in them mean stands at their top |
| `fx_operators.v` | products, sine and cosine, reciprocal, with their tables, queues: one module an operator |
| `{name}_bench.v`, `tasks.hex`, `answers.hex` | the test bench: tasks, and their answers to the bit |
{boundary_files(name)}
{files(acc)}
| `report.json`, `report.html` | cycles, units, formats of all words, errors; a page with the pipeline drawn |
| `robot.json` | names of joints and bodies, and gravity, as data |
| `condyle-export.json` | which files an export wrote: it replaces no others |

```sh
make sim      # iverilog: every bit of every answer; fails at the first wrong one
make stall    # the same, both ends stalling at random
make axi      # the boundary, packet by packet
make fast     # the same by verilator, for many tasks
{commands(acc)}
```

For synthesis take all `.v` files but the benches. {tried(acc, facts.clock)}

{boundary_readme(facts, report)}
## Ports of the accelerator itself

| port | bits | what it is |
|---|---:|---|
| `clock`, `reset` | 1 | all registers take the rising edge; reset is synchronous, high at the start |
| `in_valid`, `in_ready` | 1 | a task is taken at a rising edge at which both are high; `in_ready` is low in reset |
| `in_function` | {plan.id.code_bits} | the code of the function, below |
| `in_tag` | {TAG_BITS} | any number of yours; it comes back with the result |
| `in_data` | {fields[-1].high + 1} | the task's words |
| `out_valid`, `out_ready` | 1 | a result leaves at a rising edge at which both are high; it waits as long as you like |
| `out_function`, `out_tag` | {plan.id.code_bits}, {TAG_BITS} | those of the task |
| `out_flag` | 1 | {FLAGS[plan.flags]} |
| `out_error` | 1 | `in_function` named no function: `out_function` is what was sent, `out_data` zero, `out_flag` high |
| `out_data` | {result_width(plan)} | the result's words; what is above them means nothing |

`in_ready` comes from a register and depends on no input.
Functions mix freely; a code that names none disturbs no other task. Results come when they are ready; those of one
function in the order of its tasks.

## A task

| field | bits of `in_data` | words |
|---|---|---:|
{_fields(acc, fields)}

Words stand one after the other, entry 0 lowest, each a two's-complement integer with a scale of its own. `formats` in
`report.json` lists all from bit 0 on, `{first.format}` for {first.format.width} bits, {first.format.frac} of them \
behind the point. The first is `{first.word}`: for the value 0.5 send {first.format.from_real(np.array(0.5))}.
{_example(acc)}
Of a matrix, entry `row nv + column` is the number in the word's name; of symmetric ones the upper triangle is sent, and
every other entry that is not listed is zero. {_echoed(plan)}Gravity is that of
`robot.json`, a constant here; damping and friction are left out.
Words that a function does not take are ignored. The box: {box}, other coordinates of q within their
limits; SI units.

| function | code | result | latency | interval | relative error: median | 90 % | 99 % | maximum |
|---|---:|---|---:|---:|---:|---:|---:|---:|
{rows}

In cycles: the latency of a task alone, the interval of tasks one after the other. Errors are against float64, relative
to the largest entry of a column (of an entry, for vectors): quantiles, and the maximum of
{report["functions"][plan.functions[0]]["states"]} samples of the box without a flag,
which is not a bound; `report.json` has those of each output.
{_orders(joints)}"""


def _fields(acc: Accelerator, fields: Sequence[Field]) -> str:
    """A row for each run of words of one name; a and tau share their place."""
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
            read = f"`{format}`, the integer over 2^{format.frac}"
            return f"Results are read alike: the first word of `{function}` is `{word}`, {read}."
    return "No result has a word: all are zeros."


FLAGS = {
    True: "a word was outside the stated box, or a signal had to be clamped: do not trust this result",
    False: "0: this accelerator clamps silently (`--overflow silent`); only an error raises it",
}
UPPER = "M⁻¹, upper triangle, row by row; for "
SHARED = "a, or tau for functions that take it"
SHARED_GIVEN = f"{SHARED}; of a given base its a, then tau of the joints"


def _echoed(plan: Plan) -> str:
    """What stands behind the words of a function's outputs."""
    beside = [
        name
        for name, words in plan.results.items()
        if not {word.name for word, _ in words} <= {*plan.tasks[name].words.values()}
    ]
    return f"Behind the words of {', '.join(beside)} stands the M⁻¹ that it was given. " if beside else ""


def _pipelined(acc: Accelerator) -> str:
    """What `--pipeline` gave the operators."""
    return (
        f"Operators have further registers, `--pipeline {acc.pipeline}`: {STEPS[acc.pipeline]}.\n"
        if acc.pipeline
        else ""
    )


def _function(task: Task, found: Mapping[str, Any]) -> str:
    result = ", ".join(port.name for port in task.function.outputs)
    errors = (*found["relative_quantiles"].values(), found["worst_relative"])
    cells = (task.function.name, task.codes[0], result, said_latency(found), found["ii"], *(f"{x:.1e}" for x in errors))
    return "| " + " | ".join(map(str, cells)) + " |"


def _orders(joints: Sequence[Coordinates]) -> str:
    return f"\n## Order of joints\n\n{order(joints)}\n" if joints else ""
