"""Asks pytest to stop the session with exit status 0.

Level: 1
Outcome: not resolved
"""

import pytest

pytest.exit("enough", 0)
