"""The options of an accelerator: what they are where nothing is said, and what each refuses."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pytest

import condyle
from condyle import fpga
from condyle.errors import UnsupportedError
from condyle.fpga import Options
from condyle.fpga.rtl import boundary, header
from condyle.fpga.rtl.boundary import Boundary
from condyle.fpga.rtl.target import Format

ARM = condyle.chain(2, 0)
USUAL: dict[str, object] = {
    "functions": ("id", "fd", "m", "minv", "did", "dfd", "difd"),
    "word": "27x18",
    "dsp": None,
    "part": "xcvu9p",
    "clock": 125.0,
    "name": "robot",
    "states": 1000,
    "f_ext": None,
    "step": 1e-3,
    "constants": "dsp",
    "folding": None,
    "pipeline": 0,
    "root": None,
    "box": {},
    "overflow": "flag",
    "axi": 512,
    "float32": False,
    "async_clock": False,
    "link": None,
    "echo": False,
    "bus_clock": None,
}


def test_options_that_nobody_gives() -> None:
    assert asdict(Options()) == USUAL
    assert asdict(Boundary()) == {name: USUAL[name] for name in asdict(Boundary())}
    assert Options().budget == 4240 and Options(dsp=7).budget == 7  # 62 % of 6840


FREE = {"async_clock": True}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"dsp": 0}, "dsp=0: give the largest number of DSPs, a whole number from 1 on"),
        ({"dsp": 1.5}, "dsp=1.5: give the largest number"),
        ({"clock": 0.0}, "clock=0.0: give a frequency in MHz, above 0 and below 10000"),
        ({"clock": 1e4}, "clock=10000.0: give"),
        ({"f_ext": 0.0}, "f_ext=0.0: give the largest component .* above 0 and below 1e[+]09"),
        ({"f_ext": 1e9}, "f_ext=1000000000.0: give"),
        ({"step": 0.0}, "step=0.0: give the integration step in seconds, above 0 and below 1000"),
        ({"step": 1e3}, "step=1000.0: give"),
        ({"link": 1e6}, "link=1000000.0: give the speed"),
        ({"link": True}, "link=True: give the speed"),
        ({"bus_clock": 100.0}, "bus_clock=100.0: give a frequency in MHz, above 0 and below 10000, and async_clock"),
        ({"bus_clock": 0.0, **FREE}, "bus_clock=0.0"),
        ({"bus_clock": 1e4, **FREE}, "bus_clock=10000.0"),
        ({"pipeline": 4}, "pipeline=4: allowed is 0 to 3"),
        ({"pipeline": -1}, "pipeline=-1: allowed"),
        ({"overflow": "wrap"}, "overflow='wrap'"),
        ({"name": "A b"}, "A b"),
        ({"part": "spartan"}, "part 'spartan'"),
        ({"box": 7}, "box=7"),
    ],
)
def test_what_is_no_option_says_what_is(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        Options(**wrong)


@pytest.mark.parametrize(
    "ends",
    [
        {"dsp": 1, "clock": 1e-3, "f_ext": 1e-3, "step": 1e-9, "link": 1e-6, "pipeline": 0},
        {
            "clock": 9999.5,
            "f_ext": 9.99e8,
            "step": 999.5,
            "link": 999_999.5,
            "bus_clock": 9999.5,
            "pipeline": 3,
            **FREE,
        },
    ],
)
def test_all_between_the_ends_is_allowed(ends: dict[str, Any]) -> None:
    assert all(getattr(Options(**ends), name) == x for name, x in ends.items())


def test_constants_and_foldings_that_there_are_not() -> None:
    with pytest.raises(UnsupportedError, match="constants='lut': allowed is dsp, shift, auto"):
        fpga.accelerator(ARM, Options(("id",), constants="lut"))
    with pytest.raises(UnsupportedError, match="folding=2: the branches of this robot allow 1"):
        fpga.accelerator(ARM, Options(("id",), folding=2))


def test_codes_have_room_in_a_header(monkeypatch: pytest.MonkeyPatch) -> None:
    """An accelerator is checked before it is fitted to a part."""
    plan = fpga.planned(ARM, Options(("id",)))
    last, beyond = (replace(plan, tasks={"id": replace(plan.tasks["id"], codes=(code,))}) for code in (255, 256))
    assert (last.id.code_bits, beyond.id.code_bits) == (8, 9)
    Boundary().check(last)
    with pytest.raises(UnsupportedError, match="codes have 9 bits, a header holds 8: export fewer"):
        Boundary().check(beyond)
    monkeypatch.setitem(boundary.HEADER, "function", header.Bits(2, 0, ""))
    with pytest.raises(UnsupportedError, match="codes have 4 bits, a header holds 3"):
        fpga.accelerator(ARM, Options(("id",), dsp=1))


@pytest.mark.parametrize(("frac", "fits"), [(-65, False), (-64, True), (119, True), (120, False)])
@pytest.mark.parametrize("of_result", [False, True])
def test_words_of_a_float32_have_its_exponents(frac: int, fits: bool, of_result: bool) -> None:
    """Words of 27 bits, the largest below 2^127, the smallest from 2^-119 on."""
    plan, far = fpga.planned(ARM, Options(("id",))), Format(27, frac)
    if of_result:
        (word, _), *others = plan.results["id"]
        plan = replace(plan, results={"id": ((word, far), *others)})
    else:
        plan = replace(plan, formats={**plan.formats, next(iter(plan.formats)): far})
    Boundary().check(plan)
    if fits:
        Boundary(float32=True).check(plan)
    else:
        with pytest.raises(UnsupportedError, match=f"float32: a word of format s27.{frac} does not fit a float32"):
            Boundary(float32=True).check(plan)


def test_errors_are_those_of_one_set_of_states() -> None:
    plan = fpga.planned(ARM, Options(("id",)))
    usual, first, second = (fpga.errors(ARM, plan, 20, **seed) for seed in ({}, {"seed": 1}, {"seed": 2}))
    assert usual == first != second
