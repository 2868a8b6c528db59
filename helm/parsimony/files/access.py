"""What `helm test` asks of the API server: that the grader's account may do what it needs, and nothing beyond.

Exit status: 0 all as it should be; 1 something is not, each on a line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

NEEDED = [("", "pods", verb) for verb in ("create", "get", "list", "watch", "delete")]
BEYOND = [
    ("", "secrets", "get"),
    ("", "secrets", "list"),
    ("", "configmaps", "list"),
    ("", "pods/exec", "create"),
    ("", "pods/attach", "create"),
    ("apps", "deployments", "create"),
    ("rbac.authorization.k8s.io", "roles", "create"),
    ("ray.io", "rayjobs", "create"),
]


def faults(may: Callable[[str, str, str], bool]) -> list[str]:
    """What is not as it should be; `may` tells whether the account may (group, resource, verb)."""
    missing = [f"may not {verb} {resource}" for group, resource, verb in NEEDED if not may(group, resource, verb)]
    extra = [f"may {verb} {resource}, which it does not need" for g, resource, verb in BEYOND if may(g, resource, verb)]
    return missing + extra


def main() -> int:
    """See the module."""
    from kubernetes import client, config

    config.load_incluster_config()
    namespace = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace").read_text(encoding="utf-8").strip()
    reviews = client.AuthorizationV1Api()

    def may(group: str, resource: str, verb: str) -> bool:
        name, _, sub = resource.partition("/")
        attributes = client.V1ResourceAttributes(
            namespace=namespace, group=group, resource=name, subresource=sub or None, verb=verb
        )
        spec = client.V1SelfSubjectAccessReviewSpec(resource_attributes=attributes)
        review = reviews.create_self_subject_access_review(client.V1SelfSubjectAccessReview(spec=spec))
        return bool(review.status.allowed)

    found = faults(may)
    for fault in found:
        print(f"the account {fault}")
    print("access: as it should be" if not found else f"access: {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
