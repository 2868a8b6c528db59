"""Guess the dialect of delimited text."""

from csvsniff.dialect import Dialect
from csvsniff.sniffer import sniff

__all__ = ["Dialect", "sniff"]
