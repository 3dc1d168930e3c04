"""Which warnings end a test: those of Condyle, by their class or by their module; no other package's."""

from __future__ import annotations

import warnings

import pytest

from condyle import errors

OURS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Warning)]


def warn(category: type[Warning], module: str) -> None:
    warnings.warn_explicit("so it is", category, f"{module}.py", 1, module=module)


@pytest.mark.parametrize("category", OURS)
def test_every_class_of_warning_of_ours_is_an_error_wherever_it_is_raised(category: type[Warning]) -> None:
    with pytest.raises(category):
        warn(category, "somebody.program")


@pytest.mark.parametrize("category", [DeprecationWarning, RuntimeWarning, UserWarning])
@pytest.mark.parametrize("module", ["condyle", "condyle.runtime.cache", "tests.test_warnings", "benchmarks.bench"])
def test_every_warning_of_a_module_of_ours_is_an_error(module: str, category: type[Warning]) -> None:
    with pytest.raises(category):
        warn(category, module)


@pytest.mark.parametrize("category", [DeprecationWarning, FutureWarning, RuntimeWarning, UserWarning])
@pytest.mark.parametrize("module", ["numpy.lib", "condyles", "toolshed", "_pytest.terminal"])
def test_a_warning_of_another_package_is_said_and_no_error(module: str, category: type[Warning]) -> None:
    with warnings.catch_warnings(record=True) as said:  # not pytest.warns, which sets the filters aside
        warn(category, module)
    assert [line.category for line in said] == [category]


def test_what_is_lost_in_a_destructor_or_a_thread_is_an_error() -> None:
    for category in (pytest.PytestUnraisableExceptionWarning, pytest.PytestUnhandledThreadExceptionWarning):
        with pytest.raises(category):
            warn(category, "_pytest.unraisableexception")
