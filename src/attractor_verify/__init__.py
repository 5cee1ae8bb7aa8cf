"""A verifier of certificates that ``attractor check --certificate FILE`` wrote. It shares no code with its engines.

``certificate`` reads the file, ``subject`` finds what it is about, ``replay`` executes every row again, ``closure``
hands states and rows to ``_closure.c``; ``proof`` says what must be true of them. Start with ``proof.verify``. What is
trusted, and what is not, is said in ``docs/explanation/trust.md``.
"""

from attractor_verify.certificate import Rejected
from attractor_verify.proof import Verified, verify

__all__ = ["Rejected", "Verified", "verify"]
