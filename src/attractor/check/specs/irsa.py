"""The IRSA operator: a work queue, N workers, three controllers and AWS IAM.

It follows the TLA+ specification of the operator line by line: three phases of a worker in (idle, req), reconcile
actions that do not release the worker, the child enqueued before its owner, and a request for the service account that
only ``sa_all_done`` swallows.
"""

from __future__ import annotations

from attractor.check import (
    Map,
    Record,
    Spec,
    action,
    always,
    constant,
    each,
    eventually_always,
    henceforth,
    interchangeable,
    leads_to,
    predicate,
    require,
    var,
)

IRSA, POLICY, ROLE, SA = "irsa", "policy", "role", "sa"
VALID_STATES = (None, "pending")


class Resource(Record):
    """The iamroleserviceaccount."""

    st: str | None = None
    sa_name: str = "saName"
    stmt: str = "statement"
    role_arn: str | None = None
    policy_arn: str | None = None


class Policy(Record):
    """The policy resource."""

    st: str | None = None
    stmt: str | None = None
    aws_policy_arn: str | None = None


class Role(Record):
    """The role resource."""

    st: str | None = None
    sa_name: str | None = None
    role_arn: str | None = None
    policy_arn: str | None = None
    policies_attached: bool = False


class ServiceAccount(Record):
    """The service account to be created."""

    st: str | None = None
    name: str | None = None
    role_arn: str | None = None


class AwsPolicy(Record):
    """The IAM policy on AWS."""

    arn: str | None = None


class AwsRole(Record):
    """The IAM role on AWS."""

    arn: str | None = None
    attached_policy: str | None = None


class WorkQueue(Record):
    """The Kubernetes work queue."""

    dirty: frozenset[str] = frozenset()
    processing: frozenset[str] = frozenset()
    queue: tuple[str, ...] = ()


class Worker(Record):
    """One reconcile loop."""

    idle: bool = True
    req: str | None = None


class Irsa(Spec):
    """The operator with ``workers`` concurrent reconcile loops."""

    workers: int = constant(2)

    irsa: Resource = var(Resource())
    policy: Policy = var(Policy())
    role: Role = var(Role())
    sa: ServiceAccount = var(ServiceAccount())
    aws_policy: AwsPolicy = var(AwsPolicy())
    aws_role: AwsRole = var(AwsRole())
    wq: WorkQueue = var(WorkQueue())
    worker: Map[int, Worker] = each(workers, Worker())
    modified: tuple[str, ...] = var((IRSA,))

    same_workers = interchangeable(workers)

    # The Kubernetes work queue

    def enqueue(self, *requests: str) -> None:
        """Note resources as modified: what the watch will tell."""
        self.modified += requests

    @action(fair="weak")
    def add(self) -> None:
        """The watch delivers one modified resource to the queue."""
        require(self.modified)
        e, wq = self.modified[0], self.wq
        self.modified = self.modified[1:]
        if e not in wq.dirty:
            queue = wq.queue if e in wq.processing else (*wq.queue, e)
            self.wq = wq.but(dirty=wq.dirty | {e}, queue=queue)

    @action(w=workers, fair="weak")
    def get(self, w: int) -> None:
        """A free worker takes the head of the queue."""
        require(self.worker[w].idle and self.worker[w].req is None)
        require(self.wq.queue)
        wq, head = self.wq, self.wq.queue[0]
        self.worker[w] = Worker(idle=False, req=head)
        self.wq = wq.but(queue=wq.queue[1:], dirty=wq.dirty - {head}, processing=wq.processing | {head})

    @action(w=workers, fair="weak")
    def done(self, w: int) -> None:
        """A worker gives its request back; it is queued again if it was added meanwhile."""
        require(self.worker[w].idle and self.worker[w].req is not None)
        wq, r = self.wq, self.worker[w].req
        self.worker[w] = Worker()
        queue = (*wq.queue, r) if r in wq.dirty else wq.queue
        self.wq = wq.but(processing=wq.processing - {r}, queue=queue)

    # The expected states when a resource has converged

    def irsa_complete(self) -> bool:
        """Every child exists."""
        return self.policy.st is not None and self.role.st is not None and self.sa.st is not None

    def policy_complete(self) -> bool:
        """The policy exists and has its ARN."""
        policy = self.policy
        return policy.st is not None and policy.stmt is not None and policy.aws_policy_arn is not None

    def role_complete(self) -> bool:
        """The role exists, has both ARNs, and its policy is attached."""
        role = self.role
        named = role.st is not None and role.sa_name is not None
        return named and role.role_arn is not None and role.policy_arn is not None and role.policies_attached

    def sa_complete(self) -> bool:
        """The service account exists."""
        return self.sa.st is not None and self.sa.name is not None and self.sa.role_arn is not None

    # The controllers

    def reconciles(self, w: int, request: str) -> bool:
        """Worker ``w`` is busy with ``request``."""
        return not self.worker[w].idle and self.worker[w].req == request

    def release(self, w: int) -> None:
        """Worker ``w`` has finished its reconcile."""
        self.worker[w] = self.worker[w].but(idle=True)

    @action(w=workers, fair="weak")
    def create_policy(self, w: int) -> None:
        """The irsa controller creates the policy."""
        require(self.reconciles(w, IRSA) and self.policy.st is None)
        self.policy = self.policy.but(st="pending", stmt=self.irsa.stmt)
        self.release(w)
        self.enqueue(POLICY, IRSA)

    @action(w=workers, fair="weak")
    def create_role(self, w: int) -> None:
        """The irsa controller creates the role."""
        require(self.reconciles(w, IRSA) and self.role.st is None)
        self.role = self.role.but(st="pending", sa_name=self.irsa.sa_name)
        self.release(w)
        self.enqueue(ROLE, IRSA)

    @action(w=workers, fair="weak")
    def policy_has_no_arn(self, w: int) -> None:
        """The policy controller creates the policy on AWS, then records its ARN."""
        require(self.reconciles(w, POLICY) and self.policy.aws_policy_arn is None)
        if self.aws_policy.arn is None:
            self.aws_policy = AwsPolicy(arn="policyARN")
        else:
            self.policy = self.policy.but(aws_policy_arn=self.aws_policy.arn)
        self.enqueue(POLICY)

    @action(w=workers, fair="weak")
    def role_has_no_role_arn(self, w: int) -> None:
        """The role controller creates the role on AWS, then records its ARN."""
        require(self.reconciles(w, ROLE) and self.role.role_arn is None)
        if self.aws_role.arn is None:
            self.aws_role = self.aws_role.but(arn="roleARN")
        else:
            self.role = self.role.but(role_arn=self.aws_role.arn)
        self.enqueue(ROLE)

    @action(w=workers, fair="weak")
    def role_has_no_policy_arn(self, w: int) -> None:
        """The role controller records the policy's ARN."""
        require(self.reconciles(w, ROLE) and self.role.policy_arn is None)
        require(self.policy.aws_policy_arn is not None)
        self.role = self.role.but(policy_arn=self.policy.aws_policy_arn)
        self.enqueue(ROLE)

    @action(w=workers, fair="weak")
    def role_has_policy_arn(self, w: int) -> None:
        """The role controller attaches the policy on AWS."""
        require(self.reconciles(w, ROLE))
        role = self.role
        require(role.policy_arn is not None and role.role_arn is not None and not role.policies_attached)
        require(self.aws_role.attached_policy is None)
        self.aws_role = self.aws_role.but(attached_policy=role.policy_arn)
        self.role = role.but(policies_attached=True)
        self.enqueue(ROLE)

    @action(w=workers, fair="weak")
    def create_service_account(self, w: int) -> None:
        """The irsa controller creates the service account once role and policy are complete."""
        require(self.reconciles(w, IRSA) and self.sa.st is None)
        require(self.role_complete() and self.policy_complete())
        self.sa = ServiceAccount(st="pending", name=self.irsa.sa_name, role_arn=self.role.role_arn)
        self.enqueue(SA, IRSA)

    # Swallow events when there is nothing to do on the resource

    @action(w=workers, fair="weak")
    def irsa_all_done(self, w: int) -> None:
        """Nothing left to do for the irsa."""
        require(self.reconciles(w, IRSA) and self.irsa_complete())
        self.release(w)

    @action(w=workers, fair="weak")
    def policy_all_done(self, w: int) -> None:
        """Nothing left to do for the policy."""
        require(self.reconciles(w, POLICY) and self.policy_complete())
        self.release(w)

    @action(w=workers, fair="weak")
    def role_all_done(self, w: int) -> None:
        """Nothing left to do for the role."""
        require(self.reconciles(w, ROLE) and self.role_complete())
        self.release(w)

    @action(w=workers, fair="weak")
    def sa_all_done(self, w: int) -> None:
        """Nothing left to do for the service account."""
        require(self.reconciles(w, SA) and self.sa_complete())
        self.release(w)

    @action(fair="weak")
    def termination(self) -> None:
        """The whole state has converged; nothing changes."""
        require(all(self.worker[w] == Worker() for w in self.worker))
        require(self.irsa_complete() and self.role_complete() and self.policy_complete() and self.sa_complete())
        require(self.aws_policy.arn is not None)
        require(self.aws_role.arn is not None and self.aws_role.attached_policy is not None)

    # Expectations

    @always
    def type_ok(self) -> bool:
        """Every resource is in a valid state."""
        return (
            self.irsa.st in VALID_STATES
            and self.policy.st in VALID_STATES
            and self.role.st in VALID_STATES
            and self.sa.st in VALID_STATES
            and self.aws_role.arn in (None, "roleARN")
            and self.aws_policy.arn in (None, "policyARN")
        )

    @always(w=workers)
    def requests_are_known(self, w: int) -> bool:
        """A worker holds one of the four requests or none."""
        return self.worker[w].req in (None, IRSA, POLICY, ROLE, SA)

    @always(w=workers, x=workers)
    def no_concurrent_processing_of_same_resource(self, w: int, x: int) -> bool:
        """No other worker holds the request of a busy one."""
        return w == x or self.worker[w].idle or self.worker[w].req != self.worker[x].req

    @predicate
    def converged(self) -> bool:
        """Termination is enabled."""
        return self.enabled("termination")

    @predicate
    def only_termination(self) -> bool:
        """Termination is enabled and nothing else is."""
        others = (name for name in self.action_names if name != "termination")
        return self.enabled("termination") and not any(self.enabled(name) for name in others)

    termination_is_the_last_action = leads_to(henceforth(converged), only_termination)
    terminates = eventually_always(converged)
