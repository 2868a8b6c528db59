"""How a command without a sweep file uses a Kubernetes cluster: by a file that `$PARSIMONY_KUBERNETES` names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from cluster.sandboxchoice import KubernetesSandbox
from cluster.yamlfile import read_yaml

VARIABLE: Final = "PARSIMONY_KUBERNETES"


def cluster_choice() -> KubernetesSandbox:
    """What the file says, which is what a sweep says under `sandbox:`; the defaults without one.

    Raises:
        InputError: see `read_yaml`.
    """
    named = os.environ.get(VARIABLE)
    if not named:
        return KubernetesSandbox()
    chosen = read_yaml(Path(named), KubernetesSandbox)
    if chosen.kubeconfig is None:
        return chosen
    return chosen.model_copy(update={"kubeconfig": Path(named).resolve().parent / chosen.kubeconfig})


def sandbox_choice(kind: str) -> dict[str, Any]:
    """The part `sandbox:` of a sweep that a command's `--sandbox` stands for."""
    return cluster_choice().model_dump() if kind == "kubernetes" else {"kind": kind}
