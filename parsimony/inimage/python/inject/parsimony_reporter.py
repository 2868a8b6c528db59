"""pytest plugin: reports every test over the channel, exactly as pytest judges it. PYTEST_DONT_REWRITE

It is loaded by the `sitecustomize` beside it and works with pytest 4 to 9. The process that runs the session reports;
workers of pytest-xdist hand what they see to their controller. Runs that tests start (in this process or another) are
left alone: what would make them report is taken out of the environment first.
"""

import json

import parsimony_channel
import pytest
from parsimony_guard import session_event
from parsimony_pytest import Evidence

PLUGIN = "parsimony"
RANKS = {"passed": 0, "xfail": 1, "xpass": 2, "skipped": 3, "failed": 4, "error": 5}


def pytest_plugin_registered(plugin, manager):
    """The first call registers the reporter; it hears of every plugin, of earlier ones as well."""
    reporter = manager.get_plugin(PLUGIN)
    if reporter is None:
        reporter = Reporter(manager, parsimony_channel.session())
        manager.register(reporter, PLUGIN)
        manager.register(reporter.evidence, PLUGIN + "_evidence")
    reporter.evidence.plugin_registered(plugin, manager)


class Outcomes:
    """Puts the reports of the phases of a test together to one result."""

    def __init__(self, send):
        self._send = send
        self._running = {}  # id -> [worst status so far or None, seconds]
        self.started = self.finished = 0
        self.failures = 0

    def start(self, test_id):
        """A test begins."""
        if test_id not in self._running:
            self._running[test_id] = [None, 0.0]
            self.started += 1
            self._send({"event": "start", "id": test_id})

    def report(self, report):
        """A phase has ended."""
        self.start(report.nodeid)
        state = self._running[report.nodeid]
        if report.outcome == "rerun":  # pytest-rerunfailures: what came before does not count
            state[0] = None
            return
        status = status_of(report)
        state[1] += getattr(report, "duration", 0.0) or 0.0
        if status is not None and (state[0] is None or RANKS[status] > RANKS[state[0]]):
            state[0] = status

    def finish(self, test_id):
        """A test has ended."""
        status, seconds = self._running.get(test_id, (None, 0.0))
        if status is not None:  # else it is to be run again
            del self._running[test_id]
            self.result(test_id, status, seconds)

    def single(self, test_id, status, seconds=0.0):
        """A result that has no phases of its own."""
        self.started += 1
        self._send({"event": "start", "id": test_id})
        self.result(test_id, status, seconds)

    def result(self, test_id, status, seconds):
        """Send the result of a test that was started."""
        self.finished += 1
        self.failures += RANKS[status] >= RANKS["failed"]
        event = {"event": "result", "id": test_id, "status": status, "seconds": round(seconds, 6)}
        self._send(event, wait=True)

    def flush(self):
        """Results of tests whose end was not announced (a crashed worker)."""
        for test_id in list(self._running):
            self.finish(test_id)


def status_of(report):
    """Status by pytest's semantics of one phase; None when this phase alone decides nothing."""
    if report.failed:
        return "error" if report.when in ("setup", "teardown") else "failed"
    if "subtest" in type(report).__name__.lower():
        return None  # of a subtest only a failure counts: the test itself reports the rest
    if hasattr(report, "wasxfail"):
        return "xfail" if report.skipped else "xpass"
    if report.skipped:
        return "skipped"
    return "passed" if report.when == "call" else None


def status_of_all(reports):
    """Status of a whole test from the reports of its phases."""
    found = [status for status in map(status_of, reports) if status is not None]
    return max(found, key=RANKS.get) if found else "error"


class Reporter:
    """The hooks. In a worker of pytest-xdist `client` is None and everything goes to the controller."""

    def __init__(self, manager, client):
        self._client = client
        self._send = client.send if client is not None else _nowhere
        self._outcomes = Outcomes(self._send)
        self._canaries = client.canaries if client is not None else None
        self._canary_results = None  # [(id, status)], once they ran
        self._worker = None  # name of the worker that this process is
        self._environment = parsimony_channel.leave_environment()
        self._backwards = self._environment.get("PARSIMONY_ORDER") == "reverse"
        self.evidence = Evidence(manager, *((client.tree, client.startup) if client is not None else ("", ())))
        if client is not None:
            self._send(session_event("pytest", pytest.__version__))
            self._send(self.evidence.event("start"))

    # ---- the session

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config):
        """A worker gets the names of the canaries from its controller."""
        given = getattr(config, "workerinput", getattr(config, "slaveinput", None))
        if given is not None and "parsimony" in given:
            self._worker = given.get("workerid", given.get("slaveid", "worker"))
            told = json.loads(given["parsimony"])
            self._canaries = told["canaries"]
            self.evidence.set_tree(told["tree"])

    def pytest_unconfigure(self):
        """Another run may follow in this process or in one that it starts."""
        parsimony_channel.return_to(self._environment)

    def pytest_collectreport(self, report):
        """A module that cannot be collected is an error under its own id."""
        if report.failed and report.nodeid:
            self._outcomes.single(report.nodeid, "error")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        """A grading under another order of tests: from the last to the first."""
        if self._backwards:
            items.reverse()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session):
        """The tests stand."""
        self.evidence.collected(session.items)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session):
        """After the last test, and also after a stop in the middle: the canaries."""
        yield
        self._run_canaries(session)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session):
        """The last word: after the hooks of all others, which may still change the exit status."""
        self._run_canaries(session)  # a session that never came to its tests has them as well
        if self._worker is not None:
            output = getattr(session.config, "workeroutput", getattr(session.config, "slaveoutput", None))
            handed = {"loaded": self.evidence.event("worker"), "canaries": self._canary_results}
            output["parsimony"] = json.dumps(handed)
        yield
        if self._worker is None:
            self._outcomes.flush()
            self._send(self.evidence.event("finish"))
            self._send(
                {
                    "event": "finish",
                    "exit_status": int(session.exitstatus),
                    "started": self._outcomes.started,
                    "finished": self._outcomes.finished,
                }
            )

    # ---- workers of pytest-xdist

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self):
        """Workers are about to start: they load the plugin as this process did, and have no channel."""
        parsimony_channel.hand_on(self._environment)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node):
        """A worker is about to be told what to run."""
        told = json.dumps({"canaries": self._canaries, "tree": self.evidence.tree})
        getattr(node, "workerinput", getattr(node, "slaveinput", {}))["parsimony"] = told
        plugins = node.config.option.plugins
        if "parsimony_reporter" not in plugins:
            plugins.append("parsimony_reporter")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        """A worker has ended."""
        output = getattr(node, "workeroutput", getattr(node, "slaveoutput", None)) or {}
        name = getattr(getattr(node, "gateway", None), "id", "worker")
        if "parsimony" in output:
            handed = json.loads(output["parsimony"])
            self._send(dict(handed["loaded"], worker=name))
            for test_id, status in handed["canaries"]:
                self._outcomes.single("[%s] %s" % (name, test_id), status)

    # ---- the tests

    def pytest_runtest_logstart(self, nodeid):
        """A test begins."""
        self._outcomes.start(nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report):
        """A phase has ended."""
        self.evidence.told(report)
        self._outcomes.report(report)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self, nodeid):
        """A test has ended."""
        self._outcomes.finish(nodeid)

    def _run_canaries(self, session):
        if self._canary_results is not None or self._canaries is None:
            return
        self._canary_results = []
        try:
            import parsimony_canaries

            reports = parsimony_canaries.run(session, self._canaries, self.evidence.last_path)
        except Exception as error:
            self._send({"event": "trouble", "message": "the canaries could not run: %r" % error})
            return
        self._canary_results = [(test_id, status_of_all(phases)) for test_id, phases in reports]
        for test_id, status in self._canary_results if self._worker is None else ():
            self._outcomes.single(test_id, status)


def _nowhere(event, wait=False):
    """Takes the events of a process that has no channel."""
