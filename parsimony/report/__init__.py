"""One page for people: what a run showed, in one HTML file without scripts or outside resources."""

from parsimony.report.page import write_report

__all__ = ["write_report"]
