-------------------------------- MODULE Irsa --------------------------------
(* The operator that attractor.check.specs.irsa specifies in Python, for the comparison with TLC. *)
EXTENDS TLC, Naturals, Sequences
CONSTANTS NULL, _workers
VARIABLES irsa, policy, role, sa, awsPolicy, awsRole, wq, workers, modified
vars == <<irsa, policy, role, sa, awsPolicy, awsRole, wq, workers, modified>>
iReq == "irsa"
pReq == "policy"
rReq == "role"
saReq == "sa"
valid_states == {NULL, "pending"}

TypeOk ==
  /\ irsa.st \in valid_states
  /\ policy.st \in valid_states
  /\ role.st \in valid_states
  /\ sa.st \in valid_states
  /\ \A w \in DOMAIN workers : workers[w].req \in {NULL, iReq, pReq, rReq, saReq}
  /\ awsRole.arn \in {NULL, "roleARN"}
  /\ awsPolicy.arn \in {NULL, "policyARN"}

Init ==
  /\ irsa = [st |-> NULL, saName |-> "saName", stmt |-> "statement", roleARN |-> NULL, policyARN |-> NULL]
  /\ policy = [st |-> NULL, stmt |-> NULL, awsPolicyArn |-> NULL]
  /\ role = [st |-> NULL, saName |-> NULL, roleArn |-> NULL, policyArn |-> NULL, policiesAttached |-> FALSE]
  /\ sa = [st |-> NULL, name |-> NULL, roleArn |-> NULL]
  /\ awsPolicy = [arn |-> NULL]
  /\ awsRole = [arn |-> NULL, attachedPolicy |-> NULL]
  /\ modified = <<iReq>>
  /\ wq = [dirty |-> {}, processing |-> {}, queue |-> <<>>]
  /\ workers = [w \in _workers |-> [idle |-> TRUE, req |-> NULL]]

Enqueue(r) == modified' = modified \o r

Add ==
  /\ modified # <<>>
  /\ modified' = Tail(modified)
  /\ LET e == Head(modified) IN
     IF e \in wq.dirty
     THEN UNCHANGED wq
     ELSE IF e \notin wq.processing
          THEN wq' = [wq EXCEPT !.dirty = wq.dirty \union {e}, !.queue = Append(wq.queue, e)]
          ELSE wq' = [wq EXCEPT !.dirty = wq.dirty \union {e}]
  /\ UNCHANGED <<irsa, policy, role, sa, awsPolicy, awsRole, workers>>

Get(w) ==
  /\ workers[w].idle
  /\ workers[w].req = NULL
  /\ wq.queue # <<>>
  /\ LET head == Head(wq.queue) IN
     /\ workers' = [workers EXCEPT ![w] = [idle |-> FALSE, req |-> head]]
     /\ wq' = [wq EXCEPT !.queue = Tail(wq.queue), !.dirty = wq.dirty \ {head},
                         !.processing = wq.processing \union {head}]
  /\ UNCHANGED <<awsPolicy, awsRole, irsa, modified, policy, role, sa>>

Done(w) ==
  /\ workers[w].idle
  /\ workers[w].req # NULL
  /\ workers' = [workers EXCEPT ![w] = [idle |-> TRUE, req |-> NULL]]
  /\ LET r == workers[w].req IN
     IF r \in wq.dirty
     THEN wq' = [wq EXCEPT !.processing = wq.processing \ {r}, !.queue = Append(wq.queue, r)]
     ELSE wq' = [wq EXCEPT !.processing = wq.processing \ {r}]
  /\ UNCHANGED <<awsPolicy, awsRole, irsa, modified, policy, role, sa>>

IrsaComplete == policy.st # NULL /\ role.st # NULL /\ sa.st # NULL
policyComplete == policy.st # NULL /\ policy.stmt # NULL /\ policy.awsPolicyArn # NULL
roleComplete ==
  /\ role.st # NULL
  /\ role.saName # NULL
  /\ role.roleArn # NULL
  /\ role.policyArn # NULL
  /\ role.policiesAttached
saComplete == sa.st # NULL /\ sa.name # NULL /\ sa.roleArn # NULL

Busy(w, r) == workers[w].idle = FALSE /\ workers[w].req = r

CreatePolicy(w) ==
  /\ Busy(w, iReq)
  /\ policy.st = NULL
  /\ policy' = [policy EXCEPT !.st = "pending", !.stmt = irsa.stmt]
  /\ workers' = [workers EXCEPT ![w].idle = TRUE]
  /\ Enqueue(<<pReq, iReq>>)
  /\ UNCHANGED <<awsPolicy, awsRole, irsa, role, sa, wq>>

CreateRole(w) ==
  /\ Busy(w, iReq)
  /\ role.st = NULL
  /\ role' = [role EXCEPT !.st = "pending", !.saName = irsa.saName]
  /\ workers' = [workers EXCEPT ![w].idle = TRUE]
  /\ Enqueue(<<rReq, iReq>>)
  /\ UNCHANGED <<awsPolicy, awsRole, irsa, policy, sa, wq>>

PolicyHasNoARN(w) ==
  /\ Busy(w, pReq)
  /\ policy.awsPolicyArn = NULL
  /\ IF awsPolicy.arn = NULL
     THEN awsPolicy' = [awsPolicy EXCEPT !.arn = "policyARN"] /\ UNCHANGED policy
     ELSE policy' = [policy EXCEPT !.awsPolicyArn = awsPolicy.arn] /\ UNCHANGED awsPolicy
  /\ Enqueue(<<pReq>>)
  /\ UNCHANGED <<awsRole, irsa, role, sa, workers, wq>>

RoleHasNoRoleARN(w) ==
  /\ Busy(w, rReq)
  /\ role.roleArn = NULL
  /\ IF awsRole.arn = NULL
     THEN awsRole' = [awsRole EXCEPT !.arn = "roleARN"] /\ UNCHANGED role
     ELSE role' = [role EXCEPT !.roleArn = awsRole.arn] /\ UNCHANGED awsRole
  /\ Enqueue(<<rReq>>)
  /\ UNCHANGED <<awsPolicy, irsa, policy, sa, workers, wq>>

RoleHasNoPolicyARN(w) ==
  /\ Busy(w, rReq)
  /\ role.policyArn = NULL
  /\ policy.awsPolicyArn # NULL
  /\ role' = [role EXCEPT !.policyArn = policy.awsPolicyArn]
  /\ Enqueue(<<rReq>>)
  /\ UNCHANGED <<awsPolicy, awsRole, irsa, policy, sa, workers, wq>>

RoleHasPolicyARN(w) ==
  /\ Busy(w, rReq)
  /\ role.policyArn # NULL
  /\ role.roleArn # NULL
  /\ ~role.policiesAttached
  /\ awsRole.attachedPolicy = NULL
  /\ awsRole' = [awsRole EXCEPT !.attachedPolicy = role.policyArn]
  /\ role' = [role EXCEPT !.policiesAttached = TRUE]
  /\ Enqueue(<<rReq>>)
  /\ UNCHANGED <<awsPolicy, irsa, policy, sa, workers, wq>>

CreateServiceAccount(w) ==
  /\ Busy(w, iReq)
  /\ sa.st = NULL
  /\ roleComplete
  /\ policyComplete
  /\ sa' = [sa EXCEPT !.st = "pending", !.name = irsa.saName, !.roleArn = role.roleArn]
  /\ Enqueue(<<saReq, iReq>>)
  /\ UNCHANGED <<awsPolicy, awsRole, irsa, policy, role, workers, wq>>

Release(w) ==
  /\ workers' = [workers EXCEPT ![w].idle = TRUE]
  /\ UNCHANGED <<awsPolicy, awsRole, irsa, policy, role, sa, wq, modified>>

IrsaAllDone(w) == Busy(w, iReq) /\ IrsaComplete /\ Release(w)
PolicyAllDone(w) == Busy(w, pReq) /\ policyComplete /\ Release(w)
RoleAllDone(w) == Busy(w, rReq) /\ roleComplete /\ Release(w)
SaAllDone(w) == Busy(w, saReq) /\ saComplete /\ Release(w)

Termination ==
  /\ \A w \in DOMAIN workers : workers[w].idle = TRUE /\ workers[w].req = NULL
  /\ IrsaComplete
  /\ roleComplete
  /\ policyComplete
  /\ saComplete
  /\ awsPolicy.arn # NULL
  /\ awsRole.arn # NULL
  /\ awsRole.attachedPolicy # NULL
  /\ UNCHANGED vars

Worker(w) ==
  \/ Get(w) \/ Done(w) \/ CreatePolicy(w) \/ CreateRole(w) \/ CreateServiceAccount(w) \/ PolicyHasNoARN(w)
  \/ RoleHasNoRoleARN(w) \/ RoleHasNoPolicyARN(w) \/ RoleHasPolicyARN(w)
  \/ IrsaAllDone(w) \/ PolicyAllDone(w) \/ RoleAllDone(w) \/ SaAllDone(w)

Actions == Add \/ \E w \in _workers : Worker(w)
Next == Actions \/ Termination

Fairness ==
  /\ WF_vars(Add)
  /\ WF_vars(Termination)
  /\ \A w \in _workers :
     /\ WF_vars(Get(w))
     /\ WF_vars(Done(w))
     /\ WF_vars(CreatePolicy(w))
     /\ WF_vars(CreateRole(w))
     /\ WF_vars(CreateServiceAccount(w))
     /\ WF_vars(PolicyHasNoARN(w))
     /\ WF_vars(RoleHasNoRoleARN(w))
     /\ WF_vars(RoleHasNoPolicyARN(w))
     /\ WF_vars(RoleHasPolicyARN(w))
     /\ WF_vars(IrsaAllDone(w))
     /\ WF_vars(PolicyAllDone(w))
     /\ WF_vars(RoleAllDone(w))
     /\ WF_vars(SaAllDone(w))

Safe == Init /\ [][Next]_vars
Spec == Safe /\ Fairness

NoConcurrentProcessingOfSameResource ==
  \A w \in DOMAIN workers :
    workers[w].idle \/ workers[w].req \notin {workers[x].req : x \in DOMAIN workers \ {w}}
TerminationIsTheLastAction == []ENABLED Termination ~> (ENABLED Termination /\ ~ENABLED Actions)
Terminates == <>[]ENABLED Termination
=============================================================================
