#!/usr/bin/env python3
"""Checks the house laws that a text search can check. Prints what breaks them; exits 1 if
anything does."""

import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

CODE = {".h", ".hpp", ".cuh", ".c", ".cpp", ".cu"}
LIBRARY = ["src/*", "kernels/*", "bindings/c/*", "include/*"]
LAUNCHES = [f"src/{stage}/*.cu*" for stage in (
    "aggregate", "calibrate", "conditions", "filters", "sample", "transform", "match", "output", "materialize",
    "papers")]
MOST_LINES = 400
MOST_COLUMNS = 100

# (what, pattern in code without its comments, where it counts, where it is allowed)
LAWS = [
    ("synchronizes the device", r"\bcudaDeviceSynchronize\b", ["*"], ["tests/*", "bench/*"]),
    ("allocates past the pool", r"\bcuda(Malloc|Free)(Async|Managed|Host)?\s*\(", LIBRARY,
     ["src/base/*"]),
    ("launches a kernel", r"<<<", LIBRARY, LAUNCHES),
    ("prints", r"\b(f?printf|puts|fputs)\s*\(|\bstd::(cout|cerr|clog)\b", LIBRARY, []),
    ("asks who is active instead of saying it", r"\b__activemask\b", ["*"], []),
    ("catches an exception", r"\bcatch\s*\(", LIBRARY,
     ["bindings/c/*", "src/cpu/*", "src/execute/*", "src/pieces/*",
      # Of threads, which the one that waits for them throws again.
      "src/base/copy_ring_cuda.cpp", "src/transfer/uploads.cpp",
      "src/base/device_cuda.cpp"]),  # why CUDA cannot be used becomes the reason for the CPU
    ("is switched off", r"#\s*if\s+0\b", ["*"], []),
]

TODO = re.compile(r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))")
MACHINE_PATH = re.compile(r"(?<![\w.$}*-])/(?:root|tmp|home)/")
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


def without_comments(text):
    """Blanks comments, keeping the lines; strings stay."""
    def blank(match):
        piece = match.group()
        return piece if piece.startswith('"') else re.sub(r"[^\n]", " ", piece)
    return COMMENT.sub(blank, text)


def is_in(path, patterns):
    return any(fnmatch(path, pattern) for pattern in patterns)


def complaints(path, text):
    if Path(path).suffix in CODE:
        code = without_comments(text).splitlines()
        for what, pattern, counts, allowed in LAWS:
            if is_in(path, counts) and not is_in(path, allowed):
                for number, line in enumerate(code, 1):
                    if re.search(pattern, line):
                        yield f"{path}:{number}: {what}: {line.strip()}"
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > MOST_COLUMNS:
                yield f"{path}:{number}: {len(line)} columns, {MOST_COLUMNS} at most"
            if TODO.search(line):
                yield f"{path}:{number}: a TODO names its issue, TODO(#12): {line.strip()}"
        if is_in(path, ["src/*", "kernels/*"]) and len(code) > MOST_LINES:
            yield f"{path}: {len(code)} lines, {MOST_LINES} at most"
    for number, line in enumerate(text.splitlines(), 1):
        if MACHINE_PATH.search(line):
            yield f"{path}:{number}: names a path of a machine: {line.strip()}"


def main():
    tracked = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True)
    found = []
    for path in tracked.stdout.splitlines():
        try:
            found += complaints(path, Path(path).read_text())
        except (UnicodeDecodeError, FileNotFoundError):
            continue  # a picture; a file deleted and not yet committed
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
