"""Certificates made on first start: kept, renewed in time, private."""

import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from attractor.client.configuration.config import ClientConfig, tls_context
from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.certificates import SERVER_LIFE, ensure_certificates, issue_client_certificate, write_private
from attractor.httpd.tls import server_context
from tests.httpd.wire import connected


async def test_a_client_that_trusts_the_authority_connects_by_name_and_by_address(tmp_path: Path) -> None:
    files = ensure_certificates(tmp_path, ["localhost", "127.0.0.1"])
    async with EmbeddedCluster(controllers=()) as cluster:
        port = (await cluster.listen(tls=server_context(files.cert, files.key))).port
        for name in ("localhost", "127.0.0.1"):
            async with connected(port, ssl.create_default_context(cafile=str(files.ca)), server_hostname=name) as wire:
                wire.request("GET", "/healthz")
                assert (await wire.answer()).body == b"ok"


async def test_a_strict_client_believes_the_server_and_a_strict_server_its_clients(tmp_path: Path) -> None:
    files = ensure_certificates(tmp_path, ["localhost"])
    pair = tmp_path / "jane.pem"
    pair.write_bytes(b"".join(issue_client_certificate(tmp_path, "jane", [], timedelta(days=1))))
    strict, listening = (
        ssl.create_default_context(cafile=str(files.ca)),
        server_context(files.cert, files.key, client_ca=files.ca),
    )
    strict.load_cert_chain(pair)
    listening.verify_mode = ssl.CERT_REQUIRED
    for each in (strict, listening):
        each.verify_flags |= ssl.VERIFY_X509_STRICT
    async with EmbeddedCluster(controllers=()) as cluster:
        port = (await cluster.listen(tls=listening)).port
        async with connected(port, strict, server_hostname="localhost") as wire:
            wire.request("GET", "/healthz")
            assert (await wire.answer()).body == b"ok"


def test_certificates_that_do_not_name_their_authoritys_key_are_enough(tmp_path: Path) -> None:
    files = ensure_certificates(tmp_path, ["localhost"])
    client = tls_context(ClientConfig("https://localhost", ca=files.ca.read_bytes()), None)
    server = server_context(files.cert, files.key, client_ca=files.ca)
    assert not (client.verify_flags | server.verify_flags) & ssl.VERIFY_X509_STRICT


async def test_a_plain_http_client_on_a_tls_port_is_cut_off_without_harm(tmp_path: Path) -> None:
    files = ensure_certificates(tmp_path, ["localhost"])
    async with EmbeddedCluster(controllers=()) as cluster:
        port = (await cluster.listen(tls=server_context(files.cert, files.key))).port
        async with connected(port) as wire:
            wire.request("GET", "/healthz")
            assert b"200" not in await wire.rest()
        async with connected(
            port, ssl.create_default_context(cafile=str(files.ca)), server_hostname="localhost"
        ) as wire:
            wire.request("GET", "/healthz")
            assert (await wire.answer()).body == b"ok"


def test_a_second_start_takes_what_the_first_one_made(tmp_path: Path) -> None:
    first = ensure_certificates(tmp_path, ["localhost"])
    made = first.cert.read_bytes()
    assert ensure_certificates(tmp_path, ["localhost"]).cert.read_bytes() == made


def test_another_host_gets_a_new_certificate_from_the_same_authority(tmp_path: Path) -> None:
    first = ensure_certificates(tmp_path, ["localhost"])
    made, authority = first.cert.read_bytes(), first.ca.read_bytes()
    again = ensure_certificates(tmp_path, ["localhost", "example.org"])
    assert again.cert.read_bytes() != made
    assert again.ca.read_bytes() == authority


def test_a_certificate_is_renewed_before_it_expires(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    made = ensure_certificates(tmp_path, ["localhost"], now).cert.read_bytes()
    late = now + SERVER_LIFE * 2 / 3
    assert ensure_certificates(tmp_path, ["localhost"], late - timedelta(days=1)).cert.read_bytes() == made
    assert ensure_certificates(tmp_path, ["localhost"], late + timedelta(days=1)).cert.read_bytes() != made


def test_a_damaged_note_about_the_certificate_means_a_new_one(tmp_path: Path) -> None:
    made = ensure_certificates(tmp_path, ["localhost"]).cert.read_bytes()
    (tmp_path / "server.json").write_bytes(b"{")
    assert ensure_certificates(tmp_path, ["localhost"]).cert.read_bytes() != made


def test_only_the_owner_may_read_keys(tmp_path: Path) -> None:
    ensure_certificates(tmp_path / "tls", ["localhost"])
    for name in ("ca.key", "server.key"):
        assert stat.S_IMODE((tmp_path / "tls" / name).stat().st_mode) == 0o600


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_private(path, b"old")

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_private(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
