"""A kind with a webhook of each sort, as an author would write them."""

from typing import Literal

from attractor import AdmissionRequest, Denied, ObjectMeta, Resource, Struct, mutate, validate


class WebServiceSpec(Struct):
    tier: Literal["small", "large"] = "small"
    replicas: int = 1


class WebService(Resource, group="web.example.org", version="v1"):
    """A web service."""

    spec: WebServiceSpec


@mutate(WebService)
def sized(service: WebService, request: AdmissionRequest[WebService]) -> None:
    """A large service has at least three replicas."""
    if service.spec.tier == "large":
        service.spec.replicas = max(service.spec.replicas, 3)


@validate(WebService, on=("CREATE", "UPDATE", "DELETE"))
def fits(service: WebService, request: AdmissionRequest[WebService]) -> None:
    """The tier stays, replicas are few, and what is kept is not deleted."""
    if request.operation == "DELETE":
        if "keep" in service.metadata.labels:
            raise Denied("it has the label `keep`")
        return
    if request.old is not None and request.old.spec.tier != service.spec.tier:
        request.refuse("spec.tier", "cannot be changed")
    if service.spec.replicas > 10:
        request.refuse("spec.replicas", "10 at most")
    if service.spec.replicas > 5:
        request.warn("more than 5 replicas are untested")


def service(name: str = "a", labels: dict[str, str] | None = None, **spec: object) -> WebService:
    made = WebServiceSpec(**spec)  # type: ignore[arg-type]
    return WebService(metadata=ObjectMeta(name=name, namespace="default", labels=labels or {}), spec=made)
