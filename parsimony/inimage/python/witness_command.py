"""How the test command is started so that test runners below it report: its environment, and its words.

Runs on Python 3.6 and later with the standard library alone.
"""

import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
INJECT = os.path.join(HERE, "inject")
PRELOAD = os.path.join(os.path.dirname(HERE), "node", "preload.cjs")
SHELLS = ("sh", "bash", "dash", "ash", "zsh")
MAX_TEXT = 100000  # bytes of one argument that every Linux takes

# An assignment in shell text. An empty value is part of the match: no colon may follow in its place, because an empty
# entry of PYTHONPATH stands for the current directory.
ASSIGNMENT = re.compile(rb"""(?<![\w$-])PYTHONPATH=(?P<empty>(?:""|'')?(?=[\s;&|)]|$))?""")


def environment(base, channel, tree):
    """The environment of the command: `base`, and what makes test runners report."""
    result = dict(base)
    result["PARSIMONY_CHANNEL"] = channel
    result["PARSIMONY_TREE"] = tree
    result["PARSIMONY_PYTHONPATH"] = INJECT
    result["PYTHONPATH"] = os.pathsep.join(filter(None, (INJECT, base.get("PYTHONPATH"))))
    if os.path.isfile(PRELOAD) and not re.search(r"\s", PRELOAD):
        result["NODE_OPTIONS"] = " ".join(filter(None, ("--require=" + PRELOAD, base.get("NODE_OPTIONS"))))
    return result


def prepared(command):
    """The command with our folder kept in front where its shell text assigns PYTHONPATH anew.

    `sh FILE` becomes `sh -c TEXT FILE` when the text had to be changed: files are left alone.
    """
    if len(command) < 2 or os.path.basename(command[0]) not in SHELLS:
        return command
    if command[1] == "-c" and len(command) > 2:
        text, rest = os.fsencode(command[2]), command[3:]
    elif os.path.isfile(command[1]):
        with open(command[1], "rb") as file:
            text, rest = file.read(), command[1:]
    else:
        return command
    changed = ASSIGNMENT.sub(_in_front, text)
    if changed == text or len(changed) > MAX_TEXT or b"\0" in changed:
        return command
    return [command[0], "-c", os.fsdecode(changed), *rest]


def _in_front(match):
    return b'PYTHONPATH="$PARSIMONY_PYTHONPATH"' + (b":" if match.group("empty") is None else b"")
