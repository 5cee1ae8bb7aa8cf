"""``Channel``: an unbounded queue between one part and another that can be closed.

Contract: ``send`` never blocks and keeps order; after ``close`` the receiver gets what was sent before, then the end;
sending on a closed channel raises ``ChannelClosed``. Use it where the sender must not wait and the number of items is
bounded by something else.

``send`` and ``close`` may be called from any thread (one that waits for processes, or watches files); receivers belong
to an event loop. No lock is needed: a receiver that is about to wait says so first, and then looks once more.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class ChannelClosed(Exception):
    """The channel is closed: nothing can be sent, or nothing more will come."""


class Channel(Generic[T]):
    """An unbounded queue from senders to receivers that can be closed; each item reaches one receiver.

    As a controller's source it carries keys of outside events. ``send`` and ``close`` may be called from any thread;
    receivers use ``async for`` on an event loop. Order is kept, and after ``close`` receivers get the rest, then the
    end.
    """

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._waiters: deque[asyncio.Future[None]] = deque()
        self.is_closed = False

    def __len__(self) -> int:
        """Return how many items wait for a receiver."""
        return len(self._items)

    def send(self, item: T) -> None:
        """Append an item; never blocks.

        Raises:
            ChannelClosed: The channel is closed.
        """
        if self.is_closed:
            raise ChannelClosed("the channel is closed; nothing can be sent on it")
        self._items.append(item)
        self._wake_one()

    def close(self) -> None:
        """End the channel: receivers get what was sent, then the end. It may be called twice."""
        self.is_closed = True
        while self._wake_one():
            pass

    def clear(self) -> None:
        """Drop the items that nobody has received."""
        self._items.clear()

    async def receive(self) -> T:
        """Wait for the next item.

        Raises:
            ChannelClosed: The channel is closed and empty.
        """
        while not self._items:
            if self.is_closed:
                raise ChannelClosed("the channel is closed and empty")
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                if not self._items and not self.is_closed:  # another thread may have sent just before it could see us
                    await waiter
            except BaseException:
                # A receiver that is cancelled just as it was woken passes the wake-up on, or an item would be stuck.
                if waiter.done() and not waiter.cancelled() and self._items:
                    self._wake_one()
                raise
            finally:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)
        return self._items.popleft()

    def __aiter__(self) -> Channel[T]:
        return self

    async def __anext__(self) -> T:
        try:
            return await self.receive()
        except ChannelClosed:
            raise StopAsyncIteration from None

    def _wake_one(self) -> bool:
        """Wake the receiver that has waited longest; False when nobody waits."""
        while self._waiters:
            try:
                waiter = self._waiters.popleft()
            except IndexError:  # another thread was faster
                return False
            if not waiter.done():
                loop = waiter.get_loop()
                if loop is _loop_of_this_thread():
                    waiter.set_result(None)
                else:
                    loop.call_soon_threadsafe(self._wake_from_afar, waiter)
                return True
        return False

    def _wake_from_afar(self, waiter: asyncio.Future[None]) -> None:
        """Wake a receiver for another thread; one that has given up meanwhile passes it on."""
        if not waiter.done():
            waiter.set_result(None)
        elif self._items:
            self._wake_one()


def _loop_of_this_thread() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
