"""`python -m ermine script.py ...`: a script on Ermine, without an edit. `--report` prints at the end what ran
where."""

import argparse
import runpy
import sys
from pathlib import Path

from . import patch_report, patch_sklearn


def main():
    parser = argparse.ArgumentParser(
        prog="python -m ermine", description="Run a script with Ermine in the place of scikit-learn."
    )
    parser.add_argument(
        "--report", action="store_true", help="print at the end what ran in Ermine and what in scikit-learn"
    )
    parser.add_argument("-m", dest="module", action="store_true", help="the script is the name of a module")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    patch_sklearn()
    sys.argv = [given.script, *given.arguments]
    try:
        if given.module:
            runpy.run_module(given.script, run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = str(Path(given.script).resolve().parent)
            runpy.run_path(given.script, run_name="__main__")
    finally:
        if given.report:
            print(patch_report(), file=sys.stderr)


if __name__ == "__main__":
    main()
