"""Certificates of webhooks over the years: whoever trusts what was published a day ago can verify what is shown."""

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store
from hypothesis import given, settings
from hypothesis import strategies as st

from attractor.webhookserver.certificates import AUTHORITY_LIFE, PUBLICATION, Certificates, renewed

START = datetime(2026, 1, 1, tzinfo=UTC)
HOST = "web.ops.svc"


def verifies(bundle: bytes, shown: bytes, now: datetime, host: str = HOST) -> bool:
    store = Store(x509.load_pem_x509_certificates(bundle))
    verifier = PolicyBuilder().store(store).time(now).build_server_verifier(x509.DNSName(host))
    return bool(verifier.verify(x509.load_pem_x509_certificate(shown), []))


@settings(max_examples=3, deadline=None)
@given(st.lists(st.integers(min_value=12, max_value=29), min_size=1, max_size=8))
def test_what_is_shown_is_trusted_by_who_heard_of_the_authorities_a_check_ago(steps: list[int]) -> None:
    now, held = START, renewed(None, [HOST], START)
    authorities = {held.authorities[0].cert}
    turn = 0
    while now < START + AUTHORITY_LIFE * 2:
        now += PUBLICATION * steps[turn % len(steps)]
        turn += 1
        before, held = held, renewed(held, [HOST], now)
        authorities |= {one.cert for one in held.authorities}
        assert verifies(before.bundle, held.shown.cert, now)
        assert verifies(held.bundle, held.shown.cert, now)
    assert len(authorities) >= 3, "authorities were renewed"


def test_what_is_good_is_kept_and_what_is_for_another_host_is_not() -> None:
    held = renewed(None, [HOST], START)
    assert renewed(held, [HOST], START + timedelta(days=59)) is held
    later = renewed(held, [HOST], START + timedelta(days=61))
    assert later.authorities == held.authorities
    assert later.shown != held.shown
    moved = renewed(held, [HOST, "other.ops.svc"], START)
    assert verifies(held.bundle, moved.shown.cert, START, "other.ops.svc")


def test_a_secret_keeps_them_and_one_without_them_is_told_apart() -> None:
    held = renewed(None, [HOST], START)
    held = renewed(held, [HOST], START + AUTHORITY_LIFE * 0.7)
    assert len(held.authorities) == 2
    assert Certificates.of(held.data()) == held
    assert Certificates.of({}) is None
    assert Certificates.of({**held.data(), "tls.crt": b"torn"}) is None
    assert Certificates.of({**held.data(), "ca.key": b""}) is None


def test_an_operator_that_slept_for_twenty_years_begins_anew() -> None:
    now = START + AUTHORITY_LIFE * 2
    held = renewed(renewed(None, [HOST], START), [HOST], now)
    assert verifies(held.bundle, held.shown.cert, now)
