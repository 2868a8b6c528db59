"""Whether a cluster can be used from here: for the doctor, in plain words. Starts one pod and removes it."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Final

from cluster.sandboxes.kubernetes.api import KubernetesApi
from cluster.sandboxes.kubernetes.options import Options
from cluster.sandboxes.kubernetes.sandbox import KubernetesSandbox
from parsimony.errors import PermanentError
from parsimony.execution import MIB, ExecutionRequest, Limits

NEEDED: Final = ("create", "get", "list", "watch", "delete")
PATIENCE_S: Final = 120.0


def reach(options: Options) -> str:
    """The API answers, and this account may do with pods what is needed.

    Raises:
        SandboxUnavailable, PermanentError: not so.
    """
    api = KubernetesApi(1, options.kubeconfig, options.context, options.namespace)
    try:
        version = api.version()
        lacking = [verb for verb in NEEDED if not api.may(verb, "pods")]
        if lacking:
            raise PermanentError(f"this account may not {', '.join(lacking)} pods in the namespace {api.namespace}")
        return f"{version} at {api.host}, namespace {api.namespace}: pods may be made and removed"
    finally:
        api.close()


async def trial(options: Options) -> str:
    """One pod of the courier's image goes all the way: scheduled, its inbox fetched, its outbox carried back.

    Raises:
        TemporaryError, PermanentError: it does not.
    """
    patient = replace(options, pending_s=PATIENCE_S, start_s=PATIENCE_S)
    fields = {name: getattr(patient, name) for name in Options.__dataclass_fields__}
    sandbox = await KubernetesSandbox.open(slots=1, **fields)
    try:
        result = await sandbox.run(
            ExecutionRequest(
                execution_key="sha256:doctor",
                name=f"psm-doctor-{secrets.token_hex(6)}",
                command=("/bin/sh", "-c", 'cp "$PARSIMONY_IN/there" "$PARSIMONY_OUT/back"'),
                files={"there": b"and back"},
                image=options.courier_image,
                limits=Limits(timeout_s=30, overhead_s=0, cpus=0.1, memory_bytes=64 * MIB, disk_bytes=64 * MIB),
            )
        )
    finally:
        await sandbox.close()
    if result.outputs != {"back": b"and back"}:
        raise PermanentError(f"a pod gave back {result.outputs!r}: {result.log.head[-200:]!r}")
    network = "policies cut the network off" if options.network_policies else "the network is NOT known to be cut off"
    return f"a pod of {options.courier_image} came back after {sum(result.phases.values()):.1f} s; {network}"
