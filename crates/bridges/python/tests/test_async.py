"""Reading and writing from asyncio."""

import asyncio

import numpy as np

import hyperslab


def test_the_event_loop_goes_on(tmp_path):
    async def work():
        async with await hyperslab.File.open_async(tmp_path / "a.h5", "w") as f:
            grid = f.create_dataset("grid", (64, 10_000), "f8", chunks=(1, 10_000), compression="gzip")
            await asyncio.gather(*(grid.write_async(at, np.full(10_000, at)) for at in range(64)))
            await f.commit_async()
            rows = await asyncio.gather(*(grid.read_async(at) for at in range(64)))
            assert [row[0] for row in rows] == list(range(64))
            one, two = await hyperslab.read_many_async([grid, (grid, np.s_[3, :5])])
            assert one.shape == (64, 10_000) and two.tolist() == [3.0] * 5
        assert not f

    asyncio.run(work())


def test_errors_come_to_the_one_who_waits(tmp_path):
    async def work():
        f = hyperslab.File(tmp_path / "a.h5", "w")
        f["a"] = [1, 2]
        for call, expected in ((f["a"].read_async(5), IndexError), (hyperslab.File.open_async("none.h5"), OSError)):
            try:
                await call
            except expected:
                continue
            raise AssertionError(expected)
        f.close()

    asyncio.run(work())
