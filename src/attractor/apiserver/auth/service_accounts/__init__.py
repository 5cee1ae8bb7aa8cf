"""Service accounts' tokens: issued, signed and checked.

Read ``token_keys`` first (signing and its opposite), then ``claims`` (what a token says and when it is still true),
then ``token_request`` (the ``serviceaccounts/token`` subresource). Pure: signing is deterministic (RFC 6979), and time
comes from the transaction.

Guarantees: a token is good until it expires, or until its service account, or the object it is bound to, is gone or
replaced by another of the same name.
"""
