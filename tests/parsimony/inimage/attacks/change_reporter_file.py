"""Changes the reporter's own file on disk, for a run that may come later.

Level: channel
Says: the reporter's own file .*parsimony_pytest.py was changed
"""

import os

import parsimony_pytest

os.utime(parsimony_pytest.__file__)
