"""Commands and demonstrations of the operators that come with Attractor, by name; none is imported for the list.

To add one, write ``operators/NAME/cli`` with a function ``configure(parser)``, and name it here. An operator in a
package of its own registers with an entry point instead: see ``attractor.cli.registry``.
"""

from attractor.cli.registry import Command

COMMANDS = (
    Command(
        "edge",
        "Run cloudlets: a coordinator, and an agent on each",
        "attractor.operators.edge.cli.command:configure",
    ),
    Command(
        "dev",
        "Run an application's processes and services on this machine",
        "attractor.operators.devplane.cli.command:configure",
    ),
)

DEMOS = (
    Command(
        "configpair",
        "Run an operator, break its naive version, prove the right one",
        "attractor.operators.configpair.cli:configure",
    ),
    Command(
        "irsa",
        "Service accounts with roles of their own, on a simulated AWS",
        "attractor.operators.irsa.cli.demo:configure",
    ),
    Command(
        "dbcluster",
        "A database cluster that survives its operator's crash, with real rows in it",
        "attractor.operators.dbcluster.cli.demo:configure",
    ),
    Command(
        "edge",
        "Three cloudlets with agents that crash, come back and are upgraded",
        "attractor.operators.edge.cli.demo:configure",
    ),
    Command(
        "devplane",
        "Processes and services on this machine, of which a server is killed and one is added",
        "attractor.operators.devplane.cli.demo:configure",
    ),
)
"""The first is what ``attractor demo`` runs without a name."""
