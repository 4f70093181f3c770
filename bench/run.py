"""Ermine beside its peers: time, objective, memory.

    python bench/run.py                      everything (the first run makes bench/.venv and builds the package)
    python bench/run.py --family linear      one family, or `spine` for the tasks everything rests on
    python bench/run.py --only 'k-means'     tasks whose name matches
    python bench/run.py --list               what there is
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
VENV = BENCH / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
REQUIREMENTS = BENCH / "requirements.txt"
NEEDED = ("numpy", "scipy", "scikit-learn")
TORCH = "torch==2.15.0"


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", metavar="PATTERN", help="tasks whose name matches this regular expression")
    p.add_argument("--family", help="tasks of this family")
    p.add_argument("--list", action="store_true", help="list the tasks and stop")
    p.add_argument("--repeat", type=int, default=3, metavar="N", help="runs of each contender (default 3)")
    p.add_argument("--scale", type=float, default=1.0, help="share of the rows, to try things out (default 1.0)")
    p.add_argument("--threads", type=int, default=2, help="threads of every contender (default 2)")
    p.add_argument("--limit", type=float, default=60, metavar="SECONDS", help="what takes longer is not repeated (default 60)")
    p.add_argument("--data", metavar="DIR", help="folder of real data; without it the tasks that need it are skipped")
    p.add_argument("--heavy", action="store_true", help="also the tasks that take minutes or gigabytes of disk")
    p.add_argument("--torch", action="store_true", help="also install PyTorch (large) as a peer")
    p.add_argument("--no-memory", action="store_true", help="do not measure memory")
    p.add_argument("--no-build", action="store_true", help="use the installed ermine as it is")
    p.add_argument("--write", action="store_true", help="put the rows in bench/RESULTS.md")
    args = p.parse_args()
    if args.write and args.scale != 1:
        p.error("--write needs --scale 1: rows at another size are not the task's")
    return args


def prepare_venv(torch):
    """Makes bench/.venv, or brings it up to date when the pins changed."""
    stamp = VENV / "installed.txt"
    wanted = REQUIREMENTS.read_text()
    if not PYTHON.exists():
        print(f"making {VENV.relative_to(ROOT)} ...", file=sys.stderr)
        venv.create(VENV, with_pip=True)
    if not stamp.exists() or stamp.read_text() != wanted:
        print("installing the peers ...", file=sys.stderr)
        if not pip("-r", REQUIREMENTS):
            # Not every peer exists for every platform: take those that do.
            for line in re.findall(r"^[\w-]+==\S+", wanted, re.M):
                if not pip(line):
                    print(f"warning: {line} does not install here", file=sys.stderr)
                    if line.split("==")[0] in NEEDED:
                        sys.exit("error: nothing runs without it\nhint: the pins want Python 3.11 or newer")
        stamp.write_text(wanted)
    if torch and subprocess.run([PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode and not pip(TORCH):
        print(f"warning: {TORCH} does not install here", file=sys.stderr)


def pip(*what):
    return subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", *map(str, what)]).returncode == 0


def build_ermine():
    """Installs the package as it is in this tree, in release mode."""
    if not (ROOT / "python" / "ermine").exists():
        print("note: there is no python/ermine yet, only the peers run", file=sys.stderr)
        return
    env = os.environ | {"VIRTUAL_ENV": str(VENV)}
    command = [PYTHON, "-m", "maturin", "develop", "--release", "--quiet", "-m", "crates/py/Cargo.toml"]
    if subprocess.run(command, cwd=ROOT, env=env).returncode:
        sys.exit("error: ermine does not build\nhint: --no-build runs what is installed")


def selected(tasks, args):
    found = [
        t
        for t in tasks.values()
        if (not args.only or re.search(args.only, t.name, re.I))
        and (not args.family or args.family in t.family)
        and (args.heavy or not t.heavy or args.list)
    ]
    if not found:
        sys.exit("error: no task matches\nhint: --list shows them; heavy ones need --heavy")
    return found


def worker(mode, task, settings, *contender):
    """Runs worker.py; returns what it wrote and how it ended."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        command = [PYTHON, BENCH / "worker.py", mode, out, task.name, json.dumps(settings), *contender]
        # Everything that a contender prints is noise here, except when it ends badly.
        done = subprocess.run(command, cwd=BENCH, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        return json.loads(out.read_text()) if out.exists() else None, done


def run(task, settings, memory):
    """Measures one task: {"rows": ...} or {"skip": reason}."""
    crashed = {}
    while True:
        result, done = worker("time", task, settings | {"without": list(crashed)})
        if not done.returncode:
            break
        guilty = result and result.get("running")
        if not guilty:
            return {"skip": f"the task itself failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}"}
        # It took the others down with it: once more without it.
        crashed[guilty] = {"seconds": None, "missing": None, "error": f"crashed the process (code {done.returncode})"}
    if "skip" in result:
        return result
    result["rows"] |= crashed
    for label, row in result["rows"].items():
        if memory and result["memory"] and row["seconds"] is not None:
            measured, _ = worker("memory", task, settings, label)
            row["mb"] = measured and measured.get("memory")
    return result


def inside(args):
    """The part that runs in the virtual environment."""
    import harness
    import report

    tasks = harness.load_tasks()
    chosen = selected(tasks, args)
    if args.list:
        for t in chosen:
            print(f"{' '.join(t.family):18} {t.name}{'  (heavy)' if t.heavy else ''}")
        return
    if not args.no_build:
        build_ermine()
    print(f"{report.machine()}, {args.threads} threads, scale {args.scale:g}")
    if hasattr(os, "getloadavg") and os.getloadavg()[0] > 0.5:
        # BLAS threads wait for each other by spinning: with too few free cores some peers slow down many times over.
        print(f"warning: the machine is busy (load {os.getloadavg()[0]:.1f}), the times will not be fair", file=sys.stderr)
    data = str(Path(args.data).resolve()) if args.data else None
    settings = dict(scale=args.scale, threads=args.threads, repeat=args.repeat, limit=args.limit, data=data)
    measured = {}
    report.show_head()
    for i, t in enumerate(chosen):
        print(f"\n[{i + 1}/{len(chosen)}] {t.name}", flush=True)
        result = run(t, settings, not args.no_memory)
        if "skip" in result:
            print(f"  skipped: {result['skip']}")
            continue
        measured[t.name] = report.table_rows(t, result)
        report.show(measured[t.name])
        if args.write:  # after each task: an interrupted run keeps what it has
            report.write(tasks, measured, REQUIREMENTS, args.threads)


def main():
    args = arguments()
    if Path(sys.prefix).resolve() == VENV.resolve():
        return inside(args)
    prepare_venv(args.torch)
    # Before any library is loaded: they read these once.
    for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON"):
        os.environ[f"{name}_NUM_THREADS"] = str(args.threads)
    os.environ["POLARS_MAX_THREADS"] = str(args.threads)
    os.environ["PYTHONPATH"] = str(BENCH)
    try:
        sys.exit(subprocess.run([PYTHON, *sys.argv]).returncode)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
