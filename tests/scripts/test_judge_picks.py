"""bench/plans/judge_picks.py: picks beside measured times."""

import importlib.util
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def load():
    path = ROOT / "bench" / "plans" / "judge_picks.py"
    spec = importlib.util.spec_from_file_location("judge_picks", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plan(match, transform="none", gather="carried", build="left", pick=False, **others):
    return {
        "filter": "none",
        "transform": transform,
        "match": match,
        "gather": gather,
        "build": build,
        "ms": 1.0,
        "pick": pick,
    } | others


def test_techniques_have_the_names_of_random_cells():
    picks = load()
    assert picks.technique(plan("direct_table", build="right")) == "direct@right"
    assert picks.technique(plan("global_table", filter="key_bits")) == "nop_carried+key_bits@left"
    rows = plan("co_partitions", "radix_unordered", "carried_rows")
    assert picks.technique(rows) == "carried_rows@left"
    assert picks.technique(plan("merge_path", "merge_sort")) is None


def test_picks_are_judged_by_the_times_of_their_names():
    picks = load()
    cells = {
        "a": {"words": "", "ms": "AUTO=3.0 direct@left=2.0 nop_carried@left=1.0"},
        "b": {"words": "", "ms": "AUTO=1.0 direct@left=1.0 nop_carried@left=2.0"},
        "c": {"words": "", "ms": "AUTO=9.0 direct@left=1.0"},
        "d": {"words": "", "ms": "AUTO=9.0 nop@left=1.0"},
    }

    def made(cell, effort="counted"):
        plans = [plan("global_table"), plan("direct_table", pick=True)]
        return {"cell": cell, "effort": effort, "plans": plans}

    # Of c nobody looks at the keys; of d the pick was not measured.
    predicted = [made("b"), made("a"), made("c", "none"), made("d")]
    judged = picks.judge(cells, predicted)
    assert [one[:6] for one in judged] == [
        (2.0, "a", "direct@left", 2.0, "nop_carried@left", 1.0),
        (1.0, "b", "direct@left", 1.0, "direct@left", 1.0),
    ]
