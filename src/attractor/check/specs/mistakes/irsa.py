"""Mistakes in the IRSA operator."""

from __future__ import annotations

from attractor.check import require
from attractor.check.specs.irsa import IRSA, POLICY, ROLE, Irsa, Worker


class DoneForgetsDirty(Irsa):
    """The queue loses what was added while a request was with a worker."""

    def done(self, w: int) -> None:
        """Only leave processing."""
        require(self.worker[w].idle and self.worker[w].req is not None)
        self.wq = self.wq.but(processing=self.wq.processing - {self.worker[w].req})
        self.worker[w] = Worker()


class QueuesWhileProcessing(DoneForgetsDirty):
    """The queue hands out a request that another worker still has (what is dirty waits already; done adds nothing)."""

    def add(self) -> None:
        """Append without a look at processing."""
        require(self.modified)
        e, wq = self.modified[0], self.wq
        self.modified = self.modified[1:]
        if e not in wq.dirty:
            self.wq = wq.but(dirty=wq.dirty | {e}, queue=(*wq.queue, e))


class OwnerIsNotToldOfItsPolicy(Irsa):
    """Creating the policy does not bring the owner back into the queue."""

    def create_policy(self, w: int) -> None:
        """Enqueue the child only."""
        require(self.reconciles(w, IRSA) and self.policy.st is None)
        self.policy = self.policy.but(st="pending", stmt=self.irsa.stmt)
        self.release(w)
        self.enqueue(POLICY)


class AttachesWithoutRecording(Irsa):
    """The policy is attached on AWS, and a crash before the flag is written is not thought of: nobody finishes."""

    def role_has_policy_arn(self, w: int) -> None:
        """Attach, and forget to say so."""
        require(self.reconciles(w, ROLE))
        role = self.role
        require(role.policy_arn is not None and role.role_arn is not None and not role.policies_attached)
        require(self.aws_role.attached_policy is None)
        self.aws_role = self.aws_role.but(attached_policy=role.policy_arn)
        self.enqueue(ROLE)
