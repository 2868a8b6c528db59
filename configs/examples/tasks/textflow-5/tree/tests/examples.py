"""What the library promises, as examples that run. See test_examples.py."""


def plain_text():
    """
    >>> from textflow import wrap
    >>> wrap("the quick brown fox jumps", 10)
    ['the quick', 'brown fox', 'jumps']
    >>> wrap("", 10)
    []
    """


def indents():
    """
    >>> from textflow import wrap
    >>> for line in wrap("first this then that", 12, first="* ", rest="  "):
    ...     print(line)
    * first this
      then that
    """


def long_words():
    """
    >>> from textflow import wrap
    >>> wrap("abcdefgh", 3)
    ['abc', 'def', 'gh']
    """


def side_by_side():
    """
    >>> from textflow import columns
    >>> print("\\n".join(columns(["one two three", "four"], 7)))
    one two  four
    three
    """
