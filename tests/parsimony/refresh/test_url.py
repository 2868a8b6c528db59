"""Rows from URLs: a server in a thread, and what servers do wrong."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from parsimony.errors import InputError, TemporaryError
from parsimony.refresh import UrlSource, check_url, refresh
from tests.parsimony.refresh.conftest import NOW, Place, row

BODY = (json.dumps(row("a")) + "\n" + json.dumps(row("b")) + "\n").encode()
Reply = tuple[int, dict[str, str], bytes]


class Server:
    """Answers each path as told; remembers what it was asked."""

    def __init__(self) -> None:
        self.replies: dict[str, Callable[[Any], Reply | None]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                outer.asked.append((self.path, headers))
                reply = outer.replies[self.path](self)
                if reply is not None:
                    status, more, body = reply
                    self.send_response(status)
                    for name, value in ({"Content-Length": str(len(body))} | more).items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,))
        self.thread.start()

    def on(self, path: str, status: int = 200, body: bytes = BODY, **headers: str) -> str:
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        self.replies[path] = lambda _: (status, more, body)
        return self.url + path

    def close(self) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    one = Server()
    yield one
    one.close()


def names(source: UrlSource) -> list[str]:
    return [one.task.instance_id for one in source.fetch(None).offered]


def test_rows_and_where_they_came_from(server: Server) -> None:
    url = server.on("/rows.jsonl")
    (first, second) = UrlSource("far", url).fetch(None).offered
    assert (first.task.instance_id, second.task.instance_id) == ("a", "b")
    assert str(second.provenance) == f"{url}:2"
    assert server.asked[0][1]["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/rows", BODY),
        ("/rows.jsonl.gz", gzip.compress(BODY)),
        ("/rows.json?v=1", json.dumps([row("a"), row("b")]).encode()),
        ("/packed", gzip.compress(BODY)),
    ],
)
def test_kinds_of_files(server: Server, path: str, body: bytes) -> None:
    assert names(UrlSource("far", server.on(path, body=body))) == ["a", "b"]


def test_what_is_unchanged_is_asked_for_with_its_tag_and_not_read(server: Server) -> None:
    url = server.on("/rows.jsonl", ETag='"v1"', Last_Modified="Wed, 01 Jul 2026 00:00:00 GMT")
    source = UrlSource("far", url)
    first = source.fetch(None)
    server.on("/rows.jsonl", status=304, body=b"")
    second = source.fetch(first.mark)
    asked = server.asked[1][1]
    assert asked["if-none-match"] == '"v1"'
    assert asked["if-modified-since"] == "Wed, 01 Jul 2026 00:00:00 GMT"
    assert second.unchanged
    assert not second.offered
    assert second.mark == first.mark
    server.on("/rows.jsonl", ETag='"v2"')  # the same bytes under another tag
    third = source.fetch(second.mark)
    assert third.unchanged
    assert third.mark["etag"] == '"v2"'
    server.on("/rows.jsonl", body=BODY + json.dumps(row("c")).encode(), ETag='"v3"')
    assert len(source.fetch(third.mark).offered) == 3
    other = UrlSource("far", server.on("/other.jsonl"))
    assert len(other.fetch(first.mark).offered) == 2  # a mark of another URL says nothing
    assert "if-none-match" not in server.asked[-1][1]


def test_a_304_that_nobody_asked_for_is_refused(server: Server) -> None:
    with pytest.raises(InputError, match="HTTP 304"):
        UrlSource("far", server.on("/x", status=304, body=b"")).fetch(None)


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_faults_that_pass(server: Server, status: int) -> None:
    with pytest.raises(TemporaryError) as error:
        UrlSource("far", server.on("/x", status=status, Retry_After="30")).fetch(None)
    assert error.value.retry_after == 30


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_refusals_name_the_url(server: Server, status: int) -> None:
    with pytest.raises(InputError, match=f"/x: gives HTTP {status}"):
        UrlSource("far", server.on("/x", status=status)).fetch(None)


def test_redirections_stay_with_the_scheme(server: Server, tmp_path: Path) -> None:
    server.on("/rows.jsonl")
    assert names(UrlSource("far", server.on("/moved", status=302, Location="/rows.jsonl"))) == ["a", "b"]
    secret = tmp_path / "secret.jsonl"
    secret.write_bytes(BODY)
    for target in (secret.as_uri(), "ftp://127.0.0.1/x", "/circle"):
        url = server.on("/circle", status=302, body=b"", Location=target)
        with pytest.raises(InputError, match="is redirected"):
            UrlSource("far", url).fetch(None)


def test_http_may_become_https_and_not_the_other_way() -> None:
    import http.client
    import io
    import urllib.error
    import urllib.request

    from parsimony.refresh.url import _SameScheme

    def leads(before: str, after: str) -> bool:
        headers = http.client.HTTPMessage()
        try:
            _SameScheme().redirect_request(urllib.request.Request(before), io.BytesIO(), 302, "", headers, after)
        except urllib.error.HTTPError:
            return False
        return True

    assert leads("http://a/x", "https://a/x")
    assert leads("https://a/x", "https://b/x")
    assert not leads("https://a/x", "http://a/x")
    assert not leads("http://a/x", "file:///etc/passwd")


def test_what_is_too_large_is_not_taken(server: Server) -> None:
    big = BODY * 100
    with pytest.raises(InputError, match="is larger than"):
        UrlSource("far", server.on("/x", body=big), max_bytes=1000).fetch(None)
    packed = gzip.compress(big)
    assert len(packed) < 1000
    with pytest.raises(InputError, match="when it is unpacked"):
        UrlSource("far", server.on("/x.gz", body=packed), max_bytes=1000).fetch(None)

    def endless(handler: Any) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(big)

    server.replies["/endless"] = endless
    with pytest.raises(InputError, match="is larger than"):
        UrlSource("far", server.url + "/endless", max_bytes=1000).fetch(None)


def test_what_breaks_off_is_another_time_s_business(server: Server) -> None:
    def short(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(BODY)))
        handler.end_headers()
        handler.wfile.write(BODY[:20])

    server.replies["/x"] = short
    with pytest.raises(TemporaryError, match="after 20 of"):
        UrlSource("far", server.url + "/x").fetch(None)
    with pytest.raises(InputError, match="damaged gzip"):
        UrlSource("far", server.on("/y.gz", body=gzip.compress(BODY)[:-9])).fetch(None)


def test_a_server_that_drips_is_left(server: Server) -> None:
    go_on = threading.Event()

    def drip(handler: Any) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not go_on.wait(0.02):
            try:
                handler.wfile.write(b" ")
            except OSError:
                return

    server.replies["/x"] = drip
    try:
        with pytest.raises(TemporaryError):
            UrlSource("far", server.url + "/x", timeout_s=0.2).fetch(None)
    finally:
        go_on.set()


def test_nobody_there(server: Server) -> None:
    url = server.on("/x")
    server.http.server_close()
    server.http.shutdown()
    with pytest.raises(TemporaryError):
        UrlSource("far", url, timeout_s=5).fetch(None)


def test_files_of_this_machine(tmp_path: Path) -> None:
    path = tmp_path / "a b.jsonl"
    path.write_bytes(BODY)
    source = UrlSource("near", path.as_uri())
    first = source.fetch(None)
    assert len(first.offered) == 2
    assert source.fetch(first.mark).unchanged
    with pytest.raises(InputError, match="is larger"):
        UrlSource("near", path.as_uri(), max_bytes=10).fetch(None)
    path.unlink()
    with pytest.raises(InputError, match="cannot be read"):
        source.fetch(None)


@pytest.mark.parametrize(
    "url",
    ["", "rows.jsonl", "ftp://x/y", "http://", "http:///x", "https://u:p@x/y", "https://u@x/y", "file://far/x",
     "file:x", "http://x:port/", "http://x/a b", "http://x/\n", "http://ü/x", "HTTP//x"],
)  # fmt: skip
def test_urls_that_are_refused(url: str) -> None:
    with pytest.raises(InputError) as error:
        check_url(url)
    assert error.value.place.field == "url"
    assert "u:p" not in str(error.value)


def test_a_row_from_elsewhere_brings_no_files(server: Server) -> None:
    body = BODY + json.dumps(row("c", image=None, tree="tree")).encode() + b"\nnot json\n"
    url = server.on("/rows.jsonl", body=body)
    found = UrlSource("far", url).fetch(None)
    assert len(found.offered) == 2
    assert found.rejected[0].startswith(f"{url}:3: tree: names files that do not come with the row")
    assert found.rejected[1].startswith(f"{url}:4: ")
    assert "parsimony-refresh" not in "".join(found.rejected)


def test_a_refresh_over_the_network_and_without_it(server: Server, place: Place) -> None:
    url = server.on("/rows.jsonl", ETag='"v1"')
    place.sources = [UrlSource("far", url)]
    assert refresh(place.plan(), NOW).rotated.joined == ("a", "b")
    before = place.store_bytes()
    server.on("/rows.jsonl", status=503)
    found = refresh(place.plan(), NOW.replace(day=16))
    assert found.answers[0].state == "failed"
    assert place.store_bytes() == before
    server.on("/rows.jsonl", status=304, body=b"")
    found = refresh(place.plan(), NOW.replace(day=17))
    assert (found.answers[0].state, found.whole) == ("unchanged", True)
    assert server.asked[-1][1]["if-none-match"] == '"v1"'
