"""Memory, events and settings that a call does not ask for anew."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import condyle
from condyle.backends.cuda import kernel as kernels
from condyle.runtime.cuda import driver as drivers
from tests.backends.cuda.fake_driver import FakeDriver
from tests.backends.cuda.simulate import made, robot
from tests.gpu.calls import dynamics, given, on_gpu, same, wanted
from tests.gpu.test_order import SPLIT


def test_memory_stays_mapped_between_calls(fake: FakeDriver) -> None:
    """Answers and scratch of the second call on are in memory that is there, though the GPU was waited for."""
    dyn = dynamics(kernels=SPLIT).on(5)
    lent = [on_gpu(fake, array) for array in given("dfd", 20)]
    mapped = list[int]()
    for _ in range(4):
        answers = dyn.forward_dynamics_derivatives(*lent)
        del answers
        fake.cuStreamSynchronize(5)
        mapped.append(fake.mapped)
    assert mapped[0] > 0
    assert mapped[1:] == mapped[:-1]


def test_the_pool_gives_back_what_is_too_much(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the device's own pool, which belongs to the whole process, is left as it is."""
    monkeypatch.setattr(drivers, "POOL_KEEPS", 1000)
    dyn = dynamics().on(5)
    answer = dyn.inverse_dynamics(*(on_gpu(fake, array) for array in given("id", 200)))
    own = next(pool for number, pool in fake.pools.items() if number)
    assert own.mapped == answer.nbytes > 1000
    del answer
    fake.cuStreamSynchronize(5)
    assert own.mapped == 1000
    assert (fake.pools[0].threshold, fake.pools[0].mapped) == (0, 0)


def test_stream_0_is_left_alone(fake: FakeDriver) -> None:
    """An array and constants that were made in it are waited for once by each stream."""
    dyn = dynamics()
    q, v, a = (on_gpu(fake, array) for array in given("id", 4))
    tau = dyn.inverse_dynamics(q, v, a)
    for stream in (5, 7):
        fake.legacy.clear()
        dyn.on(stream).forward_dynamics(q, v, tau)
        assert fake.legacy == ["cuEventRecord"]
        fake.legacy.clear()
        for _ in range(3):
            dyn.on(stream).forward_dynamics(q, v, tau)
        assert not fake.legacy


def test_an_array_that_was_lent_may_be_written_elsewhere(fake: FakeDriver) -> None:
    """A borrower writes it in the stream that made it: the next call waits there again."""
    dyn = dynamics()
    first, second = given("id", 4), given("id", 4, seed=1)
    q, v = (on_gpu(fake, array) for array in second[:2])
    a = dyn.forward_dynamics(q, v, on_gpu(fake, first[2]))
    a.__dlpack__(stream=-1)
    dyn.on(5).inverse_dynamics(q, v, a)
    rows = fake.memory.bytes_at(a.address, a.nbytes).view(np.float64).reshape(4, 7)
    fake.put(0, lambda: rows.__setitem__(slice(None), second[2]))
    same(dyn.on(5).inverse_dynamics(q, v, a).numpy(), wanted("id", second))


def test_numbers_of_the_robot_are_copied_once(fake: FakeDriver) -> None:
    """Also where each call is of an object of its own, as `dyn.on(torch.cuda.current_stream())` makes them."""
    robot = condyle.chain(2, rng=1)
    dyn = robot.compile(target="cuda", inputs=("gravity",))
    there = [on_gpu(fake, np.ones((4, 2))) for _ in range(3)]
    for array in there:
        array.shape = (4, 2)
    copies = list[int]()
    for _ in range(3):
        fake.calls.clear()
        fake.legacy.clear()
        dyn.on(5).inverse_dynamics(*there)
        copies.append(fake.calls.count("cuMemcpyHtoD"))
    assert copies == [1, 0, 0]
    assert not fake.legacy


def test_an_array_is_ready_where_it_was_written_last(fake: FakeDriver) -> None:
    """A copy for the processor, and other streams, wait for the stream of the last call that wrote it."""
    dyn = dynamics()
    first, second = given("id", 4), given("id", 4, seed=1)
    out = dyn.inverse_dynamics(*(on_gpu(fake, array) for array in first))
    dyn.on(5).inverse_dynamics(*(on_gpu(fake, array) for array in second), out=out)
    assert out.stream == 5
    back = dyn.on(7).forward_dynamics(on_gpu(fake, second[0]), on_gpu(fake, second[1]), out)
    fake.reach(7)
    same(back.numpy(), (second[2],))
    same(out.numpy(), wanted("id", second))


def test_kernels_with_tiles_ask_for_all_shared_memory(fake: FakeDriver) -> None:
    """Else the driver may leave room for one block where registers allow several; a kernel without keeps the cache."""
    dynamics(kernels=SPLIT).forward_dynamics_derivatives(*given("dfd", 4))
    with_tiles = list(fake.limits)
    assert len(with_tiles) == 4
    (part,) = made(robot("iiwa14"), "id", 64).launches
    text = dataclasses.replace(part.texts[0], pool=0)
    kernels.loaded(dataclasses.replace(part, texts=(text,)), drivers.gpu(0))
    assert len(fake.limits) == 5
    assert fake.carveouts == dict.fromkeys(with_tiles, 100)
