"""Sends the tasks of tasks.hex to the accelerator `arm` at a clock of 3 ns and compares every result, by cocotb.

python cocotb_driver.py FILE...: builds these files by iverilog and runs the test below; prints `right: N tasks`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge


def rows(name: str) -> list[int]:
    return [int(row, 16) for row in Path(name).read_text().split()]


@cocotb.test(timeout_time=30, timeout_unit="us")
async def every_task_has_its_answer(dut) -> None:
    tasks, answers = rows("tasks.hex"), rows("answers.hex")
    cocotb.start_soon(Clock(dut.clock, 3, unit="ns").start())
    dut.in_valid.value, dut.out_ready.value, dut.reset.value = 0, 1, 1
    await ClockCycles(dut.clock, 4)
    dut.reset.value = 0
    sent, got = 0, dict[int, int]()
    while len(got) < len(answers):
        dut.in_valid.value = sent < len(tasks)
        if sent < len(tasks):
            dut.in_function.value, dut.in_data.value = divmod(tasks[sent], 1 << len(dut.in_data))
            dut.in_tag.value = sent
        await ReadOnly()
        if dut.out_valid.value == 1:
            ports = dut.out_error, dut.out_flag, dut.out_function, dut.out_data
            got[int(dut.out_tag.value)] = int("".join(str(port.value) for port in ports), 2)
        sent += dut.in_ready.value == 1 and sent < len(tasks)
        await RisingEdge(dut.clock)
    assert [got[tag] for tag in range(len(answers))] == answers
    print(f"right: {len(answers)} tasks")


if __name__ == "__main__":
    from cocotb_tools.runner import get_runner

    runner = get_runner("icarus")
    runner.build(sources=sys.argv[1:], hdl_toplevel="arm", build_args=["-g2012"], build_dir="cocotb")
    runner.test(hdl_toplevel="arm", test_module="cocotb_driver", test_dir=".", build_dir="cocotb")
