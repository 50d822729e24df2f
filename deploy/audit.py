"""Audit what is installed: pins, vulnerabilities, and a bill of materials. `make audit` runs it.

Pins and bill need no network. Vulnerabilities are asked for from the service that pip-audit uses; where that does not
answer, or does not know a package, the audit says so and fails: silence would look like a clean result.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

FORBIDDEN = ("python-multipart", "multipart")
"""Packages that parse what strangers send and that nothing here needs."""
OWN = ("adjoint", "adjoint-client", "pip", "setuptools")
TIMEOUT_SECONDS = 20
_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.+!]+)$")


def canonical(name: str) -> str:
    """Normalise the name of a package for comparison."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(text: str) -> dict[str, str]:
    """Read a file of constraints: a version for each name; ValueError if a line says anything else."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _PIN.match(line)
        if match is None:
            raise ValueError(f"line {number}: {line!r} is not NAME==VERSION")
        found[canonical(match[1])] = match[2]
    return found


def pin_faults(pinned: Mapping[str, str], installed: Mapping[str, str]) -> Iterator[str]:
    """Yield what is installed and not as the pins say, or should not be there at all."""
    for name, version in installed.items():
        if name in FORBIDDEN:
            yield f"{name} is installed: forms are parsed by nobody here"
        elif name not in OWN and pinned.get(name) != version:
            yield f"{name} {version} is installed; the constraints say {pinned.get(name, 'nothing')}"


def vulnerabilities(report: Mapping[str, object]) -> tuple[list[str], list[str]]:
    """Return the known vulnerabilities of pip-audit's report, and the packages that nothing is known of."""
    known, unknown = [], []
    dependencies = report["dependencies"]
    assert isinstance(dependencies, list)
    for each in dependencies:
        if "skip_reason" in each:
            unknown.append(each["name"])
        for fault in each.get("vulns", ()):
            cure = ", ".join(fault["fix_versions"]) or "no version yet"
            known.append(f"{each['name']} {each['version']}: {fault['id']}, mended in {cure}")
    return known, unknown


def _installed(environment: Path) -> dict[str, str]:
    listed = _run([str(environment), "-m", "pip", "--disable-pip-version-check", "list", "--format=json"]).stdout
    return {canonical(each["name"]): each["version"] for each in json.loads(listed)}


def _ask(constraints: Path) -> Mapping[str, object] | None:
    """Return pip-audit's report; None, with its last words on standard error, if it got none."""
    asked = ["-r", str(constraints), "--no-deps", "--disable-pip", "--format=json", "--progress-spinner=off"]
    try:
        done = _run([sys.executable, "-m", "pip_audit", *asked, f"--timeout={TIMEOUT_SECONDS}"], check=False)
        report: Mapping[str, object] = json.loads(done.stdout)
    except (ValueError, subprocess.TimeoutExpired):
        return None
    return report


def _run(command: list[str], *, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=check, timeout=20 * TIMEOUT_SECONDS)  # noqa: S603 (our own)


def main() -> int:
    """Do all three, and return how many of them found something."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("environment", "constraints", "sbom"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    chosen = parser.parse_args()
    pinned = pins(chosen.constraints.read_text("utf-8"))
    faults = [*pin_faults(pinned, _installed(chosen.environment))]
    _say("pins", faults, f"all {len(pinned)} versions are pinned, and what is installed is what they say")
    _run([sys.executable, "-m", "cyclonedx_py", "environment", str(chosen.environment), "-o", str(chosen.sbom)])
    _say("bill of materials", [], f"written to {chosen.sbom} (CycloneDX)")
    report = _ask(chosen.constraints)
    known, unknown = ([], [*pinned]) if report is None else vulnerabilities(report)
    if unknown:
        known.append(f"NOT AUDITED: the service answers nothing about {len(unknown)} of {len(pinned)} packages")
    _say("vulnerabilities", known, "none is known")
    return sum(map(bool, (faults, known)))


def _say(what: str, faults: list[str], otherwise: str) -> None:
    for line in faults or [otherwise]:
        print(f"{what}: {line}")  # noqa: T201 (a command's answer)


if __name__ == "__main__":
    sys.exit(main())
