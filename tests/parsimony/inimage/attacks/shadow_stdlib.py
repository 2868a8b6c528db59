"""A module of the work tree with the name of one of the standard library, which `python -m pytest` finds first.

Level: 2
File: shlex.py
Says: shlex.py was loaded in the place of a module of the standard library
"""

import importlib.util
import os
from pathlib import Path

spec = importlib.util.spec_from_file_location("real_shlex", Path(os.__file__).parent / "shlex.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
globals().update(vars(module))
