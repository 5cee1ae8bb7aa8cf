"""The reflector's state machine: each arrow, and what holds of every path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.cache.reflector import (
    Ended,
    Failed,
    Heard,
    InitialEnded,
    Input,
    Listed,
    Listing,
    Opened,
    Opening,
    Policy,
    Silent,
    State,
    Syncing,
    UnexpectedInput,
    Waited,
    Waiting,
    Watching,
    can_resume,
    explained,
    is_live,
    step,
)
from attractor.client.errors import AnswerLost, GarbledAnswer, ServerUnreachable
from attractor.objects.errors import (
    ApiError,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    Timeout,
    TooManyRequests,
    Unauthorized,
)

LIST, WATCH_LIST = Policy(), Policy(watch_list=True)
TOO_LARGE = Timeout("Too large resource version", details={"causes": [{"reason": "ResourceVersionTooLarge"}]})
LOST = Failed(AnswerLost("reset"))

ARROWS: list[tuple[State, Input, Policy, State]] = [
    (Listing(), Listed("5"), LIST, Opening("5")),
    (Listing(), Failed(Forbidden("no")), LIST, Waiting(0.1, 1, None, explained(Forbidden("no")))),
    (Listing(2), Failed(Forbidden("no")), LIST, Waiting(0.4, 3, None, explained(Forbidden("no")))),
    (Opening("5"), Opened(), LIST, Watching("5")),
    (Opening("5", 3), Opened(), LIST, Watching("5", 3)),
    (Opening("5"), Failed(Gone("old")), LIST, Listing(1)),
    (Opening("5"), Failed(Gone("old")), WATCH_LIST, Opening(None, 1)),
    (Opening("5", 1), Failed(Gone("old")), LIST, Waiting(0.2, 2, None, "old")),
    (Opening("5"), Failed(TOO_LARGE), LIST, Listing(1)),
    (Opening("5"), Failed(ServerUnreachable("away")), LIST, Waiting(0.1, 1, None, "away")),
    (Opening(None), Opened(), WATCH_LIST, Syncing()),
    (Opening(None), Failed(Invalid("no such option")), WATCH_LIST, Listing()),
    (Syncing(), Heard("3"), WATCH_LIST, Syncing()),
    (Syncing(), InitialEnded("5"), WATCH_LIST, Watching("5")),
    (Syncing(), Silent(9), WATCH_LIST, Listing()),
    (Syncing(), LOST, WATCH_LIST, Waiting(0.1, 1, None, "reset")),
    (Watching("5", 4), Heard("6"), LIST, Watching("6")),
    (Watching("5"), Ended(True), LIST, Opening("5")),
    (Watching("5"), Ended(False), LIST, Waiting(0.1, 1, "5", "the server ends the watch at once")),
    (Watching("5"), Silent(9), LIST, Waiting(0.1, 1, "5", "nothing was heard for 9 s")),
    (Watching("5", 7), Silent(150), LIST, Waiting(0.1, 1, "5", "nothing was heard for 150 s")),
    (Watching("5"), LOST, LIST, Waiting(0.1, 1, "5", "reset")),
    (Watching("5"), Failed(GarbledAnswer("what?")), LIST, Waiting(0.1, 1, None, "what?")),
    (Watching("5"), Failed(Gone("old")), LIST, Listing(1)),
    (Waiting(1, 2, "5", ""), Waited(), LIST, Opening("5", 2)),
    (Waiting(1, 2, None, ""), Waited(), LIST, Listing(2)),
    (Waiting(1, 2, None, ""), Waited(), WATCH_LIST, Opening(None, 2)),
]


@pytest.mark.parametrize(("state", "happened", "policy", "expected"), ARROWS)
def test_each_arrow(state: State, happened: Input, policy: Policy, expected: State) -> None:
    assert step(state, happened, policy) == expected


ERRORS = [AnswerLost("a"), ServerUnreachable("b"), GarbledAnswer("c"), Gone("d"), TOO_LARGE, Forbidden("e")]
ERRORS += [NotFound("f"), TooManyRequests("g"), ApiError("h"), Timeout("i")]


def possible(state: State) -> st.SearchStrategy[Input]:
    """What can come of a state's activity."""
    failures = st.sampled_from(ERRORS).map(Failed)
    versions = st.sampled_from(["1", "2", "3"])
    match state:
        case Listing():
            return versions.map(Listed) | failures
        case Opening():
            return st.just(Opened()) | failures
        case Syncing():
            return (
                versions.map(Heard) | versions.map(InitialEnded) | st.just(Silent(1)) | st.just(Ended(True)) | failures
            )
        case Watching():
            return versions.map(Heard) | st.booleans().map(Ended) | st.just(Silent(1)) | failures
        case Waiting():
            return st.just(Waited())


@given(data=st.data(), watch_list=st.booleans())
def test_every_path_goes_on_backs_off_and_is_live_only_while_watching(data: st.DataObject, watch_list: bool) -> None:
    policy = Policy(watch_list=watch_list)
    state = policy.start()
    has_whole = False
    for _ in range(30):
        happened = data.draw(possible(state))
        before, state = state, step(state, happened, policy)
        has_whole = has_whole or isinstance(happened, Listed | InitialEnded)
        if isinstance(state, Waiting):
            assert 0 < state.delay_s <= policy.max_delay_s
            assert not is_live(state)
        if isinstance(state, Watching):
            assert has_whole, "it watches although it never had the whole collection"
        if isinstance(happened, Failed) and not can_resume(happened.error):
            assert isinstance(state, Listing | Waiting) or state == Opening(None, getattr(state, "failures", 0))
            assert not isinstance(state, Waiting) or state.resume is None, f"{before} must not resume after {happened}"


def test_a_view_is_live_while_it_watches_and_between_two_watches_that_ended_well() -> None:
    live: list[State] = [Watching("5"), Watching("5", 2), Opening("5")]
    dead: list[State] = [Listing(), Opening("5", 1), Opening(None), Syncing(), Waiting(1, 1, "5", "")]
    assert [is_live(state) for state in (*live, *dead)] == [True] * 3 + [False] * 5


@given(failures=st.integers(1, 10_000))
def test_delays_grow_up_to_the_longest(failures: int) -> None:
    policy = Policy()
    assert policy.delay_s(failures) <= policy.delay_s(failures + 1) <= policy.max_delay_s


def test_an_input_that_a_state_cannot_have_is_an_error_of_the_drivers() -> None:
    for state in (Listing(), Opening("1"), Syncing(), Watching("1"), Waiting(1, 1, None, "")):
        with pytest.raises(UnexpectedInput):
            step(state, Listed("1") if not isinstance(state, Listing) else Waited(), LIST)


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (NotFound("404 page not found"), "404 page not found; the server does not serve this kind, create its Custom"),
        (NotFound("create its CustomResourceDefinition first"), "create its CustomResourceDefinition first"),
        (Unauthorized("Unauthorized"), "Unauthorized; the server does not accept the credentials, or no longer"),
        (
            Forbidden("you may not list lamps"),
            "you may not list lamps; grant it (`attractor manifests` prints the rights",
        ),
    ],
)
def test_an_error_that_only_a_person_can_mend_says_what_to_do(error: ApiError, advice: str) -> None:
    state = step(Listing(), Failed(error), Policy())
    assert isinstance(state, Waiting)
    assert state.why.startswith(advice)
    assert state.why.count("CustomResourceDefinition") <= 1
