"""When the training data of a model end. A cutoff that nobody has published is unknown, and unknown is never after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from parsimony.contamination.dates import Moment
from parsimony.errors import InputError


@dataclass(frozen=True, slots=True)
class Cutoff:
    """The end of a model's training data.

    Attributes:
        model: exact name, as usage records give it; "" where a date was given and no model.
        moment: a month means all of it.
        source: who says so: a model card, a page of the vendor; "given" when a person gave it on the spot.
    """

    model: str
    moment: Moment
    source: str


class ModelCutoffs:
    """Cutoffs by exact name of the model. Names that only look alike are other models."""

    def __init__(self, cutoffs: Iterable[Cutoff] = ()) -> None:
        self._by_name = {cutoff.model: cutoff for cutoff in cutoffs}

    @classmethod
    def from_table(cls, table: Mapping[str, Mapping[str, object]], *, file: str) -> ModelCutoffs:
        """The cutoffs of a table `{model: {"cutoff": DATE or None, "source": TEXT}}`.

        Raises:
            InputError: a date is no date, or a date has no source.
        """
        found = []
        for model, row in table.items():
            told, source = row.get("cutoff"), row.get("source")
            if told is None:
                continue
            try:
                moment = Moment.parse(told, field=f"models.{model}.cutoff")
            except InputError as error:
                raise error.at(file=file) from None
            if not isinstance(source, str) or not source.strip():
                mend = "say who published the date; a date from nowhere is a guess"
                raise InputError("is missing", mend=mend, file=file, field=f"models.{model}.source")
            found.append(Cutoff(model, moment, source))
        return cls(found)

    def of(self, model: str) -> Cutoff | None:
        """The cutoff of a model, None when it is unknown."""
        return self._by_name.get(model)

    def __len__(self) -> int:
        return len(self._by_name)
