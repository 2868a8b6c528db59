"""The ledger of a run: every attempt, execution, score, cost and event, append-only and durable.

`Ledger` writes (one process at a time), `LedgerReader` reads (any number, at any time), `summary.summarise` counts. The
format on disk is described in docs/ledger-format.md. pyarrow is loaded when Parquet is read or written, not before.
"""

from cluster.ledger.export import write_table
from cluster.ledger.reader import LedgerReader
from cluster.ledger.schema import SCHEMA, SCHEMA_VERSION
from cluster.ledger.writer import Ledger, LedgerOptions

__all__ = ["SCHEMA", "SCHEMA_VERSION", "Ledger", "LedgerOptions", "LedgerReader", "write_table"]
