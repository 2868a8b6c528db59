"""Downloads from a real server that fails in the ways that servers do."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from parsimony.artifacts import Fetcher, FetchFailed, NotThere, Offline
from parsimony.artifacts.cache import name_of
from parsimony.errors import InputError

BODY = bytes(range(256)) * 4096  # several chunks


def names(fetcher: Fetcher) -> set[str]:
    return {path.name for path in fetcher.cache.folder.iterdir()}


def test_a_second_time_needs_no_network(fetcher: Fetcher, site: Any) -> None:
    url = site.put("/a", BODY)
    assert fetcher.get(url) == BODY
    assert names(fetcher) == {name_of(url)}
    site.files["/a"] = b"changed"
    assert fetcher.get(url) == replace(fetcher, offline=True).get(url) == BODY
    assert site.asked("/a") == 1


def test_refresh_asks_again_once_unless_it_can_never_change(fetcher: Fetcher, site: Any) -> None:
    url = site.put("/a", b"old")
    fetcher.get(url)
    site.put("/a", b"new")
    again = replace(fetcher, refresh=True, _refreshed=set())
    assert again.get(url, lasting=True) == b"old"
    assert [again.get(url), again.get(url)] == [b"new", b"new"]
    assert site.asked("/a") == 2


def test_a_refresh_that_fails_leaves_what_is_there(fetcher: Fetcher, site: Any, fault: Any) -> None:
    url = site.put("/a", b"old")
    fetcher.get(url)
    site.faults["/a"] = [fault(500)] * 9
    with pytest.raises(FetchFailed):
        replace(fetcher, refresh=True, _refreshed=set()).get(url)
    assert fetcher.get(url) == b"old"


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_faults_that_pass_are_tried_again(fetcher: Fetcher, site: Any, fault: Any, notes: Any, status: int) -> None:
    url = site.put("/a", BODY)
    site.faults["/a"] = [fault(status), fault(status)]
    assert fetcher.get(url) == BODY
    assert notes.waits == [f"HTTP {status}"] * 2


def test_after_all_tries_it_has_failed(fetcher: Fetcher, site: Any, fault: Any) -> None:
    url = site.put("/a", BODY)
    site.faults["/a"] = [fault(503)] * 3
    with pytest.raises(FetchFailed, match=r"/a: HTTP 503 \(3 tries\)"):
        fetcher.get(url)
    assert site.asked("/a") == 3
    assert fetcher.get(url) == BODY


@pytest.mark.parametrize("status", [401, 403, 451])
def test_refusals_are_not_tried_again(fetcher: Fetcher, site: Any, fault: Any, status: int) -> None:
    site.faults["/a"] = [fault(status)]
    with pytest.raises(FetchFailed, match=f"HTTP {status}"):
        fetcher.get(site.put("/a", BODY))
    assert site.asked("/a") == 1


def test_nothing_there_is_final_and_remembered_for_offline(fetcher: Fetcher, site: Any) -> None:
    url = f"{site.url}/none"
    with pytest.raises(NotThere, match="HTTP 404"):
        fetcher.get(url)
    assert site.asked("/none") == 1
    offline = replace(fetcher, offline=True)
    with pytest.raises(NotThere):
        offline.get(url)
    with pytest.raises(Offline, match="--offline"):
        offline.get(f"{site.url}/other")
    site.put("/none", b"came later")
    assert fetcher.get(url) == b"came later"
    assert names(fetcher) == {name_of(url)}


def test_a_download_goes_on_where_it_broke_off(fetcher: Fetcher, site: Any, fault: Any, notes: Any) -> None:
    url = site.put("/a", BODY)
    site.faults["/a"] = [fault(stop_after=300_000), fault(stop_after=400_000)]
    assert fetcher.get(url) == BODY
    assert [headers.get("Range") for _, headers in site.requests] == [None, "bytes=300000-", "bytes=700000-"]
    assert notes.waits == [
        f"the connection ended after 300000 of {len(BODY)} bytes",
        f"the connection ended after 700000 of {len(BODY)} bytes",
    ]
    assert notes.received[-1] == (len(BODY), len(BODY))


def test_another_run_goes_on_as_well(fetcher: Fetcher, site: Any, fault: Any) -> None:
    url = site.put("/a", BODY)
    site.faults["/a"] = [fault(stop_after=300_000)]
    with pytest.raises(FetchFailed):
        replace(fetcher, tries=1).get(url)
    assert not fetcher.cache.has(url)
    assert fetcher.get(url) == BODY
    assert site.requests[-1][1]["Range"] == "bytes=300000-"


def test_what_changed_meanwhile_is_taken_from_the_start(fetcher: Fetcher, site: Any, fault: Any) -> None:
    url = site.put("/a", BODY)
    site.faults["/a"] = [fault(stop_after=300_000)]
    with pytest.raises(FetchFailed):
        replace(fetcher, tries=1).get(url)
    site.put("/a", b"x" + BODY)
    assert fetcher.get(url) == b"x" + BODY


@pytest.mark.parametrize("missing", ["ranges", "tags"])
def test_servers_that_cannot_go_on(fetcher: Fetcher, site: Any, fault: Any, missing: str) -> None:
    setattr(site, missing, False)
    url = site.put("/a", BODY)
    site.faults["/a"] = [fault(stop_after=300_000)]
    assert fetcher.get(url) == BODY
    assert site.asked("/a") == 2


def test_a_part_that_is_longer_than_the_content(fetcher: Fetcher, site: Any, fault: Any) -> None:
    url = site.put("/a", b"short")
    with fetcher.cache.partial(url) as part:
        part.restart('"tag"')
        part.file.write(b"longer than what is there")
    site.faults["/a"] = [fault(416)]
    assert fetcher.get(url) == b"short"


def test_a_server_that_is_silent(fetcher: Fetcher, site: Any, fault: Any, notes: Any) -> None:
    url, hold = site.put("/a", BODY), threading.Event()
    site.faults["/a"] = [fault(hold=hold)]
    try:
        assert replace(fetcher, timeout=0.2).get(url) == BODY
    finally:
        hold.set()
    assert ["timed out" in why for why in notes.waits] == [True]


def test_no_server_at_all(fetcher: Fetcher) -> None:
    with pytest.raises(FetchFailed, match=r"ConnectionRefusedError.*\(3 tries\)"):
        fetcher.get("http://127.0.0.1:9/x")


def test_the_pause_grows_is_random_and_heeds_the_server(
    fetcher: Fetcher, site: Any, fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("parsimony.artifacts.download.time.sleep", pauses.append)
    monkeypatch.setattr("parsimony.artifacts.download.random.uniform", lambda low, high: high)
    site.faults["/a"] = [fault(500), fault(500), fault(429, {"Retry-After": "7"}), fault(503, {"Retry-After": "9999"})]
    assert replace(fetcher, tries=5, pause=1.0).get(site.put("/a", b"x")) == b"x"
    assert pauses == [1, 2, 7 + 4, 60 + 8]


@pytest.mark.parametrize("value", ["soon", "", "Fri, 99 Foo", "-3", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_odd_words_about_waiting_are_no_wait(fetcher: Fetcher, site: Any, fault: Any, value: str) -> None:
    site.faults["/a"] = [fault(503, {"Retry-After": value})]
    assert fetcher.get(site.put("/a", b"x")) == b"x"


def test_too_much_is_refused_whether_it_is_announced_or_not(fetcher: Fetcher, site: Any) -> None:
    url = site.put("/a", BODY)
    with pytest.raises(InputError, match="larger than 1000 bytes"):
        fetcher.get(url, most=1000)
    assert not fetcher.cache.has(url)
    assert sum(path.stat().st_size for path in fetcher.cache.folder.iterdir() if not path.name.endswith(".tag")) == 0


def test_redirections_stay_within_http(fetcher: Fetcher, site: Any, fault: Any, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    site.put("/b", b"there")
    site.faults["/a"] = [fault(302, {"Location": "/b"}), fault(302, {"Location": (tmp_path / "secret").as_uri()})]
    assert fetcher.get(f"{site.url}/a") == b"there"
    with pytest.raises(FetchFailed):
        replace(fetcher, refresh=True, _refreshed=set()).get(f"{site.url}/a")


@pytest.mark.parametrize(
    "url", ["", "x", "ftp://h/x", "http://", "http:///x", "http://h/a b", "http://h/\r\nX: y", "http://[", "data:,x", "http://h/é"]
)  # fmt: skip
def test_addresses_that_cannot_be_used(fetcher: Fetcher, url: str) -> None:
    with pytest.raises(InputError, match="is no URL"):
        fetcher.get(url)


def test_files_of_this_machine_are_read_where_they_are(fetcher: Fetcher, tmp_path: Path) -> None:
    path = tmp_path / "a b.json"
    path.write_bytes(b"1")
    assert replace(fetcher, offline=True).get(path.as_uri()) == b"1"
    path.write_bytes(b"2")
    assert fetcher.get(path.as_uri()) == b"2"
    assert not fetcher.cache.folder.exists()
    with pytest.raises(NotThere):
        fetcher.get((tmp_path / "none").as_uri())
    with pytest.raises(InputError, match="another machine"):
        fetcher.get("file://host/x")
    with pytest.raises(InputError, match="larger than 0 bytes"):
        fetcher.get(path.as_uri(), most=0)
    with pytest.raises(InputError, match="cannot be read"):
        fetcher.get(tmp_path.as_uri())


def test_many_at_once_download_it_once(fetcher: Fetcher, site: Any) -> None:
    url = site.put("/a", BODY)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: replace(fetcher, _refreshed=set()).get(url), range(16))) == {BODY}
    assert site.asked("/a") == 1
    assert names(fetcher) == {name_of(url)}


def test_a_cache_that_cannot_be_written(fetcher: Fetcher, site: Any, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, not a folder")
    with pytest.raises(InputError, match="the cache cannot be used"):
        fetcher.get(site.put("/a", b"x"))


def test_a_fetcher_goes_to_other_processes_and_errors_come_back(fetcher: Fetcher) -> None:
    assert pickle.loads(pickle.dumps(replace(fetcher, tries=7))).tries == 7
    for error in (FetchFailed("a"), Offline("b"), NotThere("c")):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again)) == (type(error), str(error))
