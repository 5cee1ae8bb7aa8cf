"""Objects as text: what makes two of them equal, and whose they are."""

from attractor.client.encoding.codec import encoded
from attractor.client.kinds import EncodedObject
from attractor.objects.gvk import Key

OWNED = (
    b'{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"1",'
    b'"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"x","controller":true}]}}'
)


def test_two_are_equal_when_their_texts_are_whoever_has_read_them() -> None:
    read, made = encoded(OWNED), EncodedObject(Key("n", "a"), "u", "1", OWNED)
    assert read == made
    assert not read != made  # noqa: SIM202 - a struct answers this question by itself
    assert hash(read) == hash(made)
    assert read != EncodedObject(Key("n", "a"), "u", "2", OWNED)
    assert read != "unsure"


def test_siblings_share_what_was_read_of_their_owners() -> None:
    owners = encoded(OWNED).owners
    assert owners is encoded(OWNED.replace(b'"a"', b'"b"')).owners
    assert owners is not None
    assert [(owner.kind, owner.name, owner.controller) for owner in owners] == [("Pod", "p", True)]


def test_who_has_no_owners_is_told_from_whose_owners_make_no_sense() -> None:
    assert encoded(b'{"metadata":{"name":"a"}}').owners == ()
    assert encoded(b'{"metadata":{"name":"a","ownerReferences":null}}').owners == ()
    assert encoded(b'{"metadata":{"name":"a","ownerReferences":[1]}}').owners is None
