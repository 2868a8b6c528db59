"""What Prometheus reads: series as its client writes them, over HTTP or as a file. Alone in knowing that client."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, generate_latest, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from cluster.metrics.folder import Source
from cluster.metrics.series import ALL, Kind, Series
from cluster.metrics.values import Histogram, Labels, Value, Values
from cluster.rundir import write_atomically
from parsimony import __version__
from parsimony.errors import InputError

Family = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily


class _Collector(Collector):
    """Asks the source at each scrape, one scrape at a time."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._lock = threading.Lock()

    def describe(self) -> list[Any]:
        """Nothing: a registration need not read the ledger."""
        return []

    def collect(self) -> Iterator[Family]:
        """The families that have values, in the order of the catalogue."""
        with self._lock:
            values: Values = {**self._source.look(), "parsimony_build_info": {(__version__,): 1.0}}
        for series in ALL:
            if found := values.get(series.name):
                yield _family(series, found)


def _family(series: Series, values: Mapping[Labels, Value]) -> Family:
    family: Family
    if series.kind is Kind.HISTOGRAM:
        family = HistogramMetricFamily(series.name, series.help, labels=series.labels)
        for labels, value in sorted(values.items()):
            assert isinstance(value, Histogram)
            family.add_metric(labels, value.cumulative(), value.total)
        return family
    make = CounterMetricFamily if series.kind is Kind.COUNTER else GaugeMetricFamily
    family = make(series.name, series.help, labels=series.labels)
    for labels, value in sorted(values.items()):
        assert not isinstance(value, Histogram)
        family.add_metric(labels, value)
    return family


def registry_of(source: Source) -> CollectorRegistry:
    """A registry of a source alone: nothing about this process is in it."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(source))
    return registry


def text_of(source: Source) -> str:
    """All series now, in Prometheus' text format."""
    return generate_latest(registry_of(source)).decode()


def samples_of(source: Source) -> list[dict[str, Any]]:
    """All samples now, as plain data: `name`, `type`, `labels`, `value`."""
    return [
        {"name": sample.name, "type": family.type, "labels": dict(sample.labels), "value": sample.value}
        for family in registry_of(source).collect()
        for sample in family.samples
    ]


def write_textfile(source: Source, path: Path) -> None:
    """Write all series to a file for node_exporter's textfile collector, by rename.

    Raises:
        InputError: it cannot be written, or the collector would not read it.
    """
    if path.suffix != ".prom":
        raise InputError("is not read by the textfile collector", mend="name it with the end `.prom`", file=str(path))
    try:
        write_atomically(path, text_of(source).encode())
    except OSError as error:
        mend = "name a file in a folder that can be written"
        raise InputError(f"cannot be written ({error.strerror})", mend=mend, file=str(path)) from None


@dataclass(frozen=True, slots=True)
class Served:
    """A server at work. `close` ends it."""

    url: str
    close: Callable[[], None]


def serve(source: Source, address: str, port: int) -> Served:
    """Serve /metrics from a thread of this process.

    Args:
        port: 0 = one that is free.

    Raises:
        InputError: the address is not this machine's, or the port is taken.
    """
    try:
        server, thread = start_http_server(port, address, registry_of(source))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        mend = "name a free port (0 takes any), and an address of this machine"
        raise InputError(f"metrics cannot be served at {address}:{port} ({reason})", mend=mend) from None

    def close() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    assert isinstance(server, WSGIServer)
    host = f"[{address}]" if ":" in address else address
    return Served(f"http://{host}:{server.server_port}/metrics", close)
