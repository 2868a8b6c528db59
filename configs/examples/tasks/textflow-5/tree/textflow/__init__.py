"""Breaking text into lines."""

from textflow.columns import columns
from textflow.wrapping import wrap

__all__ = ["columns", "wrap"]
