"""For all tests: property tests have no deadline, because a busy machine is no defect."""

from hypothesis import settings

settings.register_profile("parsimony", deadline=None)
settings.load_profile("parsimony")
