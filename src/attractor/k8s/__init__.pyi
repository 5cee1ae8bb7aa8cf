# The later of two imports of one name counts, so the groups stand here in the reverse order of ``GROUPS``.
from attractor.k8s.apiextensions_v1 import *
from attractor.k8s.apps_v1 import *
from attractor.k8s.batch_v1 import *
from attractor.k8s.coordination_v1 import *
from attractor.k8s.core_v1 import *
from attractor.k8s.networking_v1 import *
from attractor.k8s.policy_v1 import *
from attractor.k8s.rbac_v1 import *

GROUPS: tuple[str, ...]
