"""The operator as ``attractor run`` runs it, with an IAM that has bad days."""

import os

from attractor.operators.irsa.controllers.declarations import controllers
from attractor.operators.irsa.controllers.settings import Settings
from attractor.operators.irsa.drivers.aws import AwsIam
from attractor.operators.irsa.drivers.iam import Iam
from tests.operators.irsa.trouble import FaultyIam

irsas, policies, roles = controllers(Settings.from_environment(os.environ))
externals = {Iam: FaultyIam(AwsIam(), os.environ["FAULTS_SEED"])}
