"""Rules of a WebhookClientConfig: where a webhook is and who vouches for it."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from attractor.objects import names
from attractor.objects.field import FieldError

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject

_FORM = "; desired format: https://host[/path]"


def validate_client(client: JsonObject, path: str) -> list[FieldError]:
    """A URL or a service, and certificates that can be read."""
    url: str | None = client.get("url")
    service: JsonObject | None = client.get("service")
    errors = _bundle_errors(client.get("caBundle") or "", f"{path}.caBundle")
    if (url is None) == (service is None):
        return [*errors, FieldError.required(path, "exactly one of url or service is required")]
    if url is not None:
        return errors + [FieldError.invalid(f"{path}.url", value, why) for value, why in _url_troubles(url)]
    assert service is not None
    for field, blamed in (("name", "namespace"), ("namespace", "name")):  # Kubernetes takes one for the other
        errors += [] if service.get(field) else [FieldError.required(f"{path}.service.{blamed}")]
    errors += _path_errors(service.get("path") or "", f"{path}.service.path")
    wrong = names.port_number(service.get("port", 443))
    at, port = f"{path}.service.port", service.get("port")
    return errors + [FieldError.invalid(at, port, f"port is not valid: {why}") for why in wrong]


def _url_troubles(url: str) -> list[tuple[str, str]]:
    """The part of the URL that is blamed, and why."""
    try:
        parts = urlsplit(url)
        _ = parts.port
        parts.netloc.encode("ascii")
    except ValueError as error:
        return [(url, f"url must be a valid URL: {error}{_FORM}")]
    checks = (
        (parts.scheme != "https", parts.scheme, f"'https' is the only allowed URL scheme{_FORM}"),
        (not parts.hostname, parts.netloc, f"host must be specified{_FORM}"),
        ("@" in parts.netloc, parts.netloc.rpartition("@")[0], "user information is not permitted in the URL"),
        (bool(parts.fragment), parts.fragment, "fragments are not permitted in the URL"),
        (bool(parts.query), parts.query, "query parameters are not permitted in the URL"),
        (not _is_plain(url, parts), url, "spaces and control characters are not permitted in the URL"),
    )
    return [(value, why) for is_wrong, value, why in checks if is_wrong]


def _is_plain(url: str, parts: SplitResult) -> bool:
    return url.isprintable() and " " not in parts.netloc


def _path_errors(text: str, path: str) -> list[FieldError]:
    if text in {"", "/"}:
        return []
    if text == "//":
        return [FieldError.invalid(path, text, "segment[0] may not be empty")]
    errors = [] if text.startswith("/") else [FieldError.invalid(path, text, "must start with a '/'")]
    segments = text[1:].removesuffix("/").split("/")
    for index, segment in enumerate(segments):
        if not segment:
            errors.append(FieldError.invalid(path, text, f"segment[{index}] may not be empty"))
        else:
            errors += [
                FieldError.invalid(path, text, f"segment[{index}]: {why}") for why in names.dns1123_subdomain(segment)
            ]
    return errors


def _bundle_errors(text: str, path: str) -> list[FieldError]:
    """Certificates in PEM; decoding has seen to the base64."""
    if not text:
        return []
    from cryptography import x509  # loading it takes longer than most starts need

    try:
        x509.load_pem_x509_certificates(base64.b64decode(text))
    except ValueError:
        why = "unable to load root certificates: unable to parse bytes as PEM block"
        return [FieldError.invalid(path, "<caBundle>", why)]
    return []
