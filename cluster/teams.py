"""The account of a team: caps in `team.yaml`, and what each of its runs has spent in an append-only chain beside it.

A run appends its total so far, never a difference: of each run the last line counts, so a run that was killed and goes
on is not counted twice. Lines are sealed by their chain (`parsimony.chain`); several runs append in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from cluster.schema import Cap, Duration
from cluster.sweep import Budget, Team
from cluster.yamlfile import read_yaml
from parsimony.chain import Chain
from parsimony.errors import InputError

SPENT = "budget.spent"
"""Kind of a line of the chain."""


class TeamFile(BaseModel):
    """`team.yaml`: the label and the caps of a team."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    label: str
    dollars: Cap | None = None
    tokens: Annotated[int, Field(gt=0)] | None = None
    wall_time: Duration | None = None

    def over(self, budget: Budget) -> Budget:
        """These caps in place of those of a run's own budget."""
        caps = {"dollars": self.dollars, "tokens": self.tokens, "wall_time": self.wall_time}
        return budget.model_copy(update=caps)


@dataclass(frozen=True, slots=True)
class Totals:
    """What was spent."""

    micro_dollars: int = 0
    tokens: int = 0
    wall_seconds: float = 0.0

    def plus(self, other: Totals) -> Totals:
        """Both together."""
        return Totals(
            self.micro_dollars + other.micro_dollars,
            self.tokens + other.tokens,
            self.wall_seconds + other.wall_seconds,
        )

    def as_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "micro_dollars": self.micro_dollars,
            "tokens": self.tokens,
            "wall_seconds": round(self.wall_seconds, 3),
        }


def read_team(team: Team) -> TeamFile:
    """The file of a team.

    Raises:
        InputError: it is not there, not of the schema, or of another team.
    """
    path = team.folder / "team.yaml"
    file = read_yaml(path, TeamFile)
    if file.label != team.label:
        mend = f"name the folder of the team {team.label!r}, or mend its `label`"
        raise InputError(f"is of another team ({file.label!r})", mend=mend, file=str(path), field="label")
    return file


@dataclass(slots=True)
class TeamAccount:
    """The account of a team, seen from one run.

    Attributes:
        others: what the team's other runs have spent, as of the last `post`.
    """

    file: TeamFile
    file_name: str
    run_id: str
    chain: Chain
    others: Totals

    @classmethod
    def open(cls, team: Team, run_id: str) -> TeamAccount:
        """Open an account. Raises what `read_team` and `Chain.open` raise."""
        account = cls(
            read_team(team),
            str(team.folder / "team.yaml"),
            run_id,
            Chain.open(team.folder / "spending.jsonl"),
            Totals(),
        )
        account.others = account._others()
        return account

    @property
    def label(self) -> str:
        """The team's name."""
        return self.file.label

    def post(self, spent: Totals) -> None:
        """Write down the total of this run, and read what others have."""
        data = {"run": self.run_id, **spent.as_json()}
        with self.chain.writing():
            mine = [entry.data for entry in self.chain.entries(SPENT) if entry.data["run"] == self.run_id]
            if not mine or dict(mine[-1]) != data:
                self.chain.append(SPENT, data)
        self.others = self._others()

    def _others(self) -> Totals:
        newest = {str(x.data["run"]): x.data for x in self.chain.entries(SPENT) if x.data["run"] != self.run_id}
        total = Totals()
        for data in newest.values():
            total = total.plus(Totals(data["micro_dollars"], data["tokens"], data["wall_seconds"]))
        return total
