"""What has to be said before pyarrow is loaded, where the package is run as a program.

pyarrow's own choice of an allocator, mimalloc, keeps what threads gave back: a join of TPC-H SF1
takes 60 MB more by it than by jemalloc.
"""

import os
import sys
from pathlib import Path


def _is_program() -> bool:
    words = getattr(sys, "orig_argv", [])
    is_module = "-m" in words[:-1] and words[words.index("-m") + 1] == "gpujoin"
    return is_module or (bool(sys.argv) and Path(sys.argv[0]).name == "gpujoin")


IS_PROGRAM = _is_program()
if IS_PROGRAM:
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")
