"""Check the Helm chart of this folder, as part of `make lint`: `helm lint`, and the schemas of Kubernetes.

It is rendered with each file in `ci`. The pods of the RayCluster, whose own schema belongs to KubeRay, are checked as
pod templates.
"""

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).parent
KUBERNETES = "1.31"
NAMESPACE = "adjoint"
INFORMATION = 1
"""The severity of findings that need no change."""


def manifests(values: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rendered manifests, each with the name of its template."""
    import helm_python as helm

    with helm.Chart.load(str(CHART)) as chart:
        chart.validate_schema(values)
        rendered = chart.render(values, name="adjoint", namespace=NAMESPACE)
    for path, text in rendered.items():
        if path.endswith(".yaml"):
            yield from ((path, each) for each in yaml.safe_load_all(text) if each)


def checked_parts(manifest: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what Kubernetes has a schema of: the manifest, or the pods of a RayCluster."""
    if manifest["kind"] != "RayCluster":
        yield manifest
        return
    spec = manifest["spec"]
    for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"]):
        yield {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "ray"}, "template": group["template"]}


def faults() -> Iterator[str]:
    """Yield what is wrong."""
    import helm_python as helm
    import kubernetes_validate

    files = sorted(CHART.glob("ci/*.yaml"))
    if not files:
        yield "there are no values to render the chart with"
    for file in files:
        values = yaml.safe_load(file.read_text("utf-8"))
        findings = helm.lint(str(CHART), values, kube_version=f"v{KUBERNETES}.0")["messages"]
        serious = [finding for finding in findings if finding["severity"] != INFORMATION]
        yield from (f"{file.name}: {finding['path']}: {finding['error']}" for finding in serious)
        for path, manifest in () if serious else manifests(values):
            for part in checked_parts(manifest):
                try:
                    kubernetes_validate.validate(part, KUBERNETES, strict=True)
                except kubernetes_validate.ValidationError as error:
                    yield f"{file.name}: {path}: {part['kind']}: {error.message} at {list(error.path)}"


def main() -> int:
    """Print what is wrong; return 1 if anything is."""
    if find_spec("helm_python") is None:
        sys.stderr.write("the Helm chart is not checked: helm-python-sdk has no wheel for this machine\n")
        return 0
    found = list(faults())
    sys.stderr.writelines(f"{fault}\n" for fault in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
