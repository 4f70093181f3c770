"""One task in a process of its own: a crash costs one task, and memory and thread pools start clean.

    worker.py time   OUT TASK SETTINGS              all contenders, interleaved
    worker.py memory OUT TASK SETTINGS CONTENDER    the extra memory of one
"""

import contextlib
import gc
import importlib
import json
import math
import os
import sys
import time
import warnings
from pathlib import Path

import harness


def main(mode, out, name, settings, contender=None):
    settings = json.loads(settings)
    warnings.simplefilter("ignore")
    if hasattr(os, "sched_setaffinity"):
        # The one limit that every thread pool respects, also those that read no variable.
        allowed = sorted(os.sched_getaffinity(0))[: settings["threads"]]
        os.sched_setaffinity(0, allowed)
    env = harness.Env(settings["scale"], settings["threads"], settings["data"])
    task = harness.load_tasks()[name]
    out = Path(out)
    harness.CACHE.mkdir(exist_ok=True)
    # Peers print to stdout; the table is the only thing that belongs there.
    with contextlib.redirect_stdout(sys.stderr):
        try:
            bench = task.build(env)
        except harness.Missing as e:
            return save(out, {"skip": str(e)})
        except harness.Skip as e:
            return save(out, {"skip": str(e)})
        if mode == "time":
            times(bench, settings, out)
        else:
            save(out, {"memory": extra_memory(bench.contenders[contender], contender)})


def save(out, result):
    """Written whole after each step, so that a crash leaves what was measured before it."""
    scratch = out.with_suffix(".part")
    scratch.write_text(json.dumps(result))
    scratch.replace(out)


def times(bench, settings, out):
    labels = [label for label in bench.order() if label not in settings["without"]]
    rows = {label: {"seconds": None, "value": None, "error": None, "missing": None, "runs": 0} for label in labels}
    result = {"rows": rows, "running": None, "memory": bench.memory}
    prepared = {}
    for label, row in rows.items():
        result["running"] = label
        save(out, result)
        with failures_in(row):
            prepared[label] = bench.contenders[label].prepare()

    rounds, done = settings["repeat"], 0
    while done < rounds:
        spent = 0.0
        for label, row in rows.items():
            slow = (row["seconds"] or 0) * bench.per > settings["limit"]
            if row["error"] or row["missing"] or slow:
                continue
            result["running"] = label
            save(out, result)
            with failures_in(row):
                seconds, value = once(bench, label, prepared[label], measure=row["value"] is None)
                spent += seconds
                row["runs"] += 1
                row["seconds"] = min(seconds / bench.per, row["seconds"] or math.inf)
                if row["value"] is None:
                    row["value"] = value
        if done == 0 and spent < 1:
            rounds *= 5  # short runs are noisy, and cost nothing
        done += 1
    judge(bench, rows)
    result["running"] = None
    save(out, result)


def once(bench, label, prepared, measure):
    gc.collect()
    time.sleep(0.1)  # the threads of the contender before may still be spinning
    start = time.perf_counter()
    outcome = bench.contenders[label].run(prepared)
    seconds = time.perf_counter() - start
    return seconds, float(bench.measure(outcome)) if measure else None


@contextlib.contextmanager
def failures_in(row):
    try:
        yield
    except harness.Missing as e:
        row["missing"] = str(e)
    except Exception as e:
        row["error"] = f"{type(e).__name__}: {str(e).strip().splitlines()[0] if str(e).strip() else ''}"[:160]


def judge(bench, rows):
    """Marks every row by how much its result is worse than the best one."""
    values = [r["value"] for r in rows.values() if r["value"] is not None and math.isfinite(r["value"])]
    if not values:
        return
    # For `same` there is no better or worse: the first contender, a peer where there is one, sets the value.
    best = {"lower": min(values), "higher": max(values), "same": values[0]}[bench.better]
    for row in rows.values():
        if row["value"] is not None:
            gap = bench.gap(row["value"], best)
            row["gap"], row["allowed"] = gap, bench.tolerance
            row["equal"] = gap <= bench.tolerance  # false for NaN


def extra_memory(contender, label):
    """Peak memory during the run above what was held before it, in MB."""
    with contextlib.suppress(ImportError):
        importlib.import_module(label.split()[0])
    prepared = contender.prepare()
    gc.collect()
    before = peak_reset()
    outcome = contender.run(prepared)
    if isinstance(outcome, harness.Exit):
        return outcome.peak_mb
    return max(0.0, peak() - before)


def peak_reset():
    """Forgets the peak reached while making the data; returns the memory in use."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return status("VmRSS")
    except OSError:
        return peak()


def peak():
    try:
        return status("VmHWM")
    except OSError:
        import resource

        unit = 2**20 if sys.platform == "darwin" else 2**10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def status(key):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) / 1024
    raise OSError(f"no {key}")


if __name__ == "__main__":
    main(*sys.argv[1:])
