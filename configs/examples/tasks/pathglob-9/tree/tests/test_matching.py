import pytest

from pathglob import match


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*.py", "setup.py"),
        ("src/*.py", "src/main.py"),
        ("src/**", "src/app/main.py"),
        ("src/**/*.py", "src/app/web/main.py"),
        ("file?.txt", "file1.txt"),
        ("[a-c]*", "beta"),
        ("[!a-c]*", "delta"),
        ("über/*", "über/uns"),
    ],
)
def test_fits(pattern, path):
    assert match(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*.py", "src/main.py"),
        ("src/*", "src/app/main.py"),
        ("file?.txt", "file10.txt"),
        ("[a-c]*", "delta"),
        ("a.b", "axb"),
        ("src/**/*.py", "lib/app/main.py"),
        ("[!a]", "/"),
    ],
)
def test_does_not_fit(pattern, path):
    assert not match(pattern, path)
