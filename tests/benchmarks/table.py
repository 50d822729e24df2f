"""Results as tables: for the terminal, and in Markdown for the docs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tests.benchmarks.results_file import Results, versions
from tests.benchmarks.summary import AHEAD, of_all

DEFAULT = "default"
"""The table whose BLAS chose its kernels itself."""

MISSING = "-"

OTHERS = ("autograd", "mygrad", "scikit-learn", "tinygrad")
COLUMNS = ("Adjoint native", "Adjoint NumPy", "Adjoint server", "torch eager", "torch.compile", "jax.jit", "jax scan")


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
    lines.append("  " + "; ".join(f"{head} {cell}" for head, cell in _judged(row).items()))
    return "\n".join(lines) + "\n"


def overall(rows: Iterable[Results]) -> str:
    """Return a line on all rows together."""
    found = of_all(rows)
    if found is None:
        return "No row has both a time of ours and one of a peer."
    mean, count, behind = found
    named = f" ({', '.join(behind)})" if behind else ""
    return f"Geometric mean of the ratios of {count} rows: {mean:.2f}; below {AHEAD}: {len(behind)}{named}."


ABOUT = """\
A step is forward, loss, backward and optimizer: AdamW unless it says Adam. Every contender starts from the same
weights, goes through the same pool of 16 batches in the same order, and runs by the fastest of its settings (optimizer,
threads, what is compiled). After 16 and 32 steps the losses agree to the share ±; one that does not is marked ≠ and
does not count. Adjoint records a row every 100 steps; the server is timed from the arrival of a fit's first row to that
of its last. Others: autograd, mygrad, scikit-learn and tinygrad. Ratio: the time of the best peer by that of our faster
executor. Floor: the step's matrix products at the highest rate measured on this machine, and the optimizer's pass over
memory at the rate of as much; the column gives it as a share of our time. NumPy steps: ops that the native executor has
no kernel for.
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
    rows = [(row, _ran(row)) for row in table.values()]
    shown = [name for name in COLUMNS if any(name in ran for _, ran in rows)]
    others = any(name in ran for name in OTHERS for _, ran in rows)
    lines = []
    for row, ran in rows:
        best = min((found["ms"] for found in ran.values()), default=0.0)
        cells = {"ms per step": row["title"]} | {name: _cell(ran.get(name), best) for name in shown}
        cells |= {"best of the others": _fastest_other(ran, best)} if others else {}
        cells |= _judged(row) | {"±": f"{row['tolerance']:g}"}
        lines += [] if lines else [_line(cells), "|---" * len(cells) + "|"]
        lines.append(_line(cells.values()))
    return "\n".join([*lines, "", overall(table.values())])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _judged(row: Results) -> dict[str, str]:
    """Return the cells of a row's summary by their heads."""
    found = row["summary"]
    peer, ratio, share, steps = (found[name] for name in ("best_peer", "ratio", "floor_share", "numpy_steps"))
    return {
        "best peer": f"{peer} {number(found['best_peer_ms'])}" if peer else MISSING,
        "ratio": f"{ratio:.2f}" if ratio else MISSING,
        "floor": f"{share:.0%}" if share else MISSING,
        "NumPy steps": MISSING if steps is None else ", ".join(steps) or "none",
    }


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
