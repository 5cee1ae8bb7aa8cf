"""The IRSA operator: a ServiceAccount with a role of its own on AWS, from one resource.

    apiVersion: irsa.attractor.dev/v1alpha1
    kind: IamRoleServiceAccount
    metadata: {name: reader, namespace: default}
    spec:
      policy:
        statement:
          - {resource: "arn:aws:s3:::reports/*", action: ["s3:GetObject"]}

Three controllers share the work. ``irsas`` splits the resource into a Policy, a Role and, once both are on AWS, a
ServiceAccount that is annotated with the role. ``policies`` keeps one IAM policy for each Policy, ``roles`` one IAM
role with exactly that policy attached for each Role. All names on AWS follow from the resource's name, so whatever an
interrupted run left behind is found again and never made twice.

Guarantees, proved by ``proofs`` with the very code that runs: no second policy or role for one resource; never
attached to the wrong role; a ServiceAccount only after its role was complete; after deletion nothing is left on AWS;
what was changed behind the operator's back is put right.

Read ``api`` first, then in ``controllers`` ``names`` and ``documents`` (what AWS is told), ``policies``, ``roles`` and
``irsas``; ``drivers.iam`` says how AWS is told, ``drivers.aws`` is the real IAM, ``proofs.model`` the one that the
checker and fast tests use; ``operator`` is what ``attractor run`` runs, ``cli`` the demonstration.
"""
