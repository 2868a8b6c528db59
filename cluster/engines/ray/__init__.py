"""The `ray` engine: one agent on every node of a Ray cluster. Nothing outside this folder knows Ray.

Ray starts actors, carries calls, and says when a node or an actor is gone. It retries nothing: attempts are numbered
and repeated by the dispatcher, because a call that Ray repeats has its side effects twice.
"""

from parsimony.errors import InputError

try:
    import ray as _ray  # noqa: F401 - whether it is there
except ModuleNotFoundError as _missing:
    raise InputError(
        f"the engine `ray` needs the package {_missing.name}",
        mend="install this distribution with its extra `cluster`, or use the engine `local`",
        field="engine",
    ) from _missing

from cluster.engines.ray.engine import RayEngine

__all__ = ["RayEngine"]
