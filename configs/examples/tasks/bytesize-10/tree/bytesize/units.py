"""The units."""

BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
DECIMAL = ("B", "kB", "MB", "GB", "TB", "PB")


def factor(unit: str) -> int:
    """Bytes in one `unit`, upper and lower case alike. Raises ValueError for what is no unit."""
    wanted = unit.strip().lower()
    for units, base in ((BINARY, 1024), (DECIMAL, 1000)):
        for power, known in enumerate(units):
            if wanted == known.lower():
                return base**power
    raise ValueError(f"no unit of size: {unit!r}")
