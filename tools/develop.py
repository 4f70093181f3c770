"""Puts the development build of the Python module where `import ermine` finds it: beside the package, and the package on
the path of this interpreter. The build is the one that the tests of the workspace share; `pip install .` makes a wheel."""

import os
import shutil
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
built = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"
library = next(path for name in ("lib_ermine.so", "lib_ermine.dylib") if (path := built / name).exists())
# A new file and a rename: a process that has the old one mapped keeps it.
module = ROOT / "python" / "ermine" / "_ermine.abi3.so"
fresh = module.with_suffix(".new")
shutil.copyfile(library, fresh)
fresh.replace(module)
(Path(sysconfig.get_path("purelib")) / "ermine.pth").write_text(f"{ROOT / 'python'}\n")
