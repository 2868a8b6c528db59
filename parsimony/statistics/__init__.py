"""Statistics of resolve rates: intervals, paired and clustered tests, power, variance, several and repeated looks.

Formulas, their sources and what they assume are in docs/statistics.md; golden values in tests/parsimony/statistics.
"""

from parsimony.statistics.clusters import Spread, clustered_standard_error, jackknife_spread
from parsimony.statistics.components import Components, variance_components
from parsimony.statistics.multiplicity import holm
from parsimony.statistics.paired import (
    Difference,
    PairedTest,
    changed_sides,
    mcnemar_exact,
    paired_difference,
    paired_permutation,
    paired_test,
    shared_seed_variance,
)
from parsimony.statistics.power import minimum_detectable_effect, power_of, sample_size, seeds_needed
from parsimony.statistics.proportions import Interval, clopper_pearson, wilson
from parsimony.statistics.sampling import pass_at_k, pass_hat_k
from parsimony.statistics.sequential import SPENDING, boundaries, nominal_alphas, obrien_fleming, pocock
from parsimony.statistics.signflip import Permutation, sign_flip_test
from parsimony.statistics.summaries import Mean, mean_interval, quantile

__all__ = [
    "SPENDING",
    "Components",
    "Difference",
    "Interval",
    "Mean",
    "PairedTest",
    "Permutation",
    "Spread",
    "boundaries",
    "changed_sides",
    "clopper_pearson",
    "clustered_standard_error",
    "holm",
    "jackknife_spread",
    "mcnemar_exact",
    "mean_interval",
    "minimum_detectable_effect",
    "nominal_alphas",
    "obrien_fleming",
    "paired_difference",
    "paired_permutation",
    "paired_test",
    "pass_at_k",
    "pass_hat_k",
    "pocock",
    "power_of",
    "quantile",
    "sample_size",
    "seeds_needed",
    "shared_seed_variance",
    "sign_flip_test",
    "variance_components",
    "wilson",
]
