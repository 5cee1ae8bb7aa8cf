"""Admission webhooks: others who may change or refuse a write.

Read ``configuration`` first (which webhooks there are, and which request each is for), then ``review`` (what is asked
and what an answer means), then ``plugins`` (in which order, and what a failure does). Nothing here calls anybody:
questions leave through ``attractor.apiserver.admission.outside_calls`` and come back as answers.

Guarantees: mutating webhooks run one after the other, in the order of their configurations' names, each on the result
of the one before; validating ones are asked together, about the object as it will be stored. Webhook configurations
and admission policies are never sent to webhooks, so that a broken one can always be repaired.
"""
