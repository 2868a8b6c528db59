"""`parsimony images prefetch` and `gc`: bring images here, and make room."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from rich.text import Text

from cluster.imagelock import make_pins
from cluster.images.collecting import Collected, collect
from cluster.images.fetching import Fetched, Fetcher, Pace, State
from cluster.images.registry import RegistryClient
from cluster.imageuse import ImageUse
from cluster.schema import parse_duration, parse_size
from parsimony.cli import DONE, NO, screen
from parsimony.cli.images_pinning import Choice, base_url, opened_store
from parsimony.cli.planning import show
from parsimony.errors import InputError


def prefetch(choice: Choice, parallel: int | None, *, as_json: bool) -> int:
    """Exit status 1 where an image could not be brought here."""
    need = choice.need()
    registries = need.registries(choice.registries)
    if parallel is not None:
        registries = registries.model_copy(update={"parallel": parallel})
    pins = make_pins(need.images, need.lock(choice.lock), registries)
    own = make_pins(need.images, need.lock(choice.lock), registries.model_copy(update={"registries": {}}))
    mirrors = {pins.references.get(name, name): own.references.get(name, name) for name in need.images}
    results: list[Fetched] = []
    started = time.monotonic()
    with opened_store(base_url(need)) as store, contextlib.closing(RegistryClient(registries)) as client:
        assert store is not None
        use = ImageUse(store.engine_id)
        fetcher = Fetcher(
            store, client, registries, Pace(registries.pulls_per_minute),
            lambda ident, reference: use.brought(ident, reference, "pulled"), mirrors,
        )  # fmt: skip
        bar, row = screen.make_bar(screen.console(stderr=True), "pulling")
        with bar if not as_json and bar.console.is_terminal else contextlib.nullcontext():
            bar.update(row, total=len(mirrors), note="")
            for one in fetcher.fetch(mirrors):
                results.append(one)
                bar.advance(row)
                if not as_json and one.state is not State.HERE:
                    bar.console.print(Text(_line(one), style="red" if one.state is State.FAILED else ""))
    failed = [one for one in results if one.state is State.FAILED]
    if as_json:
        screen.print_json({"seconds": time.monotonic() - started, "images": [asdict(one) for one in results]})
    else:
        counts = {state: sum(one.state is state for one in results) for state in State}
        told = ", ".join(f"{n} {state.value}" for state, n in counts.items() if n)
        screen.console().print(Text(f"{told} (of {len(results)} images, {screen.seconds(time.monotonic() - started)})"))
    return NO if failed else DONE


def _line(one: Fetched) -> str:
    if one.state is State.FAILED:
        return f"{one.reference}: {one.text}"
    tries = f", {one.tries} tries" if one.tries > 1 else ""
    return f"{one.reference}: {one.state.value} in {screen.seconds(one.seconds)}{tries}, {screen.mebibytes(one.size)}"


def gc(budget: str | None, free: str | None, spare: str, *, remove: bool, as_json: bool) -> int:
    """Exit status 1 where the budget does not hold."""
    if budget is None and free is None:
        mend = "give --budget, for example 50g, or --free, for example 20g"
        raise InputError("nothing says how much is too much", mend=mend, field="--budget")
    limit = None if budget is None else int(_number(budget, parse_size, "--budget"))
    room = 0 if free is None else int(_number(free, parse_size, "--free"))
    with opened_store(None) as store:
        assert store is not None
        if room and store.free_bytes() is None:
            mend = "use --budget: the disk of an engine on another machine cannot be looked at"
            raise InputError("is not known here", mend=mend, field="--free")
        spare_s = _number(spare, parse_duration, "--spare")
        found = collect(store, ImageUse(store.engine_id), budget=limit, free=room, spare_s=spare_s, remove=remove)
    if as_json:
        screen.print_json(_as_json(found, removed=remove))
    else:
        _print(found, remove=remove)
    left = bool(found.eviction.evict) and not remove
    return NO if left or found.eviction.short or found.kept else DONE


def _number(text: str, parse: Callable[[object], object], option: str) -> float:
    try:
        value = parse(text)
    except ValueError as error:
        problem, _, mend = str(error).partition("; ")
        raise InputError(f"{problem} (given: {text!r})", mend=mend, field=option) from None
    assert isinstance(value, int | float)
    return value


def _as_json(found: Collected, *, removed: bool) -> dict[str, Any]:
    eviction = found.eviction
    return {
        "held_bytes": eviction.held_bytes,
        "freed_bytes": eviction.freed,
        "short_bytes": eviction.short,
        "evict": [
            {"id": one.id, "references": list(one.references), "used": one.used, "frees": eviction.frees[one.id]}
            for one in eviction.evict
        ],
        "spared": {one.id: one.spared for one in found.held if one.spared},
        "removed": found.removed if removed else None,
        "kept": found.kept,
    }


def _print(found: Collected, *, remove: bool) -> None:
    out, eviction = screen.console(), found.eviction
    for one in eviction.evict:
        age = screen.seconds(max(0.0, time.time() - one.used))
        frees = show(eviction.frees[one.id], "bytes")
        out.print(Text(f"{', '.join(one.references) or one.id}  last used {age} ago, frees {frees}"))
    for name, why in found.kept.items():
        out.print(Text(f"kept: {name}: {why}", style="yellow"))
    out.print(
        Text(f"{len(found.held)} images are ours, {show(eviction.held_bytes, 'bytes')} that nobody else's image has")
    )
    if eviction.evict:
        done = "removed" if remove else "would go (--remove takes them away)"
        out.print(Text(f"{len(eviction.evict)} {done}: {show(eviction.freed, 'bytes')}"))
    if eviction.short:
        spared = [one.spared for one in found.held if one.spared]
        why = f"{len(spared)} are spared ({', '.join(sorted(set(spared)))})" if spared else "no more are ours"
        out.print(Text(f"{show(eviction.short, 'bytes')} too many are left: {why}", style="yellow"))
