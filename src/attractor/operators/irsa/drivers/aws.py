"""``AwsIam``: IAM on AWS, or on whatever speaks its protocol, through aiobotocore.

    async with AwsIam() as iam:
        await Manager(client, controllers(settings), externals={Iam: iam}).run()

Credentials, region and endpoint come from where every AWS tool takes them (environment, files, web identity, instance
profile; ``AWS_ENDPOINT_URL_IAM`` for another endpoint). Nothing is retried here: the work queue does that, and a worker
that waits for AWS to calm down would be a worker less for everybody else.

No error carries credentials: what AWS says about a bad signature quotes the signed request, so it is not passed on, and
key ids are taken out of everything else. The SDK's debug log, which shows signed requests, is switched off.
"""

from __future__ import annotations

import logging
import re
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

from attractor.operators.irsa.controllers.documents import canonical
from attractor.operators.irsa.drivers.iam import (
    DeleteConflict,
    EntityAlreadyExists,
    Forbidden,
    IamError,
    IamPolicy,
    IamRole,
    NoSuchEntity,
    PolicyVersion,
    Rejected,
    Unavailable,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import TracebackType

CONNECT_TIMEOUT_S = 5
READ_TIMEOUT_S = 15
CONNECTIONS = 20
DEFAULT_REGION = "us-east-1"

_ERRORS: dict[str, type[IamError]] = {
    "NoSuchEntity": NoSuchEntity,
    "EntityAlreadyExists": EntityAlreadyExists,
    "DeleteConflict": DeleteConflict,
    "AccessDenied": Forbidden,
    "AccessDeniedException": Forbidden,
    "OptInRequired": Forbidden,
    "Throttling": Unavailable,
    "ThrottlingException": Unavailable,
    "RequestLimitExceeded": Unavailable,
    "RequestThrottled": Unavailable,
    "TooManyRequestsException": Unavailable,
    "ConcurrentModification": Unavailable,
    "EntityTemporarilyUnmodifiable": Unavailable,
    "ServiceFailure": Unavailable,
    "ServiceUnavailable": Unavailable,
    "InternalFailure": Unavailable,
}
_BAD_CREDENTIALS = {
    "AuthFailure",
    "ExpiredToken",
    "ExpiredTokenException",
    "IncompleteSignature",
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "InvalidToken",
    "MissingAuthenticationToken",
    "RequestExpired",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
}
_KEY_ID = re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{8,}\b")


def error_from(code: str, message: str, status: int) -> IamError:
    """Return the operator's error for an error of AWS; without credentials."""
    if code in _BAD_CREDENTIALS:
        return Forbidden(code, "AWS does not accept the operator's credentials; look at how they are given to it")
    kind = _ERRORS.get(code) or (Unavailable if status >= 500 or status == 429 else Rejected)
    return kind(code, _KEY_ID.sub("(key id)", message))


class AwsIam:
    """IAM over the network; an async context manager. See ``Iam`` for what the methods do."""

    def __init__(self, *, endpoint_url: str = "", region: str = "") -> None:
        self._endpoint_url = endpoint_url
        self._region = region
        self._stack = AsyncExitStack()
        self._client: Any = None

    async def __aenter__(self) -> Self:
        from aiobotocore.config import AioConfig
        from aiobotocore.session import get_session

        for name in ("botocore", "aiobotocore"):
            logging.getLogger(name).setLevel(logging.WARNING)
        config = AioConfig(
            connect_timeout=CONNECT_TIMEOUT_S,
            read_timeout=READ_TIMEOUT_S,
            max_pool_connections=CONNECTIONS,
            retries={"total_max_attempts": 1, "mode": "standard"},
        )
        session = get_session()
        region = self._region or session.get_config_variable("region") or DEFAULT_REGION
        opening = session.create_client(
            "iam", region_name=region, endpoint_url=self._endpoint_url or None, config=config
        )
        self._client = await self._stack.enter_async_context(opening)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[Any]:
        """The SDK's client; its errors become ours, and their text, which may quote a request, is not chained."""
        from botocore import exceptions
        from botocore.parsers import ResponseParserError

        if self._client is None:
            raise RuntimeError("AwsIam is not open; use `async with AwsIam() as iam:`")
        try:
            yield self._client
        except exceptions.ClientError as error:
            answer = error.response.get("Error", {})
            status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
            raise error_from(str(answer.get("Code", "")), str(answer.get("Message", "")), status) from None
        except (exceptions.NoCredentialsError, exceptions.PartialCredentialsError):
            raise Forbidden("NoCredentials", "no AWS credentials were found; give the operator some") from None
        except exceptions.CredentialRetrievalError:
            raise Forbidden("CredentialRetrieval", "the AWS credentials could not be fetched") from None
        except (exceptions.ConnectionError, exceptions.HTTPClientError) as error:
            raise Unavailable(type(error).__name__, "AWS was not reached, or did not answer in time") from None
        except ResponseParserError:
            raise Unavailable(
                "GarbledAnswer", "what answered is not AWS, or something between here and there"
            ) from None
        except exceptions.BotoCoreError as error:
            raise Rejected(type(error).__name__, _KEY_ID.sub("(key id)", str(error))) from None

    async def _read(self, method: str, **parameters: str) -> Any:
        """Return the answer of a call; None where there is nothing of that name."""
        try:
            async with self._asking() as client:
                return await getattr(client, method)(**parameters)
        except NoSuchEntity:
            return None

    async def _write(self, method: str, **parameters: Any) -> Any:
        async with self._asking() as client:
            return await getattr(client, method)(**parameters)

    async def get_policy(self, arn: str) -> IamPolicy | None:
        """The policy."""
        found = await self._read("get_policy", PolicyArn=arn)
        return None if found is None else IamPolicy(found["Policy"]["Arn"], found["Policy"]["DefaultVersionId"])

    async def create_policy(self, name: str, path: str, document: str) -> str:
        """Make a policy."""
        made = await self._write("create_policy", PolicyName=name, Path=path, PolicyDocument=document)
        return str(made["Policy"]["Arn"])

    async def delete_policy(self, arn: str) -> None:
        """Delete a policy."""
        await self._write("delete_policy", PolicyArn=arn)

    async def get_policy_version(self, arn: str, version_id: str) -> str | None:
        """The document of a version."""
        found = await self._read("get_policy_version", PolicyArn=arn, VersionId=version_id)
        return None if found is None else canonical(found["PolicyVersion"]["Document"])

    async def list_policy_versions(self, arn: str) -> tuple[PolicyVersion, ...] | None:
        """All versions, the oldest first; IAM's limit is far below a page."""
        found = await self._read("list_policy_versions", PolicyArn=arn)
        if found is None:
            return None
        listed = [PolicyVersion(one["VersionId"], one["IsDefaultVersion"]) for one in found["Versions"]]
        return tuple(sorted(listed, key=lambda version: int(version.version_id.removeprefix("v"))))

    async def create_policy_version(self, arn: str, document: str) -> str:
        """Add a version and make it the default."""
        made = await self._write("create_policy_version", PolicyArn=arn, PolicyDocument=document, SetAsDefault=True)
        return str(made["PolicyVersion"]["VersionId"])

    async def delete_policy_version(self, arn: str, version_id: str) -> None:
        """Delete a version."""
        await self._write("delete_policy_version", PolicyArn=arn, VersionId=version_id)

    async def get_role(self, name: str) -> IamRole | None:
        """The role."""
        found = await self._read("get_role", RoleName=name)
        if found is None:
            return None
        role = found["Role"]
        boundary = role.get("PermissionsBoundary", {}).get("PermissionsBoundaryArn", "")
        return IamRole(role["Arn"], canonical(role["AssumeRolePolicyDocument"]), boundary)

    async def create_role(self, name: str, path: str, trust: str, boundary_arn: str) -> str:
        """Make a role."""
        limit = {"PermissionsBoundary": boundary_arn} if boundary_arn else {}
        made = await self._write("create_role", RoleName=name, Path=path, AssumeRolePolicyDocument=trust, **limit)
        return str(made["Role"]["Arn"])

    async def delete_role(self, name: str) -> None:
        """Delete a role."""
        await self._write("delete_role", RoleName=name)

    async def update_assume_role_policy(self, name: str, trust: str) -> None:
        """Change who may take a role."""
        await self._write("update_assume_role_policy", RoleName=name, PolicyDocument=trust)

    async def put_role_permissions_boundary(self, name: str, boundary_arn: str) -> None:
        """Limit a role."""
        await self._write("put_role_permissions_boundary", RoleName=name, PermissionsBoundary=boundary_arn)

    async def delete_role_permissions_boundary(self, name: str) -> None:
        """Take a role's limit away."""
        await self._write("delete_role_permissions_boundary", RoleName=name)

    async def list_attached_role_policies(self, name: str) -> tuple[str, ...] | None:
        """The ARNs of a role's policies; IAM's limit is far below a page."""
        found = await self._read("list_attached_role_policies", RoleName=name)
        return None if found is None else tuple(sorted(one["PolicyArn"] for one in found["AttachedPolicies"]))

    async def attach_role_policy(self, name: str, policy_arn: str) -> None:
        """Give a role a policy."""
        await self._write("attach_role_policy", RoleName=name, PolicyArn=policy_arn)

    async def detach_role_policy(self, name: str, policy_arn: str) -> None:
        """Take a policy from a role."""
        await self._write("detach_role_policy", RoleName=name, PolicyArn=policy_arn)
