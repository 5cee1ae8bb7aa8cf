"""CertificateSubjectRestriction: no certificate for clients makes anybody a member of ``system:masters``."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING

from attractor.apiserver.admission.plugin import Plugin
from attractor.apiserver.admission.plugins.lookup import is_about
from attractor.apiserver.auth.authorizer import MASTERS
from attractor.objects.errors import Forbidden
from attractor.objects.gvk import GroupResource

if TYPE_CHECKING:
    from attractor.apiserver.admission.plugin import Attributes

_GROUP, _RESOURCE = "certificates.k8s.io", "certificatesigningrequests"
CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"


class CertificateSubjectRestriction(Plugin):
    """Refuses requests for certificates of the group that may do everything, whoever would approve them."""

    concerns = frozenset({GroupResource(_GROUP, _RESOURCE)})

    def validate(self, attributes: Attributes) -> None:
        """Look at the subject of a new request to the signer of clients."""
        request = attributes.obj
        if request is None or attributes.old is not None or not is_about(attributes, _GROUP, _RESOURCE):
            return
        if request["spec"].get("signerName") != CLIENT_SIGNER:
            return
        try:
            groups = organizations(b64decode(request["spec"].get("request") or ""))
        except ValueError as error:
            raise Forbidden.of(
                attributes.kind.group_resource, attributes.name, f"failed to parse CSR: {error}"
            ) from None
        if MASTERS in groups:
            why = f"use of {CLIENT_SIGNER} signer with {MASTERS} group is not allowed"
            raise Forbidden.of(attributes.kind.group_resource, attributes.name, why)


def organizations(pem: bytes) -> list[str]:
    """The organizations that a certificate request names, which a server takes for groups; raises ``ValueError``."""
    from cryptography import x509  # loading it takes longer than most starts need

    subject = x509.load_pem_x509_csr(pem).subject
    return [str(one.value) for one in subject.get_attributes_for_oid(x509.NameOID.ORGANIZATION_NAME)]
