"""The operator as a module: ``attractor run attractor.operators.irsa.operator``.

Settings come from the environment (``settings``), credentials from wherever AWS's own tools take them (``aws``).
"""

from __future__ import annotations

import os

from attractor.operators.irsa.aws import AwsIam
from attractor.operators.irsa.controllers import controllers
from attractor.operators.irsa.iam import Iam
from attractor.operators.irsa.settings import Settings

irsas, policies, roles = controllers(Settings.from_environment(os.environ))
externals = {Iam: AwsIam()}
