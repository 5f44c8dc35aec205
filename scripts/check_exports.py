#!/usr/bin/env python3
"""Checks that a libgpujoin.so exports exactly the functions that include/gpujoin.h declares.

usage: check_exports.py path/to/libgpujoin.so
"""

import re
import subprocess
import sys
from pathlib import Path

HEADER = Path(__file__).resolve().parent.parent / "include" / "gpujoin.h"


def declared():
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
    return set(re.findall(r"\bGPUJOIN_API\b[^;]*?\b(gpujoin_\w+)\s*\(", text))


def exported(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    # "address kind name@@version"; kind A is the version itself.
    return {line.split()[2].split("@")[0] for line in lines if line.split()[1] != "A"}


def main():
    header, library = declared(), exported(sys.argv[1])
    for name in sorted(header - library):
        print(f"{name}: declared in gpujoin.h, not exported")
    for name in sorted(library - header):
        print(f"{name}: exported, not declared in gpujoin.h")
    return 1 if header != library or not header else 0


if __name__ == "__main__":
    sys.exit(main())
