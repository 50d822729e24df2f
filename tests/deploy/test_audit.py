"""What is installed is what is pinned, and the audit reports what it cannot find. (Incident S32: the supply chain.)"""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONSTRAINTS = ROOT / "requirements" / "constraints.txt"
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


@pytest.fixture(scope="module")
def audit():
    spec = importlib.util.spec_from_file_location("audit", ROOT / "deploy" / "audit.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_requirement_is_pinned_to_one_version(audit):
    pinned = audit.pins(CONSTRAINTS.read_text("utf-8"))
    for project in ("pyproject.toml", "clients/python/pyproject.toml"):
        listed = re.findall(r'^\s*"([A-Za-z0-9_.-]+)(?:\[\w+\])?>=', (ROOT / project).read_text("utf-8"), re.MULTILINE)
        assert listed
        assert {audit.canonical(name) for name in listed} - {"setuptools"} <= pinned.keys()


def test_no_address_to_download_from_is_recorded():
    assert not re.search(r"https?://|--index|--find-links|--hash| @ ", CONSTRAINTS.read_text("utf-8"))


def test_parsers_of_forms_are_no_requirement(audit):
    assert not {*audit.FORBIDDEN} & audit.pins(CONSTRAINTS.read_text("utf-8")).keys()


@pytest.mark.parametrize("line", ["numpy>=2", "numpy", "numpy==2 --hash=sha256:00", "-r other.txt", "numpy==2; x"])
def test_a_line_that_is_no_pin_is_refused(audit, line):
    with pytest.raises(ValueError, match="line 1"):
        audit.pins(line)


def test_what_differs_from_the_pins_is_reported(audit):
    faults = [*audit.pin_faults({"h11": "0.16.0"}, {"h11": "0.15.0", "new": "1", "multipart": "1", "pip": "23"})]
    assert [fault.split()[0] for fault in faults] == ["h11", "new", "multipart"]
    assert not [*audit.pin_faults({"h11": "0.16.0"}, {"h11": "0.16.0"})]


def test_known_vulnerabilities_and_packages_nothing_is_known_of_are_distinguished(audit):
    fault = {"id": "CVE-1", "fix_versions": ["2"]}
    report = {
        "dependencies": [
            {"name": "bad", "version": "1", "vulns": [fault]},
            {"name": "good", "version": "1", "vulns": []},
            {"name": "dark", "skip_reason": "not found"},
        ]
    }
    assert audit.vulnerabilities(report) == (["bad 1: CVE-1, mended in 2"], ["dark"])


def test_the_image_is_built_from_the_pins():
    assert "--constraint requirements/constraints.txt" in (ROOT / "deploy" / "Dockerfile").read_text("utf-8")
    assert "-c $(CONSTRAINTS)" in MAKEFILE


def test_what_the_audit_writes_is_left_out_of_the_repository():
    written = re.search(r"--sbom (\S+)", MAKEFILE)[1]
    assert f"/{written}" in (ROOT / ".gitignore").read_text("utf-8").splitlines()
