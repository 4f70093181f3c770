"""Rows of the table: judged, printed, and kept in RESULTS.md."""

import datetime
import importlib.metadata
import os
import platform
import re
import subprocess
from pathlib import Path

from harness import FAMILIES, ROOT, is_ours

RESULTS = ROOT / "bench" / "RESULTS.md"
COLUMNS = ["task", "contender", "time", "ratio", "objective or score", "memory", "note"]


def table_rows(task, result):
    """The rows of one task as text, one list per contender."""
    rows = result["rows"]
    peers = {p: r["seconds"] for p, r in rows.items() if not is_ours(p) and r["seconds"] and r.get("equal")}
    best = min(peers.values(), default=None)
    lines = []
    for label in sorted(rows, key=lambda label: (not is_ours(label), rows[label]["seconds"] or 1e9)):
        r = rows[label]
        if r["seconds"] is None:
            lines.append([task.name, label, "", "", "", "", failure(label, r)])
            continue
        ratio = f"{best / r['seconds']:.2f}" if best and r.get("equal") else ""
        memory = f"{r['mb']:.0f} MB" if r.get("mb") is not None else ""
        notes = [failure(label, r)] if r["error"] else []
        if not r.get("equal"):
            notes.append(f"not equal: worse by {r.get('gap', float('nan')):.1e}, allowed {r.get('allowed', 0):g}")
        elif is_ours(label):
            notes += verdicts(task, r, peers, best)
        lines.append([task.name, label, duration(r["seconds"]), ratio, f"{r['value']:.9g}", memory, "; ".join(notes)])
    return lines


def failure(label, row):
    if row["missing"]:
        return "not yet" if is_ours(label) else row["missing"]
    return row["error"] or "no result"


def verdicts(task, row, peers, best):
    """What the task aims at, and whether it is reached."""

    def word(reached):
        return "met" if reached else "MISSED"

    aims = task.target if isinstance(task.target, dict) else {None: task.target} if task.target else {}
    for peer, aim in aims.items():
        seconds = best if peer is None else min((s for p, s in peers.items() if p.split()[0] == peer), default=None)
        if seconds is not None:
            of = f" of {peer}" if peer else ""
            yield f"aim {aim:g}x{of}: {word(seconds / row['seconds'] >= aim)}"
    if task.max_seconds:
        yield f"under {task.max_seconds:g} s: {word(row['seconds'] < task.max_seconds)}"
    if task.max_memory and row.get("mb") is not None:
        yield f"under {task.max_memory:g} MB: {word(row['mb'] < task.max_memory)}"


def duration(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def show(lines):
    """The rows of one task, below its name."""
    widths = (24, 9, 6, 18, 9, 0)
    for _, *cells in lines:
        print("  " + "  ".join(cell.ljust(w) for cell, w in zip(cells, widths)).rstrip(), flush=True)


def show_head():
    print("\n  " + "  ".join(("contender".ljust(24), "time".ljust(9), "ratio ", "objective or score", "memory   ", "note")))


def machine():
    cpu = platform.processor() or platform.machine()
    if (info := Path("/proc/cpuinfo")).exists():
        cpu = next((l.split(":", 1)[1].strip() for l in info.read_text().splitlines() if l.startswith("model name")), cpu)
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        system = f"{platform.system()} {platform.release()}"
    return f"{cpu}, {os.cpu_count()} cores, {system}, Python {platform.python_version()}"


def versions(requirements):
    names = re.findall(r"^([\w-]+)==", requirements.read_text(), re.M) + ["torch", "ermine-ml"]
    found = []
    for name in names:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            pass
    return ", ".join(found)


def write(tasks, measured, requirements, threads):
    """Replaces the rows of the measured tasks; those of other tasks stay as they were, with their date."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    today = f"{datetime.date.today()} {commit}".strip()
    rows = {}
    if RESULTS.exists():
        for line in RESULTS.read_text().splitlines():
            cells = [c.strip() for c in line.strip("|").split("|")]
            if line.startswith("|") and cells[0] in tasks:
                rows.setdefault(cells[0], []).append(cells)
    for name, lines in measured.items():
        rows[name] = [[*(cell.replace("|", "/") for cell in line), today] for line in lines]

    head = [*COLUMNS, "measured"]
    text = [
        "# Results",
        "",
        "Written by `python bench/run.py --write`. Time is the minimum of several interleaved runs in one process;",
        "ratio is the time of the fastest equal peer divided by this one's, so above 1 is faster than every peer;",
        "memory is the peak above what the data take. A result worse than the best by more than the task's",
        "tolerance is not equal, and its speed does not count.",
        "",
        f"Latest run: {machine()}, {threads} threads.  ",
        f"Packages: {versions(requirements)}.",
    ]
    for family in FAMILIES:
        lines = [line for name, t in tasks.items() if t.family[0] == family for line in rows.get(name, [])]
        if lines:
            text += ["", f"## {family}", "", "| " + " | ".join(head) + " |", "| --- " * len(head) + "|"]
            text += ["| " + " | ".join(line) + " |" for line in lines]
    RESULTS.write_text("\n".join(text) + "\n")
