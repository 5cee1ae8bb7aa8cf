"""The operator as a module: ``attractor run attractor.operators.irsa.operator``.

Settings come from the environment (``settings``), credentials from wherever AWS's own tools take them (``aws``).
"""

from __future__ import annotations

import os

from attractor.operators.irsa.controllers.declarations import controllers
from attractor.operators.irsa.controllers.settings import Settings
from attractor.operators.irsa.drivers.aws import AwsIam
from attractor.operators.irsa.drivers.iam import Iam

irsas, policies, roles = controllers(Settings.from_environment(os.environ))
externals = {Iam: AwsIam()}
