"""How the report shows each figure and table of the papers: what is drawn, over what, from the runs
of which figure of gpujoin_bench, and which of its points are the same joins as a cell."""

from dataclasses import dataclass, field


def rate(measured):
    return measured.counter("rows_per_second") / 1e9


def milliseconds(measured):
    return measured.milliseconds


def memory(measured):
    return measured.counter("peak_memory_bytes") / 1e9


def gathered(measured):
    """Payload values a second, sorting or partitioning them included; x = columns a side."""
    values = measured.counter("output_rows") * 2 * measured.counter("x")
    return values / 1e6 / max(measured.counter("ms_materialize"), 1e-9)


def transformed(measured):
    return measured.counter("rows_per_second") / 1e9 * measured.milliseconds / max(
        measured.counter("ms_transform"), 1e-9
    )


def stage_bandwidth(stage):
    def value(measured):
        return measured.counter(f"bytes_{stage}") / 1e6 / max(measured.counter(f"ms_{stage}"), 1e-9)

    return value


@dataclass
class Figure:
    name: str  # as gpujoin_bench and docs/papers.md call it
    title: str
    kind: str  # "lines", "bars", "stages", "shares" (stages in percent), "table" (nothing drawn)
    x: str = ""
    y: str = "G tuples/s"
    value: object = rate  # of a Measured
    source: str = ""  # the figure whose runs it shows; "" = its own
    panels: list = field(default_factory=list)  # only these; [] = all
    points: list = field(default_factory=list)  # likewise
    series: list = field(default_factory=list)  # likewise
    over: str = ""  # values are ratios to this series at the same point
    log_x: bool = False
    log_y: bool = False
    note: str = ""
    script: str = ""  # that measures it; "" = gpujoin_bench --figures

    def runs(self):
        return self.source or self.name


FIGURES = [
    Figure(
        "wu/fig7", "Gathers with the cost of sorting or partitioning before them", "bars",
        x="payload columns a side", y="G values/s", value=gathered, source="wu/fig12",
        series=["SMJ-UM", "SMJ-OM", "PHJ-UM", "PHJ-OM"], points=["2", "4", "6", "8"],
        note="The stage materialize: all payload values fetched, and in *-OM all columns but the "
        "first of a side transformed too: the more columns, the closer to what the paper shows.",
    ),
    Figure(
        "wu/fig8", "CPU and GPU narrow joins, |S| = 2|R|", "lines", x="|R|", log_x=True, log_y=True,
    ),
    Figure(
        "wu/fig9", "Time breakdown of narrow joins", "stages", x="|R|", y="ms", source="wu/fig8",
        series=["cuDF (NOP)", "SMJ-OM", "PHJ-UM", "PHJ-OM", "AUTO"],
    ),
    Figure("wu/fig10", "Time breakdown of wide joins, |S| = 2|R|", "stages", x="|R|", y="ms"),
    Figure("wu/fig11", "|R|/|S|, |S| = 2^27", "lines", x="|R|/|S|", log_x=True),
    Figure("wu/fig12", "Payload columns, |R| = |S| = 2^27", "lines", x="payload columns a side"),
    Figure("wu/fig13", "Effect of different match ratios", "stages", x="match ratio", y="ms"),
    Figure("wu/fig14", "Effect of foreign key skewness", "stages", x="Zipf factor", y="ms"),
    Figure("wu/fig15", "Effect of data types", "stages", x="", y="ms"),
    Figure(
        "wu/table5", "Memory usage", "table", y="peak GB", value=memory, source="wu/fig15",
        note="The most that the execution held at one time, its result included, inputs not.",
    ),
    Figure("wu/fig16", "Sequences of joins, |F| = 2^27, |D| = 2^25 and 2^16", "lines", x="joins"),
    Figure("wu/fig17", "Joins from TPC-H and TPC-DS, by shape", "stages", y="ms"),
    Figure(
        "wu/fig17-data", "The same of generated tables: TPC-H 30, TPC-DS 100", "stages", y="ms",
        script="bench/tpc/time_joins.py",
    ),
    Figure(
        "paul/fig4", "All GPU hash joins, |R| = |S|", "lines", x="tuples of both, 2^20", log_x=True,
    ),
    Figure(
        "paul/table2", "Rate of the partitioning, in the place of its occupancy", "table",
        y="G tuples/s partitioned", value=transformed, source="paul/fig4", panels=["device"],
        points=["2M", "256M"], series=["WSH", "BSH"],
    ),
    Figure(
        "paul/fig5", "BSH and PRBC with CUDA streams disabled", "lines", x="tuples of both, 2^20",
        log_x=True,
    ),
    Figure("paul/fig6", "BSH under varying skew", "lines", x="Zipf factor"),
    Figure("paul/fig7", "BSH under varying match rate", "lines", x="match rate, %"),
    Figure(
        "rui/fig7", "New hash join over the existing one", "lines", x="table size, 2^20",
        y="speedup", source="rui/fig11", panels=["1X"], series=["existing", "page size 1"],
        over="existing", log_x=True,
    ),
    Figure(
        "rui/fig8", "GPU over CPU", "bars", y="speedup", source="rui/fig10", points=["1X"],
        over="CPU",
    ),
    Figure("rui/fig9", "Execution time breakdown", "shares", y="% of the time"),
    Figure(
        "rui/table2", "Bandwidth of the sort-merge join's stages", "table", y="GB/s, transform",
        value=stage_bandwidth("transform"), source="rui/fig9", series=["sort-merge join, new"],
        note="Bytes of global memory by the library's traffic functions over the stage's time. "
        "Occupancy, registers and shared memory are a profiler's.",
    ),
    Figure(
        "rui/table3", "Bandwidth of the hash joins' partitioning", "table", y="GB/s, transform",
        value=stage_bandwidth("transform"), source="rui/fig9",
        series=["hash join, existing", "hash join, new"],
        note="As table 2.",
    ),
    Figure(
        "rui/fig10", "Impact of join selectivity on the speedup over the CPU, 64M", "lines",
        x="output rows / |S|", y="speedup", over="CPU", log_x=True,
    ),
    Figure(
        "rui/fig11", "Direct output over two passes, by page size", "bars", x="table size",
        y="speedup", over="two passes", series=["two passes", "page size 1", "page size 2",
                                                "page size 4", "page size 8"],
    ),
    Figure(
        "rui/fig12", "A chunk for each block over a page for each thread", "lines",
        x="output rows / |S|", y="speedup", over="page for each thread", log_x=True,
    ),
    Figure("rui/fig13", "Skewed data, with and without dynamic parallelism", "lines",
           x="Zipf factor", y="ms", value=milliseconds, log_y=True),
    Figure("rui/fig14", "Large tables, R 128M", "lines", x="|S|, 2^20", log_x=True),
    Figure(
        "lin/table1", "cudaMalloc and memory pool, LineitemSupplier", "table", y="ms",
        value=milliseconds,
        note="cudaMalloc: the pool emptied before every call.",
    ),
    Figure("lin/fig13", "TPC-H joins", "lines", x="scale factor", y="ms", value=milliseconds),
    Figure(
        "lin/fig13-data", "TPC-H joins as SQL in DuckDB", "lines", x="scale factor", y="ms",
        value=milliseconds, panels=["LineitemSupplier", "LineitemOrders"],
        series=["DuckDB", "gpujoin, forced"], script="bindings/duckdb/bench_queries.py",
    ),
    Figure(
        "lin/fig13-parquet", "The same over Parquet files", "lines", x="scale factor", y="ms",
        value=milliseconds, panels=["LineitemSupplier", "LineitemOrders"],
        series=["DuckDB", "gpujoin, by the gate", "gpujoin, forced"],
        script="bindings/duckdb/bench_queries.py",
    ),
    Figure("lin/fig15", "Multi-key join", "lines", x="key columns", y="ms", value=milliseconds),
    Figure("lin/fig16", "Multi-key join, normalized decomposition", "shares", x="key columns",
           y="% of the time", source="lin/fig15"),
    Figure("lin/fig17", "Skew join, both sides Zipf", "stages", x="alpha", y="ms"),
]

# {figure: {point of its panel "device": the cell that is the same join}}, by bench/figures/ and
# bench/cells.cpp; match50 and zipf05 are of bench/results/*-unlisted-cells.json.
CELLS = {
    "wu/fig8": {"2^27": "narrow-27x28"},
    "wu/fig10": {"2^27": "wide2-27x28"},
    "wu/fig11": {"1:16": "wide2-23x27", "1:1": "wide2-27x27"},
    "wu/fig12": {"1": "narrow-27x27", "2": "wide2-27x27", "4": "wide4-27x27"},
    "wu/fig13": {
        "0.0625": "wide2-match6", "0.25": "wide2-match25", "0.5": "match50", "1": "wide2-27x27",
    },
    "wu/fig14": {
        "0": "wide2-27x27", "0.5": "zipf05", "0.75": "wide2-zipf075", "1": "wide2-zipf100",
        "1.5": "wide2-zipf150",
    },
    "wu/fig15": {
        "4B key 4B payload": "wide2-27x27", "4B key 8B payload": "wide2-4B8B",
        "8B key 8B payload": "wide2-8B8B",
    },
}
