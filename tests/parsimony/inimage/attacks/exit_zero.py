"""Ends the process with 0 as soon as the runner has loaded the candidate.

Level: 1
Says: ended without a word.*ended with 0
"""

import os
import sys

if "pytest" in sys.modules:
    os._exit(0)
