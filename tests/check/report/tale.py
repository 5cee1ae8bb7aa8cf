"""A story by hand: the naive pair controller, a crash between its two writes, and a leftover that is never repaired."""

from typing import Any

from attractor.check.report.story import Change, Exchange, Lane, Message, Part, Step, Story

LANES = (
    Lane("user", "user", "user"),
    Lane("api", "server", "API server"),
    Lane("host0/cache", "cache", "cache of host0", "host0"),
    Lane("host0/pairs/0", "worker", "pairs worker 0", "host0"),
    Lane("iam", "outside", "IAM"),
)
API, CACHE, WORKER = "api", "host0/cache", "host0/pairs/0"
PAIR: dict[str, Any] = {
    "apiVersion": "example.org/v1",
    "kind": "ConfigPair",
    "metadata": {"name": "p", "namespace": "default", "uid": "1"},
    "spec": {"value": "red"},
}


def config_map(name: str) -> dict[str, Any]:
    return {"kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": {"value": "red"}}


def tale(loop: int | None = 9, title: str = "creates ConfigPair default/p") -> Story:
    pair = Part("object", "example.org/configpairs/default/p", "ConfigPair default/p")
    first = Part("object", "core/configmaps/default/p-1", "ConfigMap default/p-1")
    steps = (
        Step(
            "user", "create", title, {"name": "p"},
            exchanges=(Exchange("user", {"method": "POST", "body": PAIR}, {"code": 201}),),
            messages=(Message("user", API, "POST configpairs/p"), Message(API, "user", "201", "answer")),
            changes=(Change(pair, None, PAIR),),
        ),
        Step(
            CACHE, "deliver", "hears of ConfigPair default/p", {"kind": "ConfigPair"},
            messages=(Message(API, CACHE, "ADDED p", "event", sent_in=1),),
            changes=(Change(Part("cache", "host0 ConfigPair default/p", "host0 ConfigPair default/p"), None, PAIR),),
        ),
        Step(WORKER, "begin", "begins default/p", {"key": "default/p"}, phase="begin"),
        Step(
            WORKER, "perform", "creates ConfigMap default/p-1",
            exchanges=(Exchange("host0", {"method": "POST", "body": config_map("p-1")}, {"code": 201}),),
            messages=(Message(WORKER, API, "POST configmaps/p-1"), Message(API, WORKER, "201", "answer")),
            changes=(Change(first, None, config_map("p-1")),),
        ),
        Step(
            WORKER, "call", "asks IAM for a role", messages=(Message(WORKER, "iam", "create_role(p)", "call"),
            Message("iam", WORKER, "throttled", "answer", is_lost=True)), fault="outside failure",
        ),
        Step(
            WORKER, "perform", "creates ConfigMap default/p-2; the request is lost", fault="lost request",
            messages=(Message(WORKER, API, "POST configmaps/p-2", is_lost=True),),
        ),
        Step(CACHE, "crash", "host0 crashes", {"host": "host0"}, fault="crash", phase="crash", host="host0"),
        Step(CACHE, "restart", "host0 starts again and lists", phase="restart", host="host0"),
        Step(WORKER, "begin", "begins default/p", phase="begin"),
        Step(WORKER, "finish", "finishes: ConfigMap default/p-1 is there, so it believes that all is done", phase="end"),
        Step(
            API, "edit", "a rival changes ConfigMap default/p-1", fault="rival write",
            changes=(Change(first, config_map("p-1"), {**config_map("p-1"), "data": {"value": "<b>blue</b>"}}),),
        ),
    )  # fmt: skip
    says = "once faults stop, both ConfigMaps have the pair's value, and stay so"
    return Story(
        "operators.configpair:naive",
        "eventually_stable",
        says,
        LANES,
        (Change(pair, None, None), Change(first, None, None)),
        steps,
        loop,
    )
