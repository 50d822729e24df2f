import asyncio
import threading

from app.service.resources.notifier import Notifier
from tests.support.patience import PATIENCE


def test_a_wake_from_another_thread_ends_the_wait() -> None:
    notifier = Notifier()

    async def wait() -> bool:
        with notifier.subscribe("fit_1") as watch:
            threading.Thread(target=notifier.notify, args=("fit_1",)).start()
            return await watch.wait(PATIENCE)

    assert asyncio.run(wait())


def test_a_wake_between_reading_and_waiting_is_not_lost() -> None:
    notifier = Notifier()

    async def wait() -> list[bool]:
        with notifier.subscribe("fit_1") as watch:
            await asyncio.to_thread(notifier.notify, "fit_1")
            return [await watch.wait(PATIENCE), await watch.wait(0)]

    assert asyncio.run(wait()) == [True, False]


def test_other_fits_do_not_wake() -> None:
    notifier = Notifier()

    async def wait() -> bool:
        with notifier.subscribe("fit_1") as watch:
            notifier.notify("fit_2")
            return await watch.wait(0.01)

    assert not asyncio.run(wait())


def test_everybody_who_watches_is_woken() -> None:
    notifier = Notifier()

    async def one() -> bool:
        with notifier.subscribe("fit_1") as watch:
            return await watch.wait(PATIENCE)

    async def all_of_them() -> list[bool]:
        waiting = [asyncio.create_task(one()) for _ in range(50)]
        await asyncio.sleep(0)
        notifier.notify("fit_1")
        return await asyncio.gather(*waiting)

    assert all(asyncio.run(all_of_them()))


def test_nothing_is_kept_of_a_fit_that_nobody_watches() -> None:
    notifier = Notifier()

    async def watch_twice() -> None:
        with notifier.subscribe("fit_1"), notifier.subscribe("fit_1"):
            pass
        notifier.notify("fit_1")

    asyncio.run(watch_twice())
    assert not notifier._subscriptions


def test_the_end_wakes_everybody_at_once_and_for_good() -> None:
    notifier = Notifier()

    async def wait() -> bool:
        with notifier.subscribe("fit_1") as watch:
            asyncio.get_running_loop().call_soon(notifier.close)
            return await watch.wait(PATIENCE)

    assert asyncio.run(wait())
    assert notifier.closed


def test_a_wake_for_a_loop_that_is_gone_is_harmless() -> None:
    notifier = Notifier()

    async def leave() -> None:
        watching = notifier.subscribe("fit_1")
        watching.__enter__()
        loops.append(watching)

    loops: list[object] = []
    asyncio.run(leave())
    notifier.notify("fit_1")
