"""``Poller``: which of many links have something to read or room to write, found out for all at once.

asyncio has a handle for each socket, and calls each through the context that it was made in. A poller is one epoll
that holds all links, and itself the only thing that the event loop knows: an epoll can be polled. Where the system has
none, the event loop watches each link.

A poller holds something of the system's while a link waits, and nothing otherwise: there is nothing to close.
"""

from __future__ import annotations

import select
from typing import TYPE_CHECKING, Any

from attractor.objects.compiling import mypyc_attr

if TYPE_CHECKING:
    import asyncio

    from attractor.wire.link import Link

AT_ONCE = 32
"""Links that are told in one turn of the event loop; what else waits has its turn then."""


def poller(loop: asyncio.AbstractEventLoop) -> Poller:
    """The best poller that there is here."""
    return OneEpoll(loop) if hasattr(select, "epoll") else EachByItself(loop)


@mypyc_attr(allow_interpreted_subclasses=True)
class Poller:
    """Tells links when they may read or write."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop

    def wait(self, link: Link, *, reads: bool, writes: bool) -> None:
        """Tell a link when it may read, write, both or neither; this takes the place of what it waited for before."""

    def tell_readable(self, link: Link) -> None:
        """Let a link read; one that fails is ended, and hurts no other."""
        try:
            link.on_readable()
        except Exception as error:  # the boundary: asyncio's transports do the same
            self._end(link, error)

    def tell_writable(self, link: Link) -> None:
        """Let a link write; one that fails is ended, and hurts no other."""
        try:
            link.on_writable()
        except Exception as error:  # the boundary: asyncio's transports do the same
            self._end(link, error)

    def _end(self, link: Link, error: Exception) -> None:
        self.loop.call_exception_handler({"message": "a connection failed by a mistake", "exception": error})
        link.abort()


class OneEpoll(Poller):
    """All links in one epoll, which is there while any of them waits."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._links: dict[int, Link] = {}
        """By the numbers of their sockets; those that wait for something, and only those."""
        self._epoll: Any = None

    def wait(self, link: Link, *, reads: bool, writes: bool) -> None:
        """Tell a link when it may read, write, both or neither; this takes the place of what it waited for before."""
        number = link.number
        mask = (select.EPOLLIN if reads else 0) | (select.EPOLLOUT if writes else 0)
        is_known = number in self._links
        if mask and is_known:
            self._epoll.modify(number, mask)
        elif mask:
            self._add(number, link, mask)
        elif is_known:  # an epoll tells of broken connections whatever it is asked, so it has to forget this one
            self._remove(number)

    def _add(self, number: int, link: Link, mask: int) -> None:
        if self._epoll is None:
            self._epoll = select.epoll()
            self.loop.add_reader(self._epoll.fileno(), self._tell)
        self._epoll.register(number, mask)
        self._links[number] = link

    def _remove(self, number: int) -> None:
        del self._links[number]
        if self._links:
            self._epoll.unregister(number)
        else:
            self.loop.remove_reader(self._epoll.fileno())
            self._epoll.close()
            self._epoll = None

    def _tell(self) -> None:
        for number, mask in self._epoll.poll(0, AT_ONCE):
            link = self._links.get(number)
            if link is not None and mask != select.EPOLLOUT:
                self.tell_readable(link)
                link = self._links.get(number)
            if link is not None and mask != select.EPOLLIN:
                self.tell_writable(link)


class EachByItself(Poller):
    """Where there is no epoll: the event loop is asked for each link."""

    def wait(self, link: Link, *, reads: bool, writes: bool) -> None:
        """Tell a link when it may read, write, both or neither; this takes the place of what it waited for before."""
        loop, number = self.loop, link.number
        if reads:
            loop.add_reader(number, self.tell_readable, link)
        else:
            loop.remove_reader(number)
        if writes:
            loop.add_writer(number, self.tell_writable, link)
        else:
            loop.remove_writer(number)
