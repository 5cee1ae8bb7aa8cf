"""``Call``: the arguments of a verb: operation, kind, transaction and admission chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.admission.plugin import Attributes, Chain
from attractor.apiserver.kinds.served_kind import Kind
from attractor.apiserver.request.operation import Operation
from attractor.apiserver.transaction import Transaction
from attractor.objects.errors import NotFound

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject
    from attractor.store.contract import Entry


class Call:
    """One operation being answered."""

    __slots__ = ("chain", "kind", "op", "txn")

    def __init__(self, op: Operation, kind: Kind, txn: Transaction, chain: Chain) -> None:
        self.op = op
        self.kind = kind
        self.txn = txn
        self.chain = chain

    @property
    def key(self) -> str:
        """The key of the named object."""
        return self.kind.key(self.op.namespace, self.op.name)

    def existing(self) -> Entry:
        """The named object's entry; raises ``NotFound``."""
        entry = self.txn.get(self.kind.key(self.op.namespace, self.op.name))
        if entry is None:
            raise NotFound.of(self.kind.group_resource, self.op.name)
        return entry

    def admit(self, obj: JsonObject | None, old: JsonObject | None, entry: Entry | None = None) -> Attributes:
        """Let admission change or refuse the write, and answer what it was asked; ``entry`` is what is stored now."""
        attributes = Attributes(self.op, self.kind, obj, old, self.txn, str(entry.revision) if entry else "")
        self.chain.admit(attributes)
        return attributes

    def admit_finally(self, asked: Attributes) -> None:
        """Let admission refuse the write as it stands."""
        self.chain.validate(asked)
