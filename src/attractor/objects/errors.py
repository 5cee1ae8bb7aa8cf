"""How the API says no: one class for each answer that a caller treats differently.

    ApiError                    any Status with status=Failure
    ├── BadRequest              400  the request cannot be understood
    ├── Unauthorized            401  who are you?
    ├── Forbidden               403  not you, or not now
    ├── NotFound                404  no such object (or no such resource)
    ├── MethodNotAllowed        405
    ├── NotAcceptable           406
    ├── AlreadyExists           409  create something else
    ├── Conflict                409  read again, then write again
    ├── Gone                    410  the version is compacted: list again
    ├── RequestEntityTooLarge   413
    ├── UnsupportedMediaType    415
    ├── Invalid                 422  the object breaks a rule; do not retry
    ├── TooManyRequests         429  wait ``retry_after_s``
    ├── InternalError           500
    ├── ServiceUnavailable      503
    ├── Timeout                 504
    └── InsufficientStorage     507  nothing was written

Each carries what ``metav1.Status`` carries, and converts to and from it without loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from attractor.objects.field import go_quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.objects.field import FieldError
    from attractor.objects.gvk import GroupKind, GroupResource
    from attractor.objects.json_types import JsonObject


class ApiError(Exception):
    """A failed API request; base class of the others.

    Args:
        message: The server's text.
        details: The ``details`` of the server's ``Status``.
    """

    code: ClassVar[int] = 500
    reason: ClassVar[str] = ""

    def __init__(self, message: str, *, details: JsonObject | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = details

    @property
    def retry_after_s(self) -> int | None:
        """How long the server asks the caller to wait; ``None`` when it does not."""
        return (self.details or {}).get("retryAfterSeconds")

    @property
    def causes(self) -> list[dict[str, Any]]:
        """The single causes of a refusal, each with reason, message and field."""
        return list((self.details or {}).get("causes") or ())

    def status(self) -> JsonObject:
        """The error as a Kubernetes ``Status`` object."""
        status: JsonObject = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status

    @staticmethod
    def from_status(status: JsonObject) -> ApiError:
        """The error that a ``metav1.Status`` stands for; unknown reasons become plain ``ApiError``s of that code."""
        code, reason = int(status.get("code") or 500), str(status.get("reason") or "")
        cls = _BY_REASON.get(reason) or _BY_CODE.get(code, ApiError)
        error = cls.__new__(cls)
        ApiError.__init__(error, str(status.get("message") or reason), details=status.get("details"))
        if cls.code != code or cls.reason != reason:
            error.__dict__.update(code=code, reason=reason)
        return error


class BadRequest(ApiError):
    """The request cannot be understood."""

    code, reason = 400, "BadRequest"


class Unauthorized(ApiError):
    """The caller is not known."""

    code, reason = 401, "Unauthorized"


class Forbidden(ApiError):
    """The caller may not do this, or nobody may do it now."""

    code, reason = 403, "Forbidden"

    @classmethod
    def of(cls, resource: GroupResource, name: str, why: str) -> Forbidden:
        """A refusal that names the object and the reason."""
        subject = f"{resource} {go_quoted(name)}" if name else str(resource)
        return cls(f"{subject} is forbidden: {why}", details=_object_details(resource, name))


class NotFound(ApiError):
    """There is no such object (404)."""

    code, reason = 404, "NotFound"

    @classmethod
    def of(cls, resource: GroupResource, name: str) -> NotFound:
        """Make the error for an object, in Kubernetes' wording."""
        return cls(f"{resource} {go_quoted(name)} not found", details=_object_details(resource, name))


class MethodNotAllowed(ApiError):
    """The resource does not know this verb."""

    code, reason = 405, "MethodNotAllowed"

    @classmethod
    def of(cls, resource: GroupResource, verb: str) -> MethodNotAllowed:
        """The verb means nothing on a resource of a custom kind."""
        details: JsonObject = {"group": resource.group, "kind": resource.resource}
        return cls(f'{verb} is not supported on resources of kind "{resource}"', details=details)


class NotAcceptable(ApiError):
    """No answer in a format that the caller accepts."""

    code, reason = 406, "NotAcceptable"


class AlreadyExists(ApiError):
    """An object of this name exists already (409)."""

    code, reason = 409, "AlreadyExists"

    @classmethod
    def of(cls, resource: GroupResource, name: str) -> AlreadyExists:
        """Make the error for an object, in Kubernetes' wording."""
        return cls(f"{resource} {go_quoted(name)} already exists", details=_object_details(resource, name))


class Conflict(ApiError):
    """The object changed since it was read, or is not the one that was meant (409): read it again."""

    code, reason = 409, "Conflict"

    MODIFIED: ClassVar[str] = (
        "the object has been modified; please apply your changes to the latest version and try again"
    )

    @classmethod
    def of(cls, resource: GroupResource, name: str, why: str = MODIFIED) -> Conflict:
        """Make the error for an object, in Kubernetes' wording."""
        return cls(
            f"Operation cannot be fulfilled on {resource} {go_quoted(name)}: {why}",
            details=_object_details(resource, name),
        )


class Gone(ApiError):
    """The asked version is no longer kept: list again."""

    code, reason = 410, "Expired"

    continue_token = ""
    """Where a list can go on, if the rest may be newer than the pages before."""

    def status(self) -> JsonObject:
        """The Status, with the token if there is one."""
        metadata: JsonObject = {"continue": self.continue_token} if self.continue_token else {}
        return {**super().status(), "metadata": metadata}


class RequestEntityTooLarge(ApiError):
    """The body is larger than the server reads."""

    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaType(ApiError):
    """The body is of a format that the server does not read."""

    code, reason = 415, "UnsupportedMediaType"


class Invalid(ApiError):
    """The object breaks a rule (422): the same request fails again. ``causes`` names the fields."""

    code, reason = 422, "Invalid"

    @classmethod
    def of(cls, kind: GroupKind, name: str, errors: Sequence[FieldError]) -> Invalid:
        """Make the error for an object with all broken rules, in Kubernetes' wording."""
        texts = list(dict.fromkeys(str(error) for error in errors))
        listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        details: JsonObject = {"name": name, "group": kind.group, "kind": kind.kind}
        details = {field: value for field, value in details.items() if value}
        details["causes"] = [error.cause() for error in errors]
        return cls(f"{kind} {go_quoted(name)} is invalid: {listed}", details=details)


class TooManyRequests(ApiError):
    """The server is busy, or the change must wait."""

    code, reason = 429, "TooManyRequests"


class InternalError(ApiError):
    """The server failed; nothing was written."""

    code, reason = 500, "InternalError"

    @classmethod
    def of(cls, why: str) -> InternalError:
        """A failure that Kubernetes tells in these words, for want of better ones."""
        return cls(f"Internal error occurred: {why}", details={"causes": [{"message": why}]})


class ServiceUnavailable(ApiError):
    """The server cannot answer now."""

    code, reason = 503, "ServiceUnavailable"


class Timeout(ApiError):
    """No answer in time; a write may or may not have happened."""

    code, reason = 504, "Timeout"


class InsufficientStorage(ApiError):
    """The store is full; nothing was written and reads go on."""

    code, reason = 507, "InsufficientStorage"


def _object_details(resource: GroupResource, name: str) -> JsonObject:
    details = {"name": name, "group": resource.group, "kind": resource.resource}
    return {field: value for field, value in details.items() if value}


_BY_REASON: dict[str, type[ApiError]] = {cls.reason: cls for cls in ApiError.__subclasses__()}
_BY_CODE: dict[int, type[ApiError]] = {cls.code: cls for cls in ApiError.__subclasses__() if cls is not AlreadyExists}
