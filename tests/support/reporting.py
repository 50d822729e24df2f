"""What a process of xdist reports of a test that passes: two messages in place of six.

Both ends encode and decode each message in Python, which takes longer than many a test.
"""

import pytest
from _pytest.runner import runtestprotocol


def run_test(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test in a process of xdist, and report its setup and its teardown only where they do not pass.

    Returns None, and runs nothing, in other processes, and where `--durations` or `--junitxml` want all reports.
    """
    option = item.config.option
    if not hasattr(item.config, "workerinput") or option.durations is not None or option.xmlpath:
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            if report.passed:
                report.keywords = {}  # many, and nothing in the other process reads them
            item.ihook.pytest_runtest_logreport(report=report)
    return True
