"""``Topic``: publish to whoever subscribed, without ever waiting for them.

Contract: ``publish`` never blocks, whatever subscribers do; each subscriber gets everything published while it was
subscribed, in order; cancelling drops what it had not received yet and ends its iteration, also from another task;
``on_first`` runs before the first subscriber gets anything, ``on_last`` after the last one is gone. ``publish`` may be
called from any thread; everything else belongs to the event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from attractor.runtime.toolkit.channel import Channel

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

T = TypeVar("T")


class Subscription(Generic[T]):
    """One subscriber of a ``Topic``: iterate with ``async for``; leaving its ``with`` block cancels it."""

    def __init__(self, topic: Topic[T]) -> None:
        self._topic = topic
        self._channel: Channel[T] = Channel()

    @property
    def is_cancelled(self) -> bool:
        """Return whether it is cancelled, and gets nothing more."""
        return self._channel.is_closed

    def deliver(self, item: T) -> None:
        """Keep an item for the subscriber; dropped if it is cancelled."""
        if not self._channel.is_closed:
            self._channel.send(item)

    def cancel(self) -> None:
        """Get nothing more, and drop what was not received; from anywhere, also twice."""
        if not self._channel.is_closed:
            self._channel.clear()
            self._channel.close()
            self._topic.remove(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        return await self._channel.__anext__()


class Topic(Generic[T]):
    """Publishes items to whoever subscribed, without ever waiting for them.

    Guarantees: ``publish`` never blocks, from any thread; each subscriber gets everything that is published while it is
    subscribed, in order.

    Args:
        on_first: Called before the first subscriber gets anything.
        on_last: Called after the last subscriber is gone.
    """

    def __init__(self, on_first: Callable[[], None] | None = None, on_last: Callable[[], None] | None = None) -> None:
        self._on_first = on_first
        self._on_last = on_last
        self._subscriptions: list[Subscription[T]] = []

    def __len__(self) -> int:
        """Return the number of subscribers."""
        return len(self._subscriptions)

    def subscribe(self) -> Subscription[T]:
        """Subscribe; returns where the items arrive."""
        subscription: Subscription[T] = Subscription(self)
        if not self._subscriptions and self._on_first is not None:
            self._on_first()
        self._subscriptions.append(subscription)
        return subscription

    def publish(self, item: T) -> None:
        """Give an item to every current subscriber."""
        for subscription in tuple(self._subscriptions):
            subscription.deliver(item)

    def remove(self, subscription: Subscription[T]) -> None:
        """Remove a subscription; ``Subscription.cancel`` calls it."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)
            if not self._subscriptions and self._on_last is not None:
                self._on_last()
