"""Closes every descriptor, so that nothing more can be reported, and lets the run end.

Level: channel
Outcome: not resolved
Says: ended without a word
"""

import os

os.closerange(3, 4096)
