"""`python -m parsimony`: the command `parsimony`."""

from parsimony.cli import main

if __name__ == "__main__":
    main()
