"""A clock that stands still until it is told otherwise."""


class Clock:
    now = 100.0

    def __call__(self):
        return self.now
