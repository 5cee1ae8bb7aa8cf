"""What a path names does not depend on which paths were asked for before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from attractor.apiserver.request import routing
from attractor.objects.errors import NotFound

PARTS = st.sampled_from(
    ["", "api", "apis", "v1", "apps", "namespaces", "a", "status", "finalize", "pods", "%61", "log"]
)


@given(st.lists(PARTS, max_size=9).map("/".join))
def test_a_remembered_collection_names_its_objects_as_the_whole_path_does(path: str) -> None:
    def answer(parse: object) -> object:
        try:
            return repr(parse(path))  # type: ignore[operator]
        except NotFound as error:
            return str(error)

    for one in (path, f"/api/v1/{path}", f"/apis/apps/v1/namespaces/{path}"):
        path = one
        assert answer(routing.parse_path) == answer(routing._parsed)
