"""Watch streams: one change, encoded once, to any number of watchers; a slow one delays no other.

Watchers of the same collection, selectors and format share a ``Channel``. It reads the store's history once, encodes
each event once, frames the bytes once, and hands the same bytes to every member. The first change after a quiet time
goes out at once, further ones together after a rest (``rest_s``) that leaves the core to writers for most of the time.
Where the event loop is so busy that the rest is long over, a change is handed out from within the write that made it.

Nothing is queued for a watcher. One that does not read leaves the channel and keeps only the revision it has reached;
when it reads again it catches up from the store's history, on its own, and joins again. If by then the history is
compacted it gets 410, as any watcher that comes too late.
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
import time
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

from attractor.apiserver.verbs.watch import error_event
from attractor.httpd.reply import frame
from attractor.objects.errors import Gone, InternalError
from attractor.store.contract import Compacted

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from attractor.apiserver.verbs.watch import Watch, WatchEvent
    from attractor.httpd.pages.metrics import Metrics
    from attractor.httpd.reply import StreamWriter
    from attractor.objects.errors import ApiError
    from attractor.store.contract import Snapshot, Store

    Encoder = Callable[[WatchEvent], bytes]

log = logging.getLogger("attractor.httpd")

FLUSH_S = 0.002
REST = 7
SAVED_BYTES = 40 * 1024
"""A piece so large takes the kernel as long to copy as it takes to send one at all; waiting saves the latter only."""
MAX_REST_S = 0.1
"""Nobody waits longer than this for a change because of others who are told of it too."""
AGE_S = 0.008
"""How old a change should be at most when the last member has it, if that takes no more than a third of the core."""
LATE_S = 0.002
"""How long after the rest's end a change waits for the event loop's turn to be over."""
BATCH_EVENTS = 1000
TURN_S = 0.002
"""What watchers who begin, or who have fallen behind, may take of one step of the loop together."""
PIECE_BYTES = 64 * 1024
LAST_BOOKMARK_S = 5.0
"""Watches that may last at least so long end with a bookmark; Kubernetes sends short ones none."""
BOOKMARK_S = 60.0
MIN_TIMEOUT_S = 30 * 60


class WatchBroken(Exception):
    """Events cannot be told because of an error of the server's; the text is what the watcher is told instead."""


def encode_line(event: WatchEvent) -> bytes:
    """An event as one line of JSON."""
    return event.encode()


def rest_s(took_s: float, size_bytes: int) -> float:
    """How long to rest when handing out so much took so long.

    To rest makes pieces fewer and larger. So what counts is the time that a piece takes however small it is: ``REST``
    times that, which is an eighth of the core at most; less where that keeps ages below ``AGE_S``.
    """
    wanted_s = REST * took_s * SAVED_BYTES / (SAVED_BYTES + size_bytes)
    within_age_s = AGE_S - 2 * took_s
    if within_age_s >= 2 * took_s:
        wanted_s = min(wanted_s, within_age_s)
    return max(FLUSH_S, min(wanted_s, MAX_REST_S))


class Channel:
    """Everybody who is to be told the same."""

    def __init__(self, hub: WatchHub, key: Hashable, watch: Watch, encode: Encoder) -> None:
        self.hub = hub
        self.key = key
        self.watch = watch
        self.encode = encode
        self.revision = hub.store.revision
        """Every member has been handed every matching event up to here."""
        self.members: dict[WatchStream, None] = {}
        """Those who are as far as the channel and can take more; in order of arrival."""
        self.streams: set[WatchStream] = set()
        """All of them, those that lag included."""
        self._flush: asyncio.Handle | None = None
        self._rested_at = 0.0
        """When the next flush may be."""
        self._worked_at_s = 0.0
        """How much processor time this thread must have had before a flush may come from within a write."""
        self._end = hub.store.subscribe(watch.prefix, self._heard)

    def _heard(self, revision: int) -> None:
        if revision and not self._flush:
            # Nothing under this prefix was between: skipping it keeps a quiet channel clear of compaction.
            self.revision = max(self.revision, revision - 1)
        now = self.hub.loop.time()
        if self._flush is None:
            loop = self.hub.loop
            self._flush = (
                loop.call_soon(self.flush) if now >= self._rested_at else loop.call_at(self._rested_at, self.flush)
            )
        elif now > self._rested_at + LATE_S and time.thread_time() > self._worked_at_s:
            self._flush_within_a_write()

    def close(self) -> None:
        """Stop listening."""
        self._end()
        if self._flush is not None:
            self._flush.cancel()
            self._flush = None

    def catch_up(self) -> int:
        """Hand out what is new; afterwards the channel is as new as the store. Answers that revision."""
        if self._flush is not None:
            self._flush.cancel()
            self.flush()
        if self._flush is None:
            self.revision = max(self.revision, self.hub.store.revision)
        return self.revision

    def flush(self) -> None:
        """Read, encode and hand out what is new."""
        self._flush = None
        try:
            self._hand_out()
        except (Compacted, WatchBroken) as error:
            for stream in tuple(self.members):
                stream.fail(error)
            self.revision = self.hub.store.revision

    def _flush_within_a_write(self) -> None:
        """The turn of the event loop is long: do not wait for its end.

        Ending streams is left to the flush that waits for it, because a connection goes on with its next request
        then, which may be a write, and one is being published. How much this takes is judged by processor time:
        where others use the core too, much time passes between any two writes.
        """
        waiting, self._flush = self._flush, None
        try:
            self._hand_out()
        except (Compacted, WatchBroken):
            self._flush = waiting
            return
        if waiting is not None:
            waiting.cancel()

    def _hand_out(self) -> None:
        """Tell the members, and rest as long as that deserves; raises ``Compacted`` and ``WatchBroken``."""
        started, worked_s = self.hub.loop.time(), time.thread_time()
        data, self.revision, is_all = self.read(self.revision)
        if data:
            framed = frame(data)
            for stream in tuple(self.members):
                stream.deliver(data, framed)
        self._rest(started, worked_s, len(data))
        if not is_all and self._flush is None:
            self._flush = self.hub.loop.call_soon(self.flush)

    def _rest(self, started: float, worked_s: float, size_bytes: int) -> None:
        ended, now_s = self.hub.loop.time(), time.thread_time()
        self._rested_at = ended + rest_s(ended - started, size_bytes)
        self._worked_at_s = now_s + rest_s(now_s - worked_s, size_bytes)

    def read(self, after: int) -> tuple[bytes, int, bool]:
        """The encoded events after a revision, how far they go, and whether that is all there is."""
        store = self.hub.store
        batch = store.events_after(self.watch.prefix, after, limit=BATCH_EVENTS)
        with reporting_errors():
            told = [event for event in map(self.watch.translate, batch.events) if event is not None]
            data = b"".join(map(self.encode, told))
        self.hub.metrics.watch_events += len(told)
        return data, batch.revision, batch.revision >= store.revision


class WatchStream:
    """One watcher: initial state, then what it missed, then live."""

    def __init__(self, channel: Channel, watch: Watch, initial: Iterator[bytes], timeout_s: float) -> None:
        self._channel = channel
        self._watch = watch
        self._initial: Iterator[bytes] | None = initial
        self._revision = watch.after
        """How far this watcher is; while it is a member, the channel's revision counts."""
        self._timeout_s = timeout_s
        self._writer: StreamWriter | None = None
        self._timeout_timer: asyncio.TimerHandle | None = None
        self._bookmark_timer: asyncio.TimerHandle | None = None
        self._is_waiting = False
        """Whether it is in the hub's line for its next piece."""

    # The connection calls these (``Stream``).

    def start(self, writer: StreamWriter) -> None:
        """The head is sent."""
        self._writer = writer
        loop = self._channel.hub.loop
        self._timeout_timer = loop.call_later(self._timeout_s, self._time_out)
        if self._watch.bookmarks:
            jitter = random.uniform(0.9, 1.1)  # noqa: S311 - spreads load, hides nothing
            self._bookmark_timer = loop.call_later(BOOKMARK_S * jitter, self._bookmark)
        self.resumed()

    def resumed(self) -> None:
        """The client reads again: go on where it stopped."""
        if self._writer is not None and self not in self._channel.members:
            self._wait()

    def _wait(self) -> None:
        if not self._is_waiting:
            self._is_waiting = True
            self._channel.hub.wait(self)

    def finish(self) -> None:
        """The server stops: a clean end."""
        self._end()

    def lost(self) -> None:
        """The client is gone."""
        self._leave()

    # The channel calls these.

    def deliver(self, data: bytes, framed: bytes) -> None:
        """Hand over what is new; a client that cannot take more leaves the members."""
        assert self._writer is not None
        self._writer.write(data, framed)
        if self._writer is not None and self._writer.is_paused:
            self._channel.members.pop(self, None)
            self._revision = self._channel.revision

    def fail(self, error: Compacted | WatchBroken) -> None:
        """The watch cannot go on: one ERROR event, then the end."""
        if self._writer is not None:
            line = self._channel.encode(error_event(status_of(error)))
            self._writer.write(line, frame(line))
        self._end()

    # One step after the other until the watcher is live.

    def catch_up(self) -> None:
        """Write one piece; come back for the next when others had their turn, until this watcher can join."""
        self._is_waiting = False
        writer, channel = self._writer, self._channel
        if writer is None:
            return
        try:
            piece = self._next_piece()
        except (Compacted, WatchBroken) as error:
            self.fail(error)
            return
        if piece:
            writer.write(piece, frame(piece))
            if writer.is_paused:
                return
        if self._initial is None and self._revision >= channel.catch_up():
            channel.members[self] = None
            return
        self._wait()

    def _next_piece(self) -> bytes:
        """The next bytes of the initial state, then of the history; empty where one ends."""
        if self._initial is not None:
            with reporting_errors():
                piece = b"".join(_pieces(self._initial, PIECE_BYTES))
            if not piece:
                self._initial = None
        else:
            piece, self._revision, _ = self._channel.read(self._revision)
        return piece

    def _bookmark(self) -> None:
        self._bookmark_timer = self._channel.hub.loop.call_later(BOOKMARK_S, self._bookmark)
        self._send_bookmark()

    def _send_bookmark(self) -> None:
        """Say how far the watcher is; one that lags is not told, for it would skip what it has not seen."""
        if self in self._channel.members and self._writer is not None:
            revision = self._channel.catch_up()
            if self in self._channel.members:
                line = self._channel.encode(self._watch.bookmark(revision))
                self._writer.write(line, frame(line))

    def _time_out(self) -> None:
        if self._watch.bookmarks and self._timeout_s >= LAST_BOOKMARK_S:
            self._send_bookmark()
        self._end()

    def _end(self) -> None:
        writer = self._writer
        self._leave()
        if writer is not None:
            writer.end()

    def _leave(self) -> None:
        self._writer = None
        for handle in (self._timeout_timer, self._bookmark_timer):
            if handle is not None:
                handle.cancel()
        self._channel.hub.forget(self._channel, self)


class FailedStream:
    """A watch that cannot begin: one ERROR event, then the end."""

    def __init__(self, error: Compacted, encode: Encoder) -> None:
        self._line = encode(error_event(status_of(error)))

    def start(self, writer: StreamWriter) -> None:
        """Say so and end."""
        writer.write(self._line, frame(self._line))
        writer.end()

    def resumed(self) -> None:
        """Nothing is left to write."""

    def finish(self) -> None:
        """Nothing is left to write."""

    def lost(self) -> None:
        """Nothing is held."""


class WatchHub:
    """All watch streams of a server."""

    def __init__(self, store: Store, metrics: Metrics) -> None:
        self.store = store
        self.metrics = metrics
        self.loop = asyncio.get_running_loop()
        self._channels: dict[Hashable, Channel] = {}
        self.turn_s = TURN_S
        self._line: deque[WatchStream] = deque()
        """Watchers that are to be told their next piece, first come, first served."""
        self._has_turn = False
        """Whether the next turn is due already."""
        metrics.gauge("apiserver_longrunning_requests", "Open watch streams.", lambda: float(self.streams))

    def wait(self, stream: WatchStream) -> None:
        """A watcher is to be told what there is, when it is its turn: those who begin leave time for everybody else."""
        self._line.append(stream)
        self._come_round()

    def _come_round(self) -> None:
        if self._line and not self._has_turn:
            self._has_turn = True
            self.loop.call_soon(self._take_turn)

    def _take_turn(self) -> None:
        self._has_turn = False
        until = self.loop.time() + self.turn_s
        for _ in range(len(self._line)):
            self._line.popleft().catch_up()
            if self.loop.time() >= until:
                break
        self._come_round()

    @property
    def streams(self) -> int:
        """How many watchers there are."""
        return sum(len(channel.streams) for channel in self._channels.values())

    def open(
        self,
        watch: Watch,
        key: Hashable,
        snapshot: Snapshot,
        *,
        timeout_s: int | None = None,
        encode: Encoder = encode_line,
    ) -> WatchStream | FailedStream:
        """A stream for a watch; ``key`` is equal for watches that are to be told exactly the same."""
        try:
            self.store.events_after(watch.prefix, watch.after, limit=1)
        except Compacted as error:
            return FailedStream(error, encode)
        channel = self._channels.get(key)
        if channel is None:
            channel = self._channels[key] = Channel(self, key, watch, encode)
        initial = map(encode, watch.initial_events(snapshot))
        stream = WatchStream(channel, watch, initial, timeout_s or random.uniform(1, 2) * MIN_TIMEOUT_S)  # noqa: S311
        channel.streams.add(stream)
        return stream

    def forget(self, channel: Channel, stream: WatchStream) -> None:
        """A watcher has gone; the last one closes the channel."""
        channel.members.pop(stream, None)
        channel.streams.discard(stream)
        if not channel.streams and self._channels.get(channel.key) is channel:
            del self._channels[channel.key]
            channel.close()

    def check_invariants(self) -> None:
        """What holds between any two steps of the event loop."""
        for key, channel in self._channels.items():
            assert channel.key == key, "a channel is filed under another key"
            assert channel.streams, "a channel without watchers is kept"
            assert set(channel.members) <= channel.streams, "a member is not among the streams"


def _pieces(items: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Items up to about a size."""
    total = 0
    for item in items:
        yield item
        total += len(item)
        if total >= size:
            return


def status_of(error: Compacted | WatchBroken) -> ApiError:
    """What the watcher is told."""
    if isinstance(error, Compacted):
        return Gone(f"too old resource version: {error.asked} ({error.oldest})")
    return InternalError(str(error))


@contextmanager
def reporting_errors() -> Iterator[None]:
    """Log whatever goes wrong under a reference, and raise ``WatchBroken`` with it."""
    try:
        yield
    except Exception as error:
        reference = secrets.token_hex(6)
        log.exception("internal error in a watch", extra={"reference": reference})
        raise WatchBroken(f"Internal error occurred: see the server's log for reference {reference}") from error
