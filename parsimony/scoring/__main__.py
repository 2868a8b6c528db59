"""`python -m parsimony.scoring`."""

from parsimony.modulecommand import run
from parsimony.scoring.commands import main

if __name__ == "__main__":
    run(main)
