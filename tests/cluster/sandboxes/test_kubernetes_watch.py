"""One watch for all pods: what is missed while it is broken is found out."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from cluster.sandboxes.kubernetes import watch as watch_module
from cluster.sandboxes.kubernetes.bucket import Bucket
from cluster.sandboxes.kubernetes.calls import Expired, QuotaFull, Throttled, refusal
from cluster.sandboxes.kubernetes.cluster import patiently
from cluster.sandboxes.kubernetes.watch import News, PodWatch
from cluster.sandboxes.workers import Aborted
from parsimony.errors import PermanentError, SandboxUnavailable
from tests.cluster.sandboxes.kubernetes_fake import FakeApi


class Heard:
    """What a listener was told."""

    def __init__(self) -> None:
        self.news: list[News] = []
        self._changed = threading.Condition()

    def __call__(self, news: News) -> None:
        with self._changed:
            self.news.append(news)
            self._changed.notify_all()

    def until(self, count: int) -> list[News]:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.news) >= count, 10)
            return self.news


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    monkeypatch.setattr(watch_module, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(watch_module, "LONGEST_PAUSE_S", 0.02)
    return FakeApi()


@pytest.fixture
def watch(api: FakeApi) -> Iterator[PodWatch]:
    made = PodWatch(api, "agent=1")
    made.start()
    yield made
    made.close()


def make(api: FakeApi, name: str) -> str:
    return str(api.create({"metadata": {"name": name}, "spec": {}})["metadata"]["uid"])


def test_each_hears_of_its_own_pod(api: FakeApi, watch: PodWatch) -> None:
    one, two = Heard(), Heard()
    with watch.following("one", one), watch.following("two", two):
        make(api, "one")
        make(api, "two")
        api.change("two", phase="Running")
        assert [news.pod["status"]["phase"] for news in two.until(2)] == ["Pending", "Running"]
        assert len(one.until(1)) == 1
    api.change("two", phase="Succeeded")
    make(api, "three")
    assert len(two.news) == 2
    assert api.requests["watch"] == 1


@pytest.mark.parametrize(
    "break_by", [Expired("too old"), SandboxUnavailable("reset"), ValueError("not JSON"), Throttled(0.01)]
)
def test_a_broken_watch_lists_again(api: FakeApi, watch: PodWatch, break_by: Exception) -> None:
    heard = Heard()
    with watch.following("one", heard) as created:
        created(make(api, "one"))
        heard.until(1)
        api.change("one", tell=False, phase="Running")
        api.say(break_by)
        if isinstance(break_by, Throttled):
            api.say(Expired("now"))  # being throttled alone loses nothing
        assert heard.until(2)[-1].pod["status"]["phase"] == "Running"
        api.vanish("one", tell=False)
        api.say(Expired("too old"))
        while not heard.news[-1].gone:
            heard.until(len(heard.news) + 1)
    assert api.requests["list"] >= 3


def test_an_end_without_fault_goes_on_from_where_it_was(api: FakeApi, watch: PodWatch) -> None:
    heard = Heard()
    with watch.following("one", heard):
        make(api, "one")
        heard.until(1)
        api.say({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "999"}}})
        api.say(None)
        api.change("one", phase="Running")
        heard.until(2)
    assert (api.requests["list"], api.requests["watch"]) == (1, 2)


def test_a_pod_that_is_not_created_yet_is_not_missed(api: FakeApi, watch: PodWatch) -> None:
    heard = Heard()
    with watch.following("one", heard):
        api.say(Expired("too old"))
        make(api, "one")
        assert not any(news.gone for news in heard.until(1))


def test_closing_ends_it_at_once(api: FakeApi) -> None:
    watch = PodWatch(api, "")
    watch.start()
    assert api.listed.wait(10)
    watch.close()
    assert not watch._thread.is_alive()


# ---- how fast


def test_the_bucket_spreads_what_comes_at_once() -> None:
    bucket = Bucket(rate=50, burst=5)
    began = time.monotonic()
    for _ in range(15):
        bucket.take()
    assert time.monotonic() - began >= 0.19


def test_who_is_called_off_does_not_wait() -> None:
    bucket, off = Bucket(rate=0.001, burst=1), threading.Event()
    off.set()
    bucket.take(off)
    with pytest.raises(Aborted):
        bucket.take(off)


def test_throttling_is_waited_out_and_given_up() -> None:
    answers: list[Any] = [Throttled(0.05), "done"]

    def call() -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    began = time.monotonic()
    assert patiently(call, Bucket(100, 10)) == "done"
    assert time.monotonic() - began >= 0.05
    answers[:] = [Throttled(0.001)] * 20
    with pytest.raises(SandboxUnavailable, match="come back later"):
        patiently(call, Bucket(1000, 10))


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (None, "connection refused", SandboxUnavailable),
        (403, 'pods "x" is forbidden: exceeded quota: q, requested: cpu=1', QuotaFull),
        (403, 'pods is forbidden: User "u" cannot create resource', PermanentError),
        (401, "Unauthorized", PermanentError),
        (404, 'namespaces "x" not found', PermanentError),
        (422, "spec.containers[0].resources: Invalid value", PermanentError),
        (500, "etcdserver: request timed out", SandboxUnavailable),
        (503, "apiserver is shutting down", SandboxUnavailable),
    ],
)
def test_refusals(status: int | None, message: str, kind: type[Exception]) -> None:
    assert type(refusal("creating the pod x", status, message)) is kind
