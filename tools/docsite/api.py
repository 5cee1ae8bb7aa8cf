"""The reference of public Python names: which page has which, and what every page is made of.

Public are the names in ``__all__`` of ``MODULES``. Each is described once; a name that no page of the table claims
comes to the last page of its module, so that nothing can be forgotten. The text is the docstring's, read from the
source (compiled modules carry none).
"""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from pathlib import Path

import griffe

SRC = Path(__file__).parents[2] / "src"
MODULES = ("attractor", "attractor.toolkit", "attractor.check", "attractor.testing")
"""The public modules, in the order in which homes are looked for; ``attractor.k8s`` is described by ``kinds``."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the reference: names of one module under one subject."""

    name: str
    title: str
    module: str
    text: str
    members: tuple[str, ...]


def _page(name: str, title: str, module: str, text: str, members: str) -> Page:
    return Page(name, title, module, text, tuple(members.split()))


TABLE = (
    _page(
        "context",
        "Context",
        "attractor",
        "What a reconcile function is given: every read, write and question goes through it, also under check.",
        "Context Result TerminalError",
    ),
    _page(
        "controllers",
        "Controllers",
        "attractor",
        "How a controller is declared: what it reconciles, what it watches, how often it tries again.",
        """
        controller Controller For Owns Watches Index Permission Scope drop_managed_fields Backoff TokenBucket
        MaxOf
        """,
    ),
    _page(
        "reconciler",
        "Reconciler",
        "attractor",
        "Finalizer, status and conflicts handled once, for controllers that manage things outside.",
        "Reconciler",
    ),
    _page(
        "manager",
        "Manager",
        "attractor",
        "Runs controllers against one cluster.",
        "Manager Election Tracer FieldFormatter",
    ),
    _page(
        "client",
        "Client",
        "attractor",
        "Reads, writes and watches objects of any Kubernetes API server.",
        "Client MetadataOnly load_kubeconfig",
    ),
    _page(
        "cluster",
        "Embedded cluster",
        "attractor",
        "An API server in this process.",
        "EmbeddedCluster Request AuditFile LifecycleAdmission",
    ),
    _page(
        "kinds",
        "Kinds and objects",
        "attractor",
        "How kinds are defined, and what every object has.",
        """
        Resource Struct ObjectMeta Condition LabelSelector Key
        GroupKind GroupVersionKind Meta ListMap Rule PrinterColumn Scale crd_for
        """,
    ),
    _page(
        "errors",
        "API errors",
        "attractor",
        "One class for each way in which a caller reacts differently.",
        "ApiError NotFound AlreadyExists Conflict Invalid",
    ),
    _page(
        "toolkit-objects",
        "Toolkit: objects",
        "attractor.toolkit",
        "Owners, children, finalizers and conditions, on copies in hand.",
        """
        set_controller add_owner is_controlled_by is_owned_by AlreadyOwned hashed_name data_hash split_children
        add_finalizer remove_finalizer has_finalizer finalizer_name set_condition find_condition is_true
        remove_condition selects scaled_value Quantity
        """,
    ),
    _page(
        "toolkit-predicates",
        "Toolkit: predicates",
        "attractor.toolkit",
        "Which changes of an object are worth a reconcile.",
        """
        Predicate created deleted generation_changed labels_changed annotations_changed resource_version_changed
        labels_match newly_held
        """,
    ),
    _page(
        "toolkit-outside",
        "Toolkit: things outside",
        "attractor.toolkit",
        "Memory, background work, retries and messages, for controllers that manage things outside the API.",
        """
        ObjectStateMap IdentityTaken BackgroundWork Debounce DebouncedCalls retry Retrying Permanent
        is_permanent Channel ChannelClosed Topic Subscription
        """,
    ),
    _page(
        "specifications",
        "Specifications",
        "attractor.check",
        "A design as a state machine in Python: variables, actions, fairness.",
        """
        Spec Composition Step constant var each subset fields Map Subset Record FrozenMap Bag initial action
        require weak strong constraint terminal predicate interchangeable specification
        """,
    ),
    _page(
        "properties",
        "Properties of specifications",
        "attractor.check",
        "What must be true in every state, of every step, or of every fair run.",
        """
        always always_step sometimes eventually always_eventually eventually_always leads_to henceforth until
        refines
        """,
    ),
    _page(
        "verdicts",
        "Checking and verdicts",
        "attractor.check",
        "Explore every reachable state, and read the answer.",
        """
        check simulate widen Verdict PropertyVerdict Trace TraceStep NotShown HoldsWithin SpecError ImpureStep
        MutationError ValueNotHashable
        """,
    ),
    _page(
        "worlds",
        "Worlds",
        "attractor.check",
        "Real controllers with everything around them: API server, caches, queues, users and faults.",
        "World Bounds Faults Create Edit Delete Script OscillatingClock WorldState owned_by happens NoAnswer",
    ),
    _page(
        "world-properties",
        "Properties of worlds",
        "attractor.check",
        "What controllers owe their users, and a library of what every controller owes.",
        """
        eventually_stable quiesces always_step_by WorldProperty no_orphans
        no_duplicates at_most_one_worker finalizer_after_clean_up no_write_after_deletion status_not_ahead
        unchanged_by conformance
        """,
    ),
    _page(
        "testing",
        "Testing",
        "attractor.testing",
        "A cluster in process, virtual time, faults and a log of requests, for pytest.",
        "",
    ),
)


@functools.cache
def package() -> griffe.Module:
    """The source of the whole package, parsed and never executed."""
    found = griffe.load("attractor", search_paths=[SRC], allow_inspection=False, resolve_aliases=True)
    assert isinstance(found, griffe.Module)
    return found


def exported(module: str) -> list[str]:
    """The names in a module's ``__all__``; none where there is no such module."""
    try:
        found = package()[module.removeprefix("attractor").lstrip(".")] if module != "attractor" else package()
    except KeyError:
        return []
    return [str(name) for name in found.exports or ()]


def resolve(path: str) -> griffe.Object | griffe.Alias:
    """What a public name stands for."""
    found: griffe.Object | griffe.Alias = package()[path.removeprefix("attractor.")]
    return found


@functools.cache
def homes() -> dict[str, str]:
    """Each public thing's canonical path, and the public name under which it is described."""
    claimed = {f"{page.module}.{name}" for page in TABLE for name in page.members}
    found: dict[str, str] = {}
    names = [f"{module}.{name}" for module in MODULES for name in exported(module)]
    for name in sorted(names, key=lambda one: one not in claimed):
        found.setdefault(canonical(name), name)
    return found


def canonical(name: str) -> str:
    """Where a public name is defined; the name itself where that is another library."""
    one = resolve(name)
    try:
        return str(one.canonical_path)
    except griffe.AliasResolutionError:
        return name


def pages() -> list[Page]:
    """The pages of the table with the names that there are; the last of each module has those that none claims."""
    public = set(homes().values())
    made, taken = [], set()
    for page in TABLE:
        members = tuple(name for name in page.members if f"{page.module}.{name}" in public)
        taken |= {f"{page.module}.{name}" for name in members}
        made.append(Page(page.name, page.title, page.module, page.text, members))
    result = []
    for page in made:
        rest = tuple(sorted(one.rpartition(".")[2] for one in public - taken if one.rpartition(".")[0] == page.module))
        is_last = page.module not in {one.module for one in made[made.index(page) + 1 :]}
        result.append(Page(page.name, page.title, page.module, page.text, page.members + (rest if is_last else ())))
    return [page for page in result if page.members]


FOREIGN = {
    "attractor.Meta": """\
Constraints and descriptions of a field, for `Annotated`: `Annotated[int, Meta(ge=0, le=10)]`. It is `msgspec.Meta`.

They end up in the schema of the kind's CustomResourceDefinition, so the API server enforces them: `gt`, `ge`, `lt`,
`le` and `multiple_of` for numbers; `pattern`, `min_length` and `max_length` for text (lengths for lists and maps too);
`title` and `description` for people; `extra_json_schema` for anything else that a schema can say.
""",
}
"""Names that another library defines, and what is said of them here."""


OPTIONS = {
    "attractor.Client": """\
    options:
      inherited_members: true
      filters: ["!^_", "!^(page|request|open_stream|tried_again)$"]
""",
    "attractor.check.world.World": """\
    options:
      members: [but, wider]
""",
}
"""How mkdocstrings shows single names: a client's methods are inherited from the parts that it is made of, and most of
a world's are for the checker."""


def described(name: str) -> str:
    """What a page says of one public name: the docstring, through mkdocstrings."""
    if name in FOREIGN:
        return f"## `{name}` {{ #{name} }}\n\n{FOREIGN[name]}"
    return f"::: {name}\n{OPTIONS.get(name, '')}"


def fixtures() -> str:
    """The fixtures of the pytest plug-in that take no others but our own, with their docstrings."""
    module = package()["testing.async_fixtures"]
    shown = ["## Fixtures", "", "pytest loads them by itself; async tests need pytest-asyncio.", ""]
    for name, found in module.members.items():
        if not isinstance(found, griffe.Function) or found.docstring is None or "request" in found.parameters:
            continue
        if any(str(one.value).endswith(".fixture") for one in found.decorators):
            shown += [f"### `{name}`", "", found.docstring.value, ""]
    return "\n".join(shown)


def text(page: Page) -> str:
    """A page: what it is about, what is on it, and then each name."""
    shown = "\n".join(described(f"{page.module}.{name}") for name in page.members)
    if page.module == "attractor.testing":
        shown = f"{fixtures()}\n{shown}"
    example = f"```python\nfrom {page.module} import {', '.join(page.members[:3])}\n```"
    return f"# {page.title}\n\n{page.text}\n\n{example}\n\n{shown}"


def index() -> str:
    """All public names by page."""
    lines = [
        "# Public names",
        "",
        "Everything that is meant to be imported, by subject. What is not here may change at any time.",
        "",
    ]
    for page in pages():
        names = ", ".join(f"[`{name}`]({page.name}.md#{page.module}.{name})" for name in page.members)
        lines += [f"**[{page.title}]({page.name}.md)** (`{page.module}`): {names}", ""]
    return "\n".join(lines)


@functools.cache
def addresses() -> dict[str, str]:
    """Where each public name is described, by its short name; names that mean two things are left out."""
    found: dict[str, str] = {}
    twice = set()
    for page in pages():
        for name in page.members:
            twice |= {name} & set(found)
            found[name] = f"reference/api/{page.name}.html#{page.module}.{name}"
    return {name: where for name, where in found.items() if name not in twice}


def relative(target: str, page: str) -> str:
    """An address of the site as seen from a page."""
    return os.path.relpath(target, os.path.dirname(page) or ".")
