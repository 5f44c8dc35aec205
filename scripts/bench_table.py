#!/usr/bin/env python3
"""Prints Markdown tables of what gpujoin_bench measured, beside bench/peers.json.

    scripts/bench_table.py [--strict] FILE.json...

Of several files, the later one counts where two measured the same. --strict: exit status 1 when a
plan is slower than its twin, AUTO misses the best plan, or a benchmark failed.
"""

import argparse
import json
import pathlib
import sys

PEERS_FILE = pathlib.Path(__file__).resolve().parent.parent / "bench" / "peers.json"
# In the order they run.
STAGES = ["transfer", "filter", "transform", "match", "materialize", "fetch_key", "fetch"]
AUTO_MARGIN = 1.10  # AUTO may take so much longer than the best plan
NOISE = 1.02  # times of one program on the H200 move by 2 %


class Measured:
    """One benchmark: milliseconds is None when it has no time, error then says why."""

    def __init__(self, entry):
        self.error = entry.get("error_message") if entry.get("error_occurred") else None
        self.milliseconds = None if self.error else entry["real_time"]
        self.plan_text = entry.get("label", "")
        self.counters = entry

    def counter(self, name):
        return self.counters.get(name, 0)

    def stages(self):
        """(name, milliseconds) of each stage, unknown ones last."""
        times = {
            name.removeprefix("ms_"): value
            for name, value in self.counters.items()
            if name.startswith("ms_")
        }
        known = [name for name in STAGES if name in times]
        return [(name, times[name]) for name in [*known, *sorted(times.keys() - set(known))]]


def read_runs(files):
    """({cell: {plan: Measured}}, in the order measured, and the context of each file)."""
    cells, contexts = {}, []
    for file in files:
        run = json.loads(pathlib.Path(file).read_text())
        contexts.append(run["context"])
        for entry in run["benchmarks"]:
            parts = entry["name"].split("/")  # cell/<cell>/<plan>/iterations:1/manual_time
            if parts[0] == "cell" and entry.get("run_type", "iteration") == "iteration":
                cells.setdefault(parts[1], {})[parts[2]] = Measured(entry)
    return cells, contexts


def read_peers(contexts):
    """Figures of the peers, none when the sizes are not those of the peers' tables."""
    peers = json.loads(PEERS_FILE.read_text())
    if any(context.get("scale_log2", "0") != "0" for context in contexts):
        peers["cells"] = {}
    return peers


def best_peer(peers, cell, with_promise):
    """(milliseconds, name) of the fastest peer, or None."""
    facts = peers["implementations"]
    return min(
        (
            (milliseconds, name)
            for name, milliseconds in peers["cells"].get(cell, {}).items()
            if not facts[name].get("computed") and (with_promise or not facts[name].get("promise"))
        ),
        default=None,
    )


def time_text(milliseconds):
    digits = 1 if milliseconds >= 100 else 2 if milliseconds >= 1 else 4
    return f"{milliseconds:.{digits}f}"


def measured_text(measured):
    if measured is None:
        return ""
    if measured.error is None:
        return time_text(measured.milliseconds)
    if "WRONG" in measured.error:
        return "**wrong**"
    return "refused" if is_refusal(measured) else "failed"


def is_refusal(measured):
    return any(name in measured.error for name in ("ERROR_UNSUPPORTED", "ERROR_ILLEGAL_PLAN"))


def peer_texts(peer, ours):
    """The peer's figure, and how many times as fast as it AUTO is."""
    if peer is None:
        return "", ""
    milliseconds, name = peer
    ratio = f"{milliseconds / ours.milliseconds:.2f}" if ours and ours.milliseconds else ""
    return f"{time_text(milliseconds)} ({name})", ratio


def print_table(header, rows):
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def print_contexts(contexts):
    for context in contexts:
        print(
            f"{context.get('device', '?')}, commit {context.get('commit', '?')[:12]}, "
            f"{context.get('date', '?')}, copy {float(context.get('copy_GBps', 0)):.0f} GB/s, "
            f"scale 2^{context.get('scale_log2', '0')}, "
            f"L2 flushed: {context.get('l2_flushed', '?')}"
        )
        print()


def print_times(cells, peers):
    plans = list(dict.fromkeys(plan for of_cell in cells.values() for plan in of_cell))
    print("Milliseconds, median of the calls. The last columns: the fastest peer that is promised")
    print("nothing about the keys, and of all; then how many times as fast AUTO is.")
    print()
    rows = []
    for cell, of_cell in cells.items():
        auto = of_cell.get("AUTO")
        times = [measured_text(of_cell.get(plan)) for plan in plans]
        plain = peer_texts(best_peer(peers, cell, False), auto)
        promised = peer_texts(best_peer(peers, cell, True), auto)
        rows.append([cell, *times, *plain, *promised])
    print_table(["cell", *plans, "peer", "ratio", "peer, promises", "ratio"], rows)


def print_details(cells):
    print("How the plan that AUTO chose, or the only one measured, spends its time.")
    print()
    rows = []
    for cell, of_cell in cells.items():
        measured = of_cell.get("AUTO") or next(iter(of_cell.values()))
        if measured.error is not None:
            continue
        stages = ", ".join(f"{name} {time_text(ms)}" for name, ms in measured.stages())
        rows.append(
            [
                cell,
                measured.plan_text.replace("|", "\\|"),
                time_text(measured.milliseconds),
                stages,
                f"{measured.counter('rows_per_second') / 1e9:.2f}",
                f"{measured.counter('bytes_predicted') / 1e9:.3g}",
                f"{measured.counter('achieved_GBps'):.0f}",
                f"{100 * measured.counter('share_of_copy'):.0f} %",
                f"{measured.counter('peak_memory_bytes') / 1e9:.3g}",
                f"{measured.counter('output_rows'):.0f}",
                time_text(measured.counter("first_call_ms")),
            ]
        )
    header = ["cell", "plan", "ms", "stages, ms", "G rows/s", "GB predicted", "GB/s", "of copy"]
    print_table([*header, "peak GB", "output rows", "first call, ms"], rows)


def find_flags(cells, peers):
    """A line for each figure that is not as good as it should be."""
    flags = []
    for cell, of_cell in cells.items():
        for plan, measured in of_cell.items():
            if measured.error is not None:
                flags.append(f"{cell}/{plan}: {measured.error}")
                continue
            for name, facts in peers["implementations"].items():
                twin = peers["cells"].get(cell, {}).get(name)
                if twin and facts.get("twin_of") == plan and measured.milliseconds > NOISE * twin:
                    flags.append(
                        f"{cell}/{plan}: {time_text(measured.milliseconds)} ms, slower than "
                        f"its twin {name}, {time_text(twin)} ms"
                    )
        times = {plan: m.milliseconds for plan, m in of_cell.items() if m.milliseconds}
        if "AUTO" not in times:
            continue
        best = min(times, key=times.get)
        if times["AUTO"] > AUTO_MARGIN * times[best]:
            flags.append(
                f"{cell}/AUTO: {time_text(times['AUTO'])} ms, "
                f"{times['AUTO'] / times[best] - 1:.0%} over {best}, {time_text(times[best])} ms"
            )
        peer = best_peer(peers, cell, True)
        if peer and times["AUTO"] > NOISE * peer[0]:
            flags.append(
                f"{cell}/AUTO: {time_text(times['AUTO'])} ms, slower than {peer[1]}, "
                f"{time_text(peer[0])} ms"
            )
    return flags


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", metavar="FILE.json")
    parser.add_argument("--strict", action="store_true")
    arguments = parser.parse_args()

    cells, contexts = read_runs(arguments.files)
    if not cells:
        sys.exit("bench_table.py: no cell was measured in these files")
    peers = read_peers(contexts)
    print_contexts(contexts)
    print_times(cells, peers)
    print_details(cells)
    flags = find_flags(cells, peers)
    print("To be looked at:\n" if flags else "Nothing is slower than it should be.")
    for flag in flags:
        print(f"- {flag}")
    if flags and arguments.strict:
        sys.exit(1)


if __name__ == "__main__":
    main()
