"""A base whose motion is given: functions of a floating robot that move its joints alone (Yang 2023, the root's modes).

With the base's rows and columns b, the joints' j:

    minv_given: M_jj⁻¹    fd_given: a_j = M_jj⁻¹ (tau_j - c_j(q, v, [a_b; 0]))    dfd_given: -M_jj⁻¹ dtau_j, M_jj⁻¹

among zeros, that all have the shapes of the floating robot's.

In M⁻¹ = L⁻¹ D⁻¹ L⁻ᵀ every term of an entry of the base has an entry of the base's D⁻¹, and M_jj has the same factors
without them: the base is given by taking its D⁻¹ as zero, a base so heavy that nothing moves it.
"""

from __future__ import annotations

from dataclasses import replace

from condyle.backends.fpga.datapath import Word
from condyle.backends.fpga.formats import Format
from condyle.functions import FUNCTIONS
from condyle.functions.quantities import A

SUFFIX = "_given"
GIVEN = {
    name + SUFFIX: replace(
        FUNCTIONS[name],
        name=name + SUFFIX,
        method="",
        equation=f"{FUNCTIONS[name].equation} of the joints, the motion of the base being given",
        inputs=tuple({port.name: port for port in (*FUNCTIONS[name].inputs, *extra)}.values()),
    )
    for name, extra in (("minv", ()), ("fd", (A,)), ("dfd", (A,)))
}
FLOATS = Word("floats", 0)
"""1 where the base moves as it must, 0 where its motion is given; an input of `mass`, made from the function."""
FLAG = Format(2, 0)


def kind(function: str) -> str:
    """The function that it is of a floating base."""
    return function.removesuffix(SUFFIX)


def both(*functions: str) -> tuple[str, ...]:
    """These, and the same of a given base."""
    return (*functions, *(name + SUFFIX for name in functions if name + SUFFIX in GIVEN))


def takes(function: str, word: Word, base: int) -> bool:
    """Whether a function uses an entry of an input that it has; the first `base` entries of v are the base's."""
    if function not in GIVEN:
        return True
    return {"a": word.index < base, "tau": word.index >= base}.get(word.name, True)
