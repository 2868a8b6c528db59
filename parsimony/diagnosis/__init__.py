"""Attribution: which stage of the coding loop a change moved, and which one is the bottleneck now (build spec §5.2;
docs/scorecard.md)."""

from parsimony.diagnosis.comparing import Change, Diagnosis, Difference, diagnose
from parsimony.diagnosis.funnel import Funnel, Step, funnel
from parsimony.diagnosis.measures import ALL, RESOLVED, STAGES, Mean, Measure, means
from parsimony.diagnosis.sentence import sentence

__all__ = [
    "ALL",
    "RESOLVED",
    "STAGES",
    "Change",
    "Diagnosis",
    "Difference",
    "Funnel",
    "Mean",
    "Measure",
    "Step",
    "diagnose",
    "funnel",
    "means",
    "sentence",
]
