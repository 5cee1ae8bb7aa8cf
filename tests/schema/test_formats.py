"""Formats, each with texts that Go's functions take and refuse."""

import pytest

from attractor.schema.formats import FORMATS, effective_format

TABLE = {
    "bsonobjectid": (["507f1f77bcf86cd799439011"], ["507f1f77"]),
    "uri": (["http://a.b/c", "/path", "mailto:x@y", "http://[::1]:80/"], ["", "a b", "path", "http://a:b/", "/%zz"]),
    "email": (["a@b", "A B <a@b.c>", '"x y"@b'], ["", "a", "a@", "a@b c", "a@b@c"]),
    "hostname": (["a", "a.example", "1a.example.com", "é.example"], ["", "-a", "a_b", "a..b", "a" * 64]),
    "ipv4": (["1.2.3.4", "::ffff:1.2.3.4"], ["1.2.3", "01.2.3.4", "::1", "1.2.3.4%1"]),
    "ipv6": (["::1", "fe80::1"], ["1.2.3.4", "fe80::1%eth0", ":::"]),
    "cidr": (["10.0.0.0/8", "::/0", "10.0.0.1/32"], ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/", "/8"]),
    "mac": (["00:00:5e:00:53:01", "00-00-5e-00-53-01", "0000.5e00.5301"], ["00:00:5e", "0000:5e00:5301", "x"]),
    "uuid": (["123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"], ["123e4567"]),
    "uuid3": (["123e4567-e89b-32d3-a456-426614174000"], ["123e4567-e89b-42d3-a456-426614174000"]),
    "uuid4": (["123e4567-e89b-42d3-a456-426614174000"], ["123e4567-e89b-42d3-c456-426614174000"]),
    "uuid5": (["123e4567-e89b-52d3-a456-426614174000"], ["123e4567-e89b-42d3-a456-426614174000"]),
    "isbn": (["0321751043", "978-0321751041"], ["0321751044", "1"]),
    "isbn10": (["0321751043"], ["978-0321751041"]),
    "isbn13": (["978-0321751041"], ["0321751043"]),
    "creditcard": (["4111 1111 1111 1111"], ["4111 1111 1111 1112", "1"]),
    "ssn": (["111-22-3333", "111223333"], ["11-22-3333"]),
    "hexcolor": (["#fff", "FFFFFF"], ["#ff", "green"]),
    "rgbcolor": (["rgb(0, 100, 255)"], ["rgb(0,0,256)", "rgb()"]),
    "byte": (["YWJj", "YQ=="], ["", "YQ=", "a b"]),
    "password": (["", "anything"], []),
    "date": (["2024-02-29"], ["2023-02-29", "2024-2-9", "today"]),
    "datetime": (["2024-01-01T00:00:00Z", "2024-01-01t00:00:00.5+01:00"], ["2024-01-01", "2024-01-01T24:00:00Z", "t"]),
    "duration": (["1h30m", "-1.5s", "0", "3 days", "2 weeks"], ["", "1", "soon", "1 fortnight"]),
    "k8sshortname": (["a-b"], ["A", "-a", "a.b", "a" * 64]),
    "k8slongname": (["a.b-c"], ["a..b", "A"]),
}


def test_table_covers_every_format() -> None:
    assert set(TABLE) == set(FORMATS)


@pytest.mark.parametrize("name", TABLE)
def test_format_takes_and_refuses(name: str) -> None:
    taken, refused = TABLE[name]
    assert [text for text in taken if not FORMATS[name](text)] == []
    assert [text for text in refused if FORMATS[name](text)] == []


def test_formats_of_other_types_are_ignored() -> None:
    assert effective_format("integer", "date-time") == ""
    assert effective_format("boolean", "int32") == ""
    assert effective_format("number", "double") == "double"
