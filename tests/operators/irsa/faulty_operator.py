"""The operator as ``attractor run`` runs it, with an IAM that has bad days."""

import os

from attractor.operators.irsa.aws import AwsIam
from attractor.operators.irsa.controllers import controllers
from attractor.operators.irsa.iam import Iam
from attractor.operators.irsa.settings import Settings
from tests.operators.irsa.trouble import FaultyIam

irsas, policies, roles = controllers(Settings.from_environment(os.environ))
externals = {Iam: FaultyIam(AwsIam(), os.environ["FAULTS_SEED"])}
