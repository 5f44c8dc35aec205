"""How a case is executed, and drawing that: what may not change the answer."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from . import promises
from .batches import Batches
from .bounds import Bounds, draw_bounds
from .case import Case, Table

# Fields of gpujoin_plan_options of which the CPU's plans are made.
_CPU_FIELDS = {
    "device": (0, 2),
    "algorithm": (0, 6),
    "transform": (0, 2),
    "match": (0, 2),
    "gather": (0, 1),
    "transfer": (0, 1),
    "skew": (0, 2),
    "output": (0, 1),
    "filter": (0, 1),
    "radix_bits": (0, 1, 2, 3, 4, 5, 6, 8),
}
# Numbers of every technique there is, section 10 of gpujoin.h included.
_ALL_FIELDS = {
    "device": (0, 1, 2),
    "algorithm": range(13),
    "transform": range(10),
    "match": range(10),
    "gather": range(5),
    "transfer": range(8),
    "skew": range(5),
    "output": range(7),
    "filter": range(4),
    "radix_bits": range(17),
    "passes": range(3),
    "page_pairs": (0, 1, 7, 64, 1000, 1 << 20),
    "probe_chunk_rows": (0, 1, 10, 1000),
}
_CARRIED = 9
_PARTITIONED = (2, 3, 7, _CARRIED)
_TABLES = (10, 11)  # that write columns, of probe chunks, too
_TILES = 12  # of sides in order
_OF_UNIQUE_KEYS = (1, *_TABLES)  # which do something else where build keys repeat
_CUDA_ALGORITHMS = (1, 2, 3, 4, 5, 7, 8, *_TABLES, _TILES, *(3 * (_CARRIED,)))
# Of one key: those that write columns have most kernels, and most of them are of one key.
_LONE_KEY_ALGORITHMS = (
    *(4 * (1,)), 2, 3, 4, 5, 7, 8, *(7 * _TABLES), 11, *(7 * (_TILES,)), *(20 * (_CARRIED,)),
)
_RADIX_BITS = (1, 2, 3, 5, 8, 9, 11, 16)
# From 15 on keys of 4 bytes are joined by rank, which large joins are; of one bit partitions are
# large, too.
_CARRIED_RADIX_BITS = (*(7 * (1,)), 2, 3, 5, 8, 9, 11, *(5 * (15,)), *(7 * (16,)))
_MOST_BITS_OF_PASS = 11
# Transforms that partition, sort, and leave rows where they are, with their matches and outputs.
_CUDA_FAMILIES = (
    ((2, 4, 5, 6, 7, 9), (2, 4), (0, 1, 3, 4, 5, 6)),
    ((3, 8), (3, 5, 6), (0, 2)),
    ((1,), (1, 7, 8, 9), (0, 1, 4, 5)),
)
# Of more rows pages and chunks are larger: each is a call or a launch.
_FEW_ROWS = 2500
# Of a case of this many rows a join is not let take the machine: with so much it has to do.
_LARGE_ROWS = 20_000
_MOST_CHUNKS = 200  # of a probe side: each takes several launches
ENOUGH_BYTES = 1 << 31
_LIMITS = (1 << 12, 1 << 15, 1 << 17, 1 << 19, 1 << 21, 1 << 24)


_PICKS = ("bitmap", "rows", "rows of bitmap", "bitmap of rows")


@dataclass(frozen=True)
class Picks:
    """form    one of _PICKS
    others  rows that are not picked, for each that is; they are copies of those that are
    seed    of where they lie, of the first bit, of the order and the type of row numbers
    """

    form: str
    others: float = 1.0
    seed: int = 1

    def __str__(self) -> str:
        return f" {self.form} 1:{self.others}({self.seed})"


@dataclass(frozen=True)
class Encoding:
    """form   "plain" (gpujoin_relation_create), "arrow" or "arrow_device" (imports)
           where a column is none that plain columns can be, "plain" is as "arrow"
    seed   of offsets, of validity that is not needed, of columns beside; 0 = none of these
    wraps  whether columns of Arrow may come as dictionaries and runs; not without a seed
    picks  the table is a selection of a larger one; None = it is all of one
    """

    form: str = "plain"
    seed: int = 0
    wraps: bool = False
    picks: Picks | None = None

    def __str__(self) -> str:
        return f"{self.form}({self.seed}{', wraps' * self.wraps}){self.picks or ''}"


@dataclass(frozen=True)
class Reading:
    """form     "fetch", "export" or "export_device"
    pages    about so many by max_rows; 0 = the whole result in one call
    bytes    max_bytes of a page, 0 = no limit
    uint32   row numbers as UINT32, not INT64
    bare     no validity for columns that cannot have a NULL
    late     a whole export is read after the result is gone
    roomy    text is fetched at once into enough memory, not measured first
    numbers  rows have numbers that they were given
    """

    form: str = "fetch"
    pages: int = 0
    bytes: int = 0
    uint32: bool = False
    bare: bool = False
    late: bool = False
    roomy: bool = False
    numbers: bool = False

    def __str__(self) -> str:
        parts = [f"{name}={value}" for name, value in vars(self).items() if name != "form"]
        return " ".join([self.form, *parts])


@dataclass(frozen=True)
class Way:
    """options      fields of gpujoin_plan_options; none = NULL
    planned      plan_create and plan_execute, not gpujoin_join
    executions   of a plan
    spec_output  whether gpujoin_join_spec.output is named where it may be 0
    bounds       order and limits
    promises     GPUJOIN_PROMISE_*, kept or not
    spare_rows   of a promise of rows: so many more than there are
    batches      by a build and probes, not in one call
    """

    device: str
    options: dict[str, int] = field(default_factory=dict)
    encodings: dict[str, Encoding] = field(
        default_factory=lambda: {"left": Encoding(), "right": Encoding()}
    )
    reading: Reading = Reading()
    threads: int = 1
    limit_bytes: int = 0
    planned: bool = False
    executions: int = 1
    spec_output: bool = True
    bounds: Bounds = Bounds()
    promises: int = 0
    spare_rows: int = 0
    batches: Batches | None = None

    @property
    def names_techniques(self) -> bool:
        """Whether it may be answered with ILLEGAL_PLAN."""
        return any(value for name, value in self.options.items() if name != "build_side")

    def __str__(self) -> str:
        options = " ".join(f"{name}={value}" for name, value in self.options.items()) or "automatic"
        encodings = " ".join(f"{s}={e}" for s, e in self.encodings.items())
        call = f"{self.executions} executions" if self.planned else "gpujoin_join"
        call = str(self.batches) if self.batches else call
        return (
            f"{self.device} threads={self.threads} limit={self.limit_bytes}; {options}; "
            f"{encodings}; {call}; {self.reading}; {self.bounds}; "
            f"promises={self.promises}+{self.spare_rows}"
        )


def draw_way(rng: random.Random, case: Case, device: str) -> Way:
    planned = rng.random() < 0.5
    rows = max(table.rows for table in case.tables.values())
    is_large = rows > _LARGE_ROWS
    most_bytes = ENOUGH_BYTES if is_large else 0
    return Way(
        device=device,
        options=_draw_options(rng, device, case),
        encodings={side: _draw_encoding(rng, case.tables[side]) for side in ("left", "right")},
        reading=_draw_reading(rng, rows > _FEW_ROWS),
        threads=rng.choice((1, 1, 2, 3)),
        limit_bytes=rng.choice(_LIMITS) if rng.random() < 0.1 else most_bytes,
        planned=planned,
        executions=rng.choice((1, 1, 1, 2)) if planned else 1,
        spec_output=rng.random() < 0.8,
        bounds=draw_bounds(rng),
        promises=_draw_some_promises(rng, case),
        spare_rows=rng.choice((0, 0, 3, -1)),
    )


def _draw_some_promises(rng: random.Random, case: Case) -> int:
    if case.is_type_error or rng.random() < 0.8:
        return 0
    return draw_promises(rng, case)


def draw_promises(rng: random.Random, case: Case) -> int:
    """Those that are kept more often than those that are not; at times none."""
    drawn = promises.ROWS * (rng.random() < 0.3)
    for side in ("left", "right"):
        if case.keys[side] and (promises.are_unique(case, side) or rng.random() < 0.15):
            drawn |= promises.UNIQUE[side]
        if not promises.can_be_sorted(case, side):
            continue
        if promises.are_sorted(case, side) or rng.random() < 0.1:
            drawn |= promises.SORTED[side]
    return drawn


def _draw_encoding(rng: random.Random, table: Table) -> Encoding:
    """Columns of fixed width come as dictionaries and runs less often."""
    form = rng.choice(("plain", "plain", "arrow", "arrow", "arrow_device"))
    seed = rng.choice((0, rng.randint(1, 1 << 30), rng.randint(1, 1 << 30)))
    is_fixed = all(column.type.layout == "values" for column in table.columns)
    wraps = bool(seed) and rng.random() < (0.2 if is_fixed else 0.6)
    picks = None if rng.random() > 0.3 else draw_picks(rng, table.rows)
    return Encoding(form, seed, wraps, picks)


def draw_picks(rng: random.Random, rows: int) -> Picks:
    others = rng.choice((0, 0.02, 0.1, 0.3, 1) if rows > 20_000 else (0, 0.02, 0.1, 0.3, 1, 1, 5))
    return Picks(rng.choice((*_PICKS, "bitmap", "rows")), others, rng.randint(1, 1 << 30))


def _draw_reading(rng: random.Random, is_long: bool) -> Reading:
    most_bytes = (30_000, 1_000_000) if is_long else (100, 1000, 30_000)
    return Reading(
        form=rng.choice(("fetch", "fetch", "export", "export_device")),
        pages=rng.choice((0, 0, 0, 1, 2, 5)),
        bytes=rng.choice(most_bytes) if rng.random() < 0.15 else 0,
        uint32=rng.random() < 0.5,
        bare=rng.random() < 0.2,
        late=rng.random() < 0.5,
        roomy=rng.random() < 0.5,
    )


def _draw_options(rng: random.Random, device: str, case: Case) -> dict[str, int]:
    if rng.random() < 0.2:
        return {}
    options = {}
    if rng.random() < 0.6:
        options["build_side"] = rng.choice((1, 2))
    if (case.kind.rule == "cross" or case.asof is not None) and rng.random() < 0.9:  # for which no technique can be named
        return options
    if rng.random() < 0.04:  # anything; most of it does not go together
        names = rng.sample(sorted(_ALL_FIELDS), rng.randint(1, 4))
        options.update({name: rng.choice(_ALL_FIELDS[name]) for name in names})
    elif device == "cpu" or rng.random() < 0.05:
        if device != "cpu":
            options["device"] = 2
        names = rng.sample(sorted(_CPU_FIELDS), rng.randint(0, 3))
        options.update({name: rng.choice(_CPU_FIELDS[name]) for name in names if name != "device"})
        if rng.random() < 0.2:
            options.update(radix_bits=rng.choice((1, 1, 1, 2, 2, 3)))
        elif rng.random() < 0.02:
            options.update(radix_bits=rng.choice((11, 14)))
    else:
        rows = {side: table.rows for side, table in case.tables.items()}
        options.update(_draw_cuda_options(rng, rows, len(case.keys["left"]) == 1))
        if options.get("algorithm") in _OF_UNIQUE_KEYS and rng.random() < 0.7:
            sides = [n for n, side in enumerate(case.tables, 1) if _has_unique_key(case, side)]
            if sides:
                options["build_side"] = rng.choice(sides)
    return {name: value for name, value in options.items() if value}


def _has_unique_key(case: Case, side: str) -> bool:
    """Whether the first key's values are, whatever lies under NULLs."""
    keys = [column.values.tolist() for column in case.key_columns(side)[:1]]
    return all(len(set(values)) == len(values) for values in keys)


def _draw_cuda_options(
    rng: random.Random, rows: dict[str, int], has_lone_key: bool
) -> dict[str, int]:
    options = {}
    is_long = max(rows.values()) > _FEW_ROWS
    if rng.random() < (0.8 if has_lone_key else 0.5):
        options["algorithm"] = rng.choice(
            _LONE_KEY_ALGORITHMS if has_lone_key else _CUDA_ALGORITHMS
        )
        partitioned = options["algorithm"] in _PARTITIONED
    else:
        transforms, matches, outputs = rng.choice(_CUDA_FAMILIES)
        partitioned = 2 in transforms
        options["transform"] = rng.choice(transforms)
        if rng.random() < 0.7:
            options["match"] = rng.choice(matches)
        if rng.random() < 0.5:
            options["output"] = rng.choice(outputs)
        if rng.random() < 0.5:
            options["gather"] = rng.choice((1, 1, 2, 3, 4))
        if rng.random() < 0.1:
            options["filter"] = rng.choice((1, 2, 3))
    is_carried = options.get("algorithm") == _CARRIED
    if partitioned and rng.random() < (0.85 if is_carried else 0.5):
        bits = rng.choice(_CARRIED_RADIX_BITS if is_carried else _RADIX_BITS)
        options["radix_bits"] = bits
        one_pass = 1 if bits <= _MOST_BITS_OF_PASS or rng.random() < 0.1 else 0
        options["passes"] = rng.choice((0, 0, one_pass, 2))
    if options.get("output") in (3, 4) and rng.random() < 0.5:
        options["page_pairs"] = rng.choice((1000, 5000) if is_long else (1, 7, 64, 1000))
    is_table = options.get("algorithm") in _TABLES
    if rng.random() < (0.75 if is_table else 0.3):  # few rows are one launch, but for chunks
        options["transfer"] = 7 if is_table else rng.choice((2, 3, 7))
        if options["transfer"] == 7:
            options["probe_chunk_rows"] = _draw_chunk_rows(rng, rows)
    return options


def _draw_chunk_rows(rng: random.Random, rows: dict[str, int]) -> int:
    """Some chunks of one of the sides, or chunks of few rows; not very many chunks."""
    fewest = max(rows.values()) // _MOST_CHUNKS
    if rng.random() < 0.2:
        return max(fewest, rng.choice((1, 10, 100)))
    of_side = rows[rng.choice(list(rows))]
    chunks = rng.choice((0, 2, 3, 5, 9))
    return max(fewest, of_side // chunks + 1) if chunks else 0
