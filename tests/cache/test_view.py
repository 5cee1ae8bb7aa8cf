"""A view and own writes: worked examples, then every interleaving that Hypothesis can think of."""

from typing import Any

import orjson
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from attractor.cache.changes import Added, Deleted, Updated
from attractor.cache.core import UNSURE, ViewCore
from attractor.cache.own_writes import Question, Removed
from attractor.client.kinds import EncodedObject
from attractor.objects.gvk import Key

A, B = Key("n", "a"), Key("n", "b")


def obj(key: Key, version: int, uid: str = "u", **fields: Any) -> EncodedObject:
    metadata = {"namespace": key.namespace, "name": key.name, "uid": uid, "resourceVersion": str(version)}
    return EncodedObject(key, uid, str(version), orjson.dumps({"metadata": metadata, **fields}))


def view(*objects: EncodedObject, version: int = 1) -> ViewCore:
    made = ViewCore(lambda one: orjson.loads(one.json), indexes={"colours": lambda one: one.get("colours", ())})
    made.replace(str(version), made.begin(), objects)
    return made


def test_a_written_object_is_served_until_the_watch_has_passed_it() -> None:
    core = view(obj(A, 5), version=5)
    core.wrote(obj(A, 9))
    assert core.get(A) == obj(A, 9)
    assert core.observe("MODIFIED", obj(A, 7)) == Updated(obj(A, 5), obj(A, 7))
    assert core.get(A) == obj(A, 9)
    assert core.observe("MODIFIED", obj(A, 9)) == Updated(obj(A, 7), obj(A, 9))
    assert (core.get(A), core.pending) == (obj(A, 9), {})
    assert core.observe("MODIFIED", obj(A, 11)) is not None
    assert core.get(A) == obj(A, 11)


def test_a_created_object_is_there_at_once_so_that_nobody_creates_it_again() -> None:
    core = view()
    core.wrote(obj(A, 2))
    assert list(core.select()) == [obj(A, 2)]
    core.advance("3")
    assert core.pending == {}


def test_another_objects_event_at_the_same_version_does_not_end_the_wait() -> None:
    core = view(obj(A, 1), obj(B, 1), version=1)
    core.wrote(obj(A, 4))
    core.observe("MODIFIED", obj(B, 4))
    assert core.get(A) == obj(A, 4)


def test_what_the_watch_tells_of_the_past_is_no_news() -> None:
    core = view(obj(A, 9), version=9)
    assert core.observe("MODIFIED", obj(A, 7)) is None
    assert core.observe("DELETED", obj(A, 8)) is None
    assert core.observe("MODIFIED", obj(A, 9)) is None
    assert core.get(A) == obj(A, 9)
    assert core.observe("DELETED", obj(A, 9)) == Deleted(obj(A, 9)), "some servers show the last version it had"


def test_an_answer_between_two_events_of_its_version_is_served_until_its_own_event() -> None:
    core = view(obj(A, 1), obj(B, 1), version=1)
    core.observe("MODIFIED", obj(B, 4))
    core.wrote(obj(A, 4))
    assert core.get(A) == obj(A, 4)
    core.observe("MODIFIED", obj(A, 4))
    assert core.pending == {}


def test_an_answer_that_comes_after_its_event_changes_nothing() -> None:
    core = view(obj(A, 1))
    core.observe("MODIFIED", obj(A, 4))
    core.observe("MODIFIED", obj(A, 6))
    core.wrote(obj(A, 4))
    assert (core.get(A), core.pending) == (obj(A, 6), {})


def test_answers_that_come_in_the_wrong_order_leave_the_newest() -> None:
    core = view(obj(A, 1))
    core.sending(A)
    core.sending(A)
    core.wrote(obj(A, 6))
    core.settled(A)
    core.resolve(core.asking(A), obj(A, 6))
    core.wrote(obj(A, 4))
    core.settled(A)
    assert core.get(A) == obj(A, 6)


def test_a_write_that_follows_another_is_newer_whatever_the_versions_say() -> None:
    core = view(version=500)
    core.wrote(obj(A, 501, "lost"))
    begun = core.begin()
    core.wrote(obj(A, 12, "new"))
    assert core.get(A) == obj(A, 12, "new"), "the server has lost its data, and counts from the start"
    core.replace("11", begun, [])
    assert core.get(A) == obj(A, 12, "new")


def test_a_deleted_object_is_gone_at_once_and_its_successor_is_not() -> None:
    core = view(obj(A, 1, "u1"))
    core.sending(A)
    core.deleted(A, "u1")
    core.settled(A)
    assert core.get(A) is None
    core.observe("MODIFIED", obj(A, 3, "u1"))
    assert core.get(A) is None
    assert core.observe("DELETED", obj(A, 4, "u1")) == Deleted(obj(A, 4, "u1"))
    core.observe("ADDED", obj(A, 5, "u2"))
    assert core.get(A) == obj(A, 5, "u2")


def test_a_deletion_that_was_told_before_it_was_answered_hides_nothing() -> None:
    core = view(obj(A, 1, "u1"))
    core.sending(A)
    core.observe("DELETED", obj(A, 4, "u1"))
    core.deleted(A, "u1")
    core.settled(A)
    assert core.pending == {}


def test_deleting_what_the_watch_has_not_told_yet_hides_it_when_it_comes() -> None:
    core = view(obj(A, 1, "u1"))
    core.sending(A)
    core.deleted(A, "u2")
    core.settled(A)
    assert core.get(A) is None
    core.observe("DELETED", obj(A, 2, "u1"))
    core.observe("ADDED", obj(A, 3, "u2"))
    assert core.get(A) is None
    core.observe("DELETED", obj(A, 4, "u2"))
    assert core.pending == {}


def test_a_predecessor_that_the_watch_tells_late_is_gone_like_the_object_that_was_deleted() -> None:
    core = view()
    core.wrote(obj(A, 13, "second"))
    core.deleted(A, "second")
    core.observe("ADDED", obj(A, 11, "first"))
    assert core.get(A) is None
    core.observe("DELETED", obj(A, 12, "first"))
    core.observe("ADDED", obj(A, 13, "second"))
    assert core.get(A) is None
    core.observe("DELETED", obj(A, 14, "second"))
    core.observe("ADDED", obj(A, 15, "third"))
    assert (core.get(A), core.pending) == (obj(A, 15, "third"), {})


def test_a_list_that_began_after_a_write_settles_it_whatever_the_versions_say() -> None:
    core = view(obj(A, 500), version=500)
    core.wrote(obj(A, 501))
    begun = core.begin()
    changes = core.replace("3", begun, [obj(B, 2)])
    assert changes == [Deleted(obj(A, 500)), Added(obj(B, 2))]
    assert (core.get(A), core.pending) == (None, {})


def test_the_end_of_an_object_that_only_an_own_write_showed_is_told_by_the_list() -> None:
    core = view()
    core.wrote(obj(A, 7))
    assert core.get(A) == obj(A, 7)
    assert core.replace("9", core.begin(), []) == [Deleted(obj(A, 7))]
    assert (core.get(A), core.pending) == (None, {})


def test_a_list_that_began_before_a_write_does_not_hide_it() -> None:
    core = view()
    begun = core.begin()
    core.wrote(obj(A, 7))
    core.replace("6", begun, [])
    assert core.get(A) == obj(A, 7)
    core.replace("7", begun, [obj(A, 7)])
    assert core.pending == {}


def test_an_object_that_left_the_scope_with_the_write_is_not_shown() -> None:
    core = view(obj(A, 1))
    core.wrote(obj(A, 4), in_scope=False)
    assert (core.get(A), list(core.select())) == (None, [])
    core.observe("DELETED", obj(A, 4))
    assert core.pending == {}


def test_what_is_unsure_is_resolved_by_asking() -> None:
    core = view(obj(A, 1))
    core.unsure(A)
    core.unsure(B)
    assert (core.get(A), core.unsure_keys()) == (UNSURE, [A, B])
    core.resolve(core.asking(A), obj(A, 5))
    core.resolve(core.asking(B), None)
    assert (core.get(A), core.get(B), core.unsure_keys()) == (obj(A, 5), None, [])
    core.unsure(A)
    core.resolve(core.asking(A), None)
    assert isinstance(core.pending[A], Removed)
    assert core.get(A) is None


def test_an_own_write_is_not_taken_back_after_a_doubt_that_ended_with_there_is_none() -> None:
    core = view(version=10)
    core.wrote(obj(A, 11, "u"))
    core.wrote(obj(A, 12, "u"))
    core.unsure(A)
    core.resolve(core.asking(A), None)
    assert core.observe("ADDED", obj(A, 11, "u")) == Added(obj(A, 11, "u"))
    assert core.get(A) is None
    core.observe("MODIFIED", obj(A, 12, "u"))
    core.observe("DELETED", obj(A, 13, "u"))
    core.observe("ADDED", obj(A, 14, "v"))
    assert (core.get(A), core.pending) == (obj(A, 14, "v"), {})


def test_there_is_none_is_not_believed_of_an_object_that_came_or_went_while_the_answer_was_on_its_way() -> None:
    core = view(obj(A, 1, "u"))
    core.unsure(A)
    asked = core.asking(A)
    core.observe("DELETED", obj(A, 2, "u"))
    core.observe("ADDED", obj(A, 3, "v"))
    core.resolve(asked, None)
    assert core.get(A) == UNSURE
    core.resolve(core.asking(A), obj(A, 3, "v"))
    assert (core.get(A), core.pending) == (obj(A, 3, "v"), {})


def test_a_question_that_is_older_than_the_doubt_does_not_end_it() -> None:
    core = view(obj(A, 1))
    core.unsure(A)
    asked = core.asking(A)
    core.unsure(A)
    core.resolve(asked, obj(A, 1))
    assert core.get(A) == UNSURE


def test_a_list_that_was_made_before_an_own_deletion_and_shows_nothing_leaves_it_open_what_the_watch_will_tell() -> (
    None
):
    core = view(version=10)
    begun = core.begin()
    core.wrote(obj(A, 11, "u"))
    core.deleted(A, "u")
    core.replace("10", begun, [])
    asked = core.asking(A)
    assert (core.get(A), asked.wants_version) == (UNSURE, True)
    core.resolve(asked, None)
    assert core.get(A) == UNSURE, "without a version it is not known for how long to look away"
    core.resolve(asked, None, version="12")
    core.observe("ADDED", obj(A, 11, "u"))
    assert core.get(A) is None
    core.observe("DELETED", obj(A, 12, "u"))
    core.observe("ADDED", obj(A, 13, "v"))
    assert (core.get(A), core.pending) == (obj(A, 13, "v"), {})


def test_a_list_that_was_made_after_an_own_deletion_hides_no_successor() -> None:
    core = view(obj(A, 10, "u"), version=10)
    begun = core.begin()
    core.deleted(A, "u")
    core.replace("11", begun, [])
    core.resolve(core.asking(A), None, version="11")
    core.observe("ADDED", obj(A, 12, "v"))
    assert (core.get(A), core.pending) == (obj(A, 12, "v"), {})


def test_a_deletion_of_nobody_knows_which_object_is_cleared_up_by_a_version() -> None:
    core = view(obj(A, 1, "u"))
    core.deleted(A, "")
    assert core.asking(A).wants_version
    core.resolve(core.asking(A), obj(A, 5, "v"))
    assert core.get(A) == obj(A, 5, "v")


def test_what_was_found_while_a_deletion_was_under_way_is_looked_at_again_when_the_deletion_is_answered() -> None:
    core = view(obj(A, 1, "u"))
    core.sending(A)
    core.unsure(A)
    core.resolve(core.asking(A), obj(A, 3, "v"))
    core.deleted(A, "u")
    core.settled(A)
    assert core.get(A) == UNSURE, "was the one that was found made before or after?"
    core.resolve(core.asking(A), obj(A, 3, "v"))
    assert core.get(A) == obj(A, 3, "v")


def test_versions_that_are_no_numbers_are_told_with_their_own_event() -> None:
    def content(key: Key, version: str) -> EncodedObject:
        return EncodedObject(key, "u", version, b"{}")

    core = ViewCore(lambda one: one)
    core.replace("x", core.begin(), [content(A, "aa")])
    core.wrote(content(A, "bb"))
    core.observe("ADDED", content(B, "zz"))
    assert core.get(A) == content(A, "bb")
    core.observe("MODIFIED", content(A, "bb"))
    assert core.pending == {}


def test_indexes_know_own_writes() -> None:
    core = view(obj(A, 1, colours=["red", "blue"]), obj(B, 1, colours=["red"]))
    assert [one.key for one in core.select(index=("colours", "red"))] == [A, B]
    core.wrote(obj(A, 2, colours=["green"]))
    assert [one.key for one in core.select(index=("colours", "red"))] == [B]
    assert [one.key for one in core.select(index=("colours", "green"))] == [A]


def test_a_view_is_a_value_that_can_be_kept_and_restored() -> None:
    core = view(obj(A, 1))
    core.wrote(obj(B, 2))
    kept = core.state()
    core.observe("DELETED", obj(A, 5))
    assert core.state() != kept
    core.restore(kept)
    core.check_invariants()
    assert (core.state(), core.get(B)) == (kept, obj(B, 2))
    assert len({kept, core.state()}) == 1


KEYS = st.sampled_from([A, A, A, B])


class Interleavings(RuleBasedStateMachine):
    """A server with a history, a view that follows it with a lag, and a process that writes and gets answers late."""

    @initialize()
    def start(self) -> None:
        self.history: list[tuple[int, Key, EncodedObject | None, EncodedObject]] = []
        """Revision, key, new state (None: deleted), and what a watch tells."""
        self.store: dict[Key, EncodedObject] = {}
        self.revision = 10
        self.told = 10
        """How far the watch is."""
        self.answered: list[EncodedObject] = []
        """What the process was ever told by answers of the server."""
        self.acknowledged: dict[Key, int] = {}
        """The newest own write of each key that was answered."""
        self.answers: list[tuple[str, Key, EncodedObject]] = []
        """Own writes that happened and are not answered yet."""
        self.questions: list[tuple[Question, EncodedObject | None, str]] = []
        """What the server was asked and has answered: what it found, and at which version if that was wanted."""
        self.listing: tuple[int, int, dict[Key, EncodedObject], int] | None = None
        self.is_other_server = False
        """The server lost its data, and no list has begun since."""
        self.epoch = 0
        self.core = ViewCore(lambda one: orjson.loads(one.json))
        self.heard: dict[Key, EncodedObject] = {}
        self._hear(self.core.replace("10", self.core.begin(), []))

    def _hear(self, changes: Any) -> None:
        """A handler's picture: what it has heard of."""
        for change in changes:
            match change:
                case Added(new):
                    assert new.key not in self.heard
                    self.heard[new.key] = new
                case Updated(old, new):
                    assert self.heard[new.key] == old
                    self.heard[new.key] = new
                case Deleted(old):
                    assert old.key in self.heard or old in self.answered
                    self.heard.pop(old.key, None)

    def _put(self, key: Key) -> EncodedObject:
        self.revision += 1
        uid = self.store[key].uid if key in self.store else f"u{self.epoch}.{self.revision}"
        made = obj(key, self.revision, uid)
        self.store[key] = made
        self.history.append((self.revision, key, made, made))
        return made

    def _delete(self, key: Key) -> EncodedObject:
        self.revision += 1
        made = obj(key, self.revision, self.store.pop(key).uid)
        self.history.append((self.revision, key, None, made))
        return made

    @rule(key=KEYS)
    def rival_writes(self, key: Key) -> None:
        self._put(key)

    @rule(key=KEYS)
    def rival_deletes(self, key: Key) -> None:
        if key in self.store:
            self._delete(key)

    @rule(key=KEYS, is_answered=st.booleans())
    def own_write_happens(self, key: Key, is_answered: bool) -> None:
        self.core.sending(key)
        what = "wrote" if key in self.store else "created"
        self.answers.append((what, key, self._put(key)))
        if is_answered:
            self._acknowledge(len(self.answers) - 1)

    @rule(key=KEYS, is_answered=st.booleans())
    def own_write_changes_nothing(self, key: Key, is_answered: bool) -> None:
        """The answer is the object as it was stored, perhaps long ago."""
        if key in self.store:
            self.core.sending(key)
            self.answers.append(("wrote", key, self.store[key]))
            if is_answered:
                self._acknowledge(len(self.answers) - 1)

    @rule(key=KEYS, is_answered=st.booleans(), is_named=st.booleans())
    def own_delete_happens(self, key: Key, is_answered: bool, is_named: bool) -> None:
        if key in self.store:
            self.core.sending(key)
            self.answers.append(("deleted" if is_named else "deleted somebody", key, self._delete(key)))
            if is_answered:
                self._acknowledge(len(self.answers) - 1)

    def _answer(self, what: str, key: Key, answered: EncodedObject) -> None:
        if what in {"wrote", "created"}:
            self.answered.append(answered)
            self.core.wrote(answered, is_new=what == "created")
        else:
            self.core.deleted(key, answered.uid if what == "deleted" else "")
        self.core.settled(key)

    def _acknowledge(self, number: int) -> None:
        what, key, answered = self.answers.pop(number)
        self._answer(what, key, answered)
        self.acknowledged[key] = max(self.acknowledged.get(key, 0), int(answered.resource_version))

    @precondition(lambda self: self.answers)
    @rule(data=st.data())
    def an_answer_comes(self, data: st.DataObject) -> None:
        self._acknowledge(data.draw(st.integers(0, len(self.answers) - 1)))

    @precondition(lambda self: self.answers)
    @rule(data=st.data())
    def an_answer_is_lost(self, data: st.DataObject) -> None:
        _, key, _ = self.answers.pop(data.draw(st.integers(0, len(self.answers) - 1)))
        self.core.unsure(key, may_happen=True)
        self.core.settled(key)

    @rule(key=KEYS)
    def own_write_is_refused(self, key: Key) -> None:
        """It exists already, has changed, or is gone: whatever it is, our view may be older."""
        self.core.sending(key)
        self.core.unsure(key)
        self.core.settled(key)
        told = [revision for revision, at, _, _ in self.history if at == key]
        if told:
            self.acknowledged[key] = max(self.acknowledged.get(key, 0), told[-1])

    @rule(is_answered=st.booleans())
    def the_server_is_asked_about_the_unsure(self, is_answered: bool) -> None:
        for key in self.core.unsure_keys():
            asked, found = self.core.asking(key), self.store.get(key)
            self.questions.append((asked, found, str(self.revision) if asked.wants_version else ""))
            if is_answered:
                self._resolve(len(self.questions) - 1)

    def _resolve(self, number: int) -> None:
        asked, found, version = self.questions.pop(number)
        self.answered += [found] if found is not None else []
        self.core.resolve(asked, found, version=version)

    @precondition(lambda self: self.questions)
    @rule(data=st.data())
    def a_question_is_answered(self, data: st.DataObject) -> None:
        self._resolve(data.draw(st.integers(0, len(self.questions) - 1)))

    @precondition(lambda self: self.listing is None and not self.is_other_server)
    @rule(count=st.integers(1, 4))
    def the_watch_tells(self, count: int) -> None:
        for revision, _, new, shown in [one for one in self.history if one[0] > self.told][:count]:
            before = any(key == shown.key and r <= self.told and n is not None for r, key, n, _ in self.history[-50:])
            kind = "DELETED" if new is None else "MODIFIED" if before else "ADDED"
            change = self.core.observe(kind, shown)  # type: ignore[arg-type]
            self._hear([] if change is None else [change])
            self.told = revision

    @precondition(lambda self: self.listing is None and not self.is_other_server)
    @rule()
    def a_bookmark_comes(self) -> None:
        if self.told == self.revision:
            self.core.advance(str(self.revision))

    @rule(is_late=st.booleans())
    def a_list_begins(self, is_late: bool) -> None:
        self.listing = (self.core.begin(), self.revision, dict(self.store), int(is_late))
        self.is_other_server = False

    @precondition(lambda self: self.listing is not None)
    @rule()
    def the_list_ends(self) -> None:
        assert self.listing is not None
        begun, revision, objects, is_late = self.listing
        if is_late:
            revision, objects = self.revision, dict(self.store)
        self._hear(self.core.replace(str(revision), begun, objects.values()))
        self.told = revision
        self.listing = None

    @rule()
    def the_server_comes_back_empty(self) -> None:
        self.epoch += 1
        self.history, self.store, self.revision = [], {}, 10 + self.epoch
        self.acknowledged = {}
        for _, key, _ in self.answers:
            self.core.unsure(key)
            self.core.settled(key)
        self.answers, self.questions = [], []
        self.listing, self.is_other_server = None, True

    @invariant()
    def nothing_is_older_than_an_own_write(self) -> None:
        if self.is_other_server or self.listing is not None:
            return
        for key, version in self.acknowledged.items():
            states = [new for revision, at, new, _ in self.history if at == key and revision >= version]
            got = self.core.get(key)
            assert got == UNSURE or got in states, f"{key} was written at {version} and is read as {got}"

    @invariant()
    def handlers_have_heard_what_the_watch_told(self) -> None:
        assert {key: self.core.seen.get(key) for key in self.core.seen} == self.heard
        self.core.check_invariants()

    def teardown(self) -> None:
        """When all is told and answered, the view is the server's state and nothing waits."""
        if not hasattr(self, "core"):
            return
        if self.is_other_server or self.listing is not None:
            self.a_list_begins(is_late=False)
            self.the_list_ends()
        while self.answers:
            self._answer(*self.answers.pop(0))
        while self.core.unsure_keys():
            self.the_server_is_asked_about_the_unsure(is_answered=True)
        self._put(Key("n", "last"))
        while self.told < self.revision:
            self.the_watch_tells(100)
        assert {one.key: one for one in self.core.select()} == self.store
        assert self.core.pending == {}


TestInterleavings = Interleavings.TestCase
