"""Results as tables: for the terminal, and in Markdown for the docs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.benchmarks.results_file import Results, versions
from tests.benchmarks.roster import ROSTER

DEFAULT = "default"
"""The table whose BLAS chose its kernels itself."""

MISSING = "-"

OTHERS = ("autograd", "mygrad", "scikit-learn", "tinygrad")
COLUMNS = ("Adjoint native", "Adjoint NumPy", "Adjoint server", "torch eager", "torch.compile", "jax.jit", "jax scan")
OURS = tuple(name for name, entry in ROSTER.items() if entry.ours)


def terminal_block(row: Results) -> str:
    """Return one workload as lines of text, the fastest contender first."""
    ran, missing = _ran(row), [found for found in row["contenders"] if "missing" in found]
    lines = [f"{row['workload']}: {row['title']}  (floor {row['floor_ms']:.4f} ms)"]
    for found in sorted(ran.values(), key=lambda found: found["ms"]):
        ratio = found["ms"] / min(other["ms"] for other in ran.values())
        losses = " ".join(f"{loss:.5f}" for loss in found["losses"])
        lines.append(
            f"  {found['name']:15}{found['ms']:11.4f} ms  x{ratio:<7.2f}[{found['low']:.4f} to {found['high']:.4f}]"
            f"  losses {losses}{'' if found['agrees'] else ' DIFFER'}  {found['setting']}"
        )
    lines += [f"  {found['name']:15}    missing: {found['missing']}" for found in missing]
    return "\n".join(lines) + "\n"


ABOUT = """\
A step is forward, loss, backward and optimizer: AdamW unless it says Adam. Every contender starts from the same
weights, goes through the same pool of 16 batches in the same order, and runs by the fastest of its settings (optimizer,
threads, what is compiled). After 16 and 32 steps the losses agree to the share ±; one that does not is marked ≠.
Adjoint records a row every 100 steps; the server is timed from the arrival of a fit's first row to that of its last.
Floor: the step's matrix products at the highest rate measured on this machine, and the optimizer's pass over memory at
the rate of as much. Others: autograd, mygrad, scikit-learn and tinygrad. Ratio: the time of the fastest peer by that of
our faster executor.
"""


def markdown(results: Results) -> str:
    """Return the text and the tables for the docs."""
    machine = results["machine"]
    used = ", ".join(f"{name} {version}" for name, version in sorted(versions(results).items()))
    where = ", ".join(
        [
            machine["processor"],
            f"{machine['cores']} cores",
            f"Python {machine['python']}",
            f"NumPy {machine['numpy']} with {machine['blas']}",
            used,
        ]
    )
    rounds = f"{results['threads']} threads each; medians of {results['rounds']} interleaved rounds."
    parts = [f"{where}; {rounds}"]
    if results["load"] > machine["cores"]:
        parts.append(
            f"Other programs were running when this began (load {results['load']}): measure again on a quiet machine."
        )
    for core, table in results["tables"].items():
        if core != DEFAULT:
            parts.append(f"With `OPENBLAS_CORETYPE={core}`:")
        parts.append(_markdown_table(table))
    return "\n\n".join([*parts, ABOUT])


def _markdown_table(table: Mapping[str, Results]) -> str:
    heads = ["ms per step", *COLUMNS, "best of the others", "floor", "ratio", "±"]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for row in table.values():
        ran = _ran(row)
        best = min((found["ms"] for found in ran.values()), default=0.0)
        cells = [_cell(ran.get(name), best) for name in COLUMNS]
        cells += [_fastest_other(ran, best), number(row["floor_ms"]), _ratio(ran), f"{row['tolerance']:g}"]
        lines.append(f"| {row['title']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def number(ms: float) -> str:
    """Write milliseconds to three digits."""
    digits = 0 if ms >= 100 else 1 if ms >= 10 else 2 if ms >= 1 else 3 if ms >= 0.1 else 4
    return f"{ms:.{digits}f}"


def _ran(row: Results) -> dict[str, dict[str, Any]]:
    return {found["name"]: found for found in row["contenders"] if "missing" not in found}


def _cell(found: Mapping[str, Any] | None, best: float) -> str:
    if found is None:
        return MISSING
    text = number(found["ms"]) + ("" if found["agrees"] else " ≠")
    return f"**{text}**" if found["ms"] == best else text


def _fastest_other(ran: Mapping[str, Mapping[str, Any]], best: float) -> str:
    found = min((ran[name] for name in OTHERS if name in ran), key=lambda found: found["ms"], default=None)
    return MISSING if found is None else f"{_cell(found, best)} ({found['name']})"


def _ratio(ran: Mapping[str, Mapping[str, Any]]) -> str:
    """Return how many times faster than the fastest peer we are, within one process; a peer must agree to count."""
    ours = [ran[name]["ms"] for name in OURS if name in ran and name != "Adjoint server"]
    peers = [found["ms"] for name, found in ran.items() if name not in OURS and found["agrees"]]
    return f"{min(peers) / min(ours):.2f}" if ours and peers else MISSING
