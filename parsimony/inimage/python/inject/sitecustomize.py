"""Start-up module of every Python process below the witness: makes test runners report, and is nothing to all others.

It stands in for the `sitecustomize` that it shadows, runs that one unless it lies in the work tree, and waits for the
import of `unittest` or of pytest. A process that was started to run tests opens its session here and now, before there
is any code of the project that could open one in its place. Valid syntax on Python 2 as well, where it only does the
first of these.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.environ.get("PARSIMONY_TREE")
TEST_MODULES = ("pytest", "py.test", "unittest")
TEST_SCRIPTS = ("pytest", "py.test", "runtests.py")


def in_tree(path):
    """A path lies in the work tree."""
    return bool(TREE) and (os.path.realpath(path) + os.sep).startswith(os.path.realpath(TREE) + os.sep)


def hide_tree():
    """Take our folder and those of the work tree off the path. Returns what `unhide` needs."""
    passed = [os.path.abspath(entry) == HERE or in_tree(entry or os.curdir) for entry in sys.path]
    hidden = [(index, entry) for index, entry in enumerate(sys.path) if passed[index]]
    for _, entry in hidden:
        sys.path.remove(entry)
    return hidden


def unhide(hidden):
    """Put back what `hide_tree` took away."""
    for index, entry in hidden:
        sys.path.insert(index, entry)


def run_shadowed():
    """Import the `sitecustomize` that would have been imported without us."""
    ours = sys.modules.pop("sitecustomize", None)
    hidden = hide_tree()
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if "sitecustomize" not in str(error):
            raise
    finally:
        unhide(hidden)
        if ours is not None:
            sys.modules.setdefault("sitecustomize", ours)


def command_line():
    """The arguments of this process, the interpreter's own included; `sys.argv` does not stand yet."""
    try:
        with open("/proc/self/cmdline", "rb") as file:
            return file.read().decode("utf-8", "replace").split("\0")[:-1]
    except OSError:
        return []


def runs_tests(arguments):
    """A command line of Python that runs tests in this very process: `-m pytest`, `-m unittest`, the script `pytest`,
    `manage.py test`, `runtests.py`. Whatever else runs tests opens its session when the runner is imported."""
    rest = iter(arguments[1:])
    for argument in rest:
        if argument in ("-W", "-X", "--check-hash-based-pycs"):
            next(rest, None)
        elif argument.startswith("-") and argument[-1:] == "m" and not argument.startswith("--"):
            return next(rest, "") in TEST_MODULES
        elif argument.startswith("-m"):
            return argument[2:] in TEST_MODULES
        elif argument == "-" or argument.startswith("-c") or argument[:1] != "-":
            script = os.path.basename(argument)
            return script in TEST_SCRIPTS or (script == "manage.py" and next(rest, "") == "test")
    return False


def open_session():
    """Open the session of this process with nothing but the interpreter's own modules."""
    before = set(sys.modules)
    hidden = hide_tree()
    try:
        import parsimony_channel
    finally:
        unhide(hidden)
    parsimony_channel.open_early(set(sys.modules) - before)


def start_pytest():
    """pytest was imported: connect now, before it loads any plugin, and let it load ours."""
    import parsimony_channel

    if parsimony_channel.in_charge() is None and parsimony_channel.session() is not None:
        plugins = os.environ.get("PYTEST_PLUGINS")
        os.environ["PYTEST_PLUGINS"] = "parsimony_reporter" + ("," + plugins if plugins else "")


def start_unittest():
    """unittest was imported: its runs report from now on."""
    import parsimony_unittest

    parsimony_unittest.install()


class Loader(object):
    """Loads a module with its own loader and calls `then` when it stands."""

    def __init__(self, loader, then):
        self.loader, self.then = loader, then

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        """As the module's own loader does."""
        return self.loader.create_module(spec)

    def exec_module(self, module):
        """Load, leave no trace of this class in the module, and call `then`."""
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        try:
            self.then()
        except Exception:  # without reports the grading fails, but the tests themselves must run
            import traceback

            traceback.print_exc()


class Finder(object):
    """First on `sys.meta_path`: looks over the shoulder of the real finders for the names in `watched`."""

    def __init__(self):
        listening = "PARSIMONY_CHANNEL" in os.environ  # else this is a worker, or nobody asked
        self.watched = {"unittest": start_unittest, "_pytest.config": start_pytest} if listening else {}

    def find_spec(self, name, path=None, target=None):
        """The spec that the real finders give, with a loader of ours around theirs for watched names."""
        if name.startswith("parsimony_"):
            return self.own_spec(name)
        if name == "usercustomize":
            self.refuse_from_tree(path, target)
        then = self.watched.get(name)
        if then is None:
            return None
        spec = self.real_spec(name, path, target)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = Loader(spec.loader, then)
        return spec

    def own_spec(self, name):
        """Our own modules come from our own folder, whatever stands before it on the path (`python -m` puts the work
        tree there)."""
        from _frozen_importlib_external import spec_from_file_location

        file = os.path.join(HERE, name + ".py")
        return spec_from_file_location(name, file) if os.path.isfile(file) else None

    def real_spec(self, name, path, target):
        """What the other finders say."""
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if finder is not self and find is not None else None
            if spec is not None:
                return spec
        return None

    def refuse_from_tree(self, path, target):
        """`usercustomize` from the work tree is no start-up module of the image."""
        spec = self.real_spec("usercustomize", path, target)
        if spec is not None and spec.origin and in_tree(spec.origin):
            raise ImportError("no usercustomize from the work tree", name="usercustomize")


if sys.version_info >= (3, 6):
    sys.meta_path.insert(0, Finder())
    if "PARSIMONY_CHANNEL" in os.environ and runs_tests(command_line()):
        open_session()
run_shadowed()
