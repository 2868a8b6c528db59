"""The instrument's ledger and the table of model cutoffs, as options of commands; and what a run may be called."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from parsimony.contamination import Cutoff, ModelCutoffs
    from parsimony.runs import Run
    from parsimony.sets import Decision

DEFAULT_LEDGER = Path("parsimony-ledger.jsonl")
DEFAULT_MODELS = Path("configs/models.yaml")

Ledger = Annotated[
    Path,
    typer.Option("--ledger", metavar="FILE", envvar="PARSIMONY_LEDGER", help="The append-only ledger of sets."),
]
Models = Annotated[
    Path,
    typer.Option("--models", metavar="FILE", envvar="PARSIMONY_MODELS", help="Cutoffs of models, with their sources."),
]


def no_number(value: object) -> object:
    """A value of a date as YAML has it. A number is no date: `2026` would be read as seconds of 1970."""
    if isinstance(value, int | float):
        raise ValueError("is a number; write a date, such as 2026-04 or 2026-04-30")  # noqa: TRY004 - what pydantic takes
    return value


def read_models(path: Path) -> ModelCutoffs:
    """The table of model cutoffs.

    Raises:
        InputError: it cannot be read, or holds a date that is none or that nobody has published.
    """
    from pydantic import BaseModel, BeforeValidator, ConfigDict

    from cluster.yamlfile import read_yaml
    from parsimony.contamination import ModelCutoffs

    class Row(BaseModel):
        model_config = ConfigDict(extra="forbid")
        cutoff: Annotated[str | datetime | date | None, BeforeValidator(no_number)] = None
        source: str | None = None
        note: str | None = None

    class Table(BaseModel):
        model_config = ConfigDict(extra="forbid")
        models: dict[str, Row]

    rows = read_yaml(path, Table).models
    table: dict[str, dict[str, object]] = {
        name: {"cutoff": row.cutoff.isoformat() if isinstance(row.cutoff, date) else row.cutoff, "source": row.source}
        for name, row in rows.items()
    }
    return ModelCutoffs.from_table(table, file=str(path))


def cutoffs_of(names: Iterable[str], path: Path) -> dict[str, Cutoff | None]:
    """Cutoffs by model; None for a model that the table does not know, and for all where there is no table."""
    wanted = list(names)
    if not wanted or not path.exists():
        return dict.fromkeys(wanted)
    known = read_models(path)
    return {name: known.of(name) for name in wanted}


def claim_of(run: Run, ledger: Path, models: Path) -> Decision:
    """Whether the result of a run may be called generalization; refused where there is no ledger to ask.

    Raises:
        LedgerCorrupt: the ledger was changed.
    """
    from parsimony import sets

    if not ledger.exists():
        return sets.refused(sets.NO_LEDGER)
    return sets.of_run(run, sets.SetStore.open(ledger), cutoffs_of(sets.models_of(run), models))
