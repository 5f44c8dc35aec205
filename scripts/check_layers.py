#!/usr/bin/env python3
"""Checks every #include against the layers:

include/gpujoin.h <- bindings/c <- src/execute, src/plan <- stage operators <- kernels,
with src/base under all of src. Prints what breaks them; exits 1 if anything does.
"""

import re
import subprocess
import sys
from pathlib import Path

STAGES = ["aggregate", "transfer", "transform", "match", "output", "materialize"]
API = "gpujoin.h"
PAPERS = "src/papers/papers.hpp"  # all that the stages know of what may not be built
LIMITS = "kernels/limits.hpp"  # numbers that the planner reckons with and kernels are built with

# Folder -> what of this project its files may include. The longest matching folder counts.
MAY_INCLUDE = {
    "include/": [],
    "bindings/c/": [API, "bindings/c/", "src/execute/", "src/plan/", "src/columns/", "src/base/",
                   "src/pieces/", "src/filters/"],
    # A host links the library: what it knows of it is the header.
    "bindings/duckdb/": [API, "bindings/duckdb/"],
    "bindings/spark/": [API, "bindings/spark/"],
    "bindings/postgresql/": [API, "bindings/postgresql/"],
    "src/base/": [API, LIMITS, "src/base/"],
    # Columns of bytes are described alike for host and device.
    "src/columns/": [API, "kernels/bytes_column.hpp", "src/base/", "src/columns/"],
    # Whether parts fit a block's shared memory is asked of what their kernels are built with.
    "src/plan/": [API, LIMITS, "kernels/match/place_parts.hpp", "src/base/", "src/columns/",
                  "src/plan/"],
    # What a key of several columns is joined by: below both executors' stages.
    "src/keys/": [API, "kernels/", "src/base/", "src/columns/", "src/plan/sample_rule.hpp",
                  "src/keys/"],
    # Rows in pieces, on their way to files and back, and joins of them: above both executors.
    "src/pieces/": [API, "kernels/bytes_column.hpp", "kernels/keys/derived_key.hpp",
                    "kernels/keys/load_bytes.hpp", "kernels/keys/positions.hpp",
                    "kernels/keys/value_hash.hpp",
                    "src/base/", "src/columns/", "src/cpu/bytes_layout.hpp", "src/cpu/workers.hpp",
                    "src/execute/", "src/filters/", "src/keys/", "src/plan/sample_rule.hpp",
                    "src/pieces/"],
    # What is known of a build's keys: between how rows are gathered and read, and who joins them.
    "src/filters/": [API, "kernels/bytes_column.hpp", "kernels/keys/derived_key.hpp",
                     "kernels/filters/", "kernels/tuning.hpp", "src/base/", "src/columns/",
                     "src/cpu/workers.hpp", "src/execute/", "src/filters/", "src/keys/",
                     "src/pieces/brought_rows.hpp", "src/pieces/exact_number.hpp",
                     "src/pieces/gathered_rows.hpp", "src/pieces/key_words.hpp"],
    # What a join asks besides equal keys: types and programs below both executors; the device's
    # filter beside them.
    "src/conditions/": [API, "kernels/", "src/base/", "src/columns/", "src/keys/",
                        "src/conditions/"],
    # Both executors hash several columns alike, and make columns comparable alike: headers of the
    # kernels that are read by the host's compiler.
    "src/cpu/": [API, "kernels/bytes_column.hpp", "kernels/conditions/interpret.hpp",
                 "kernels/conditions/program.hpp", "kernels/conditions/simple_comparison.hpp",
                 "kernels/keys/derived_key.hpp", "kernels/keys/load_bytes.hpp",
                 "kernels/keys/ordered_key.hpp", "kernels/keys/positions.hpp",
                 "kernels/keys/sorted_rows.hpp", "kernels/match/asof_rule.hpp",
                 "kernels/aggregate/states.hpp", "src/base/",
                 "src/columns/", "src/conditions/bound_condition.hpp", "src/plan/",
                 "src/keys/bytes_hash.hpp",
                 "src/keys/column_hash.hpp", "src/keys/encoding.hpp",
                 "src/keys/interned_side.hpp", "src/keys/ordered_key.hpp",
                 "src/keys/sorted_rows.hpp", "src/cpu/"],
    "src/execute/": [API, "src/", "kernels/keys/derived_key.hpp", "kernels/keys/ordered_key.hpp",
                     "kernels/keys/value_hash.hpp", "kernels/transform/hash_partitions.hpp",
                     "kernels/keys/positions.hpp", "kernels/match/asof_rule.hpp",
                     "kernels/aggregate/numbers.hpp", "kernels/aggregate/states.hpp"],
    # Key sampling runs before there is a plan, by the planner's rule.
    "src/sample/": [API, "kernels/", "src/base/", "src/columns/", "src/plan/", "src/sample/"],
    # Calibration runs before any plan too, and only its context is known to it.
    "src/calibrate/": [API, "kernels/", "src/base/", "src/calibrate/"],
    "kernels/": ["kernels/"],
    "tests/abi/": [API, "tests/"],
}
for stage in STAGES:
    MAY_INCLUDE[f"src/{stage}/"] = [
        API, "kernels/", "src/base/", "src/columns/", "src/keys/", "src/plan/join_plan.hpp",
        "src/output/", f"src/{stage}/", PAPERS,
    ]
# The techniques that only those get who name them, of all stages.
MAY_INCLUDE["src/papers/"] = [
    API, "kernels/", "src/base/", "src/columns/", "src/keys/", "src/plan/join_plan.hpp",
    "src/papers/",
] + [f"src/{stage}/" for stage in STAGES]
# A table of dense keys is made where a look at the keys says that they are dense, as a filter is;
# in parts, of rows that were moved to them.
MAY_INCLUDE["src/match/"] += ["src/transform/key_range.hpp", "src/transform/move_to_parts.hpp"]

# Host code that knows no CUDA header.
WITHOUT_CUDA = ["include/", "bindings/c/", LIMITS, "src/columns/", "src/plan/", "src/cpu/",
                "src/execute/built.hpp", "src/execute/stage_clock.hpp", "tests/abi/"]
CUDA_HEADER = re.compile(r"(cuda|cub/|thrust/|nv/|cooperative_groups|nvtx|driver_types|vector_types)")
# Device code takes from CUB what runs inside a block or a warp, never what launches kernels.
NOT_IN_KERNELS = re.compile(r"(thrust/|cub/(?!block/|warp/))")

# What is built with GPUJOIN_PAPERS only.
OF_PAPERS = ("kernels/papers/", "src/papers/", "tests/papers/")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def complaints(path, text):
    folder = max((f for f in MAY_INCLUDE if path.startswith(f)), key=len, default=None)
    if folder is None:
        return
    for match in INCLUDE.finditer(text):
        quote, header = match.groups()
        line = text.count("\n", 0, match.start(2)) + 1
        where = f"{path}:{line}: {header}:"
        ours = header == API or header.startswith(("src/", "kernels/", "bindings/", "tests/"))
        if ours and not any(header.startswith(allowed) for allowed in MAY_INCLUDE[folder]):
            yield f"{where} {folder} may not include it"
        elif quote == '"' and not ours:
            yield f"{where} in quotes only our own headers, by their path from the root"
        if any(path.startswith(f) for f in WITHOUT_CUDA) and CUDA_HEADER.match(header):
            yield f"{where} {folder} includes no CUDA header"
        if header.startswith(OF_PAPERS) and not path.startswith(OF_PAPERS) and header != PAPERS:
            yield f"{where} it may not be built"
        if folder == "kernels/" and NOT_IN_KERNELS.match(header):
            yield f"{where} kernels use only CUB's block and warp headers"


def main():
    tracked = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True)
    found = []
    for path in tracked.stdout.splitlines():
        if Path(path).suffix in {".h", ".hpp", ".cuh", ".c", ".cpp", ".cu"} and Path(path).exists():
            found += complaints(path, Path(path).read_text())
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
