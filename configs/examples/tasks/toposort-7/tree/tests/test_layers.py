import pytest

from toposort import CycleError, layers


def test_layers():
    assert layers({"app": ["db", "log"], "db": ["log"], "web": []}) == [["log", "web"], ["db"], ["app"]]


def test_no_layers():
    assert layers({}) == []


def test_cycle():
    with pytest.raises(CycleError):
        layers({"a": ["b"], "b": ["a"]})
