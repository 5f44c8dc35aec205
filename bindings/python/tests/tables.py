"""Small tables, and a join in plain Python to hold results against."""

import random
from collections import Counter, defaultdict

import pyarrow as pa


def rows(table):
    """The rows of a table, batch or result as a multiset of tuples: their order means nothing."""
    if not isinstance(table, (pa.Table, pa.RecordBatch)):
        table = table.to_table()
    return Counter(zip(*(column.to_pylist() for column in table.columns)))


def reference_join(left, right, left_on, right_on, select):
    """The rows that join() must give; `select` has (side, column name) pairs, left_on and right_on
    are a name each or as many."""
    sides = {"left": left.to_pylist(), "right": right.to_pylist()}

    def key(row, names):
        return tuple(row[name] for name in ([names] if isinstance(names, str) else names))

    found = defaultdict(list)
    for row in sides["right"]:
        if None not in key(row, right_on):
            found[key(row, right_on)].append(row)
    output = Counter()
    for row in sides["left"]:
        for match in found.get(key(row, left_on), []):
            pair = {"left": row, "right": match}
            output[tuple(pair[side][name] for side, name in select)] += 1
    return output


def customers_and_orders(customers=500, orders=3000, seed=7):
    """Two tables with NULLs in keys and payloads, text, and a name, `note`, that both have."""
    pick = random.Random(seed)

    def sometimes(value):
        return None if pick.random() < 0.1 else value

    left = pa.table(
        {
            "id": pa.array([sometimes(i) for i in range(customers)], pa.int64()),
            "city": pa.array([sometimes(f"city {i % 17}") for i in range(customers)]),
            "rank": pa.array([pick.randrange(100) for _ in range(customers)], pa.int16()),
            "note": pa.array([sometimes(i * 0.5) for i in range(customers)], pa.float64()),
        }
    )
    right = pa.table(
        {
            "order": pa.array(range(orders), pa.uint32()),
            "customer": pa.array(
                [sometimes(pick.randrange(2 * customers)) for _ in range(orders)], pa.int64()
            ),
            "note": pa.array([sometimes(f"note {i}") for i in range(orders)]),
            "day": pa.array([sometimes(i % 365) for i in range(orders)], pa.date32()),
        }
    )
    return left, right


def keys(count, type=None):
    """A table with a unique key k and a payload v."""
    return pa.table({"k": pa.array(range(count), type or pa.int64()), "v": pa.array(range(count))})


def line_items(rows=2000, seed=1):
    """A table whose rows are told apart by several columns, each with NULLs, and text."""
    pick = random.Random(seed)

    def numbers(most, kind):
        values = [None if pick.random() < 0.1 else pick.randrange(most) for _ in range(rows)]
        return pa.array(values, kind)

    return pa.table(
        {
            "order": numbers(150, pa.int64()),
            "line": numbers(7, pa.int32()),
            "day": numbers(5, pa.int32()).cast(pa.date32()),
            "what": pa.array([f"item {i}" for i in range(rows)]),
        }
    )


def _is_equal(keys, others):
    """Keys compared as SQL does: True, False, or None where a NULL leaves it open."""
    unknown = False
    for key, other in zip(keys, others):
        if key is None or other is None:
            unknown = True
        elif key != other:
            return False
    return None if unknown else True


def _rows_of_left(left, right, kind):
    """(left row, right row or None, mark) of a kind that is called by the side "left"."""
    for i, keys in enumerate(left):
        answers = [_is_equal(keys, others) for others in right]
        matches = [j for j, answer in enumerate(answers) if answer]
        mark = True if matches else None if None in answers else False
        if kind in ("left", "single"):
            if kind == "single" and len(matches) > 1:
                raise LookupError(i)
            yield from ((i, j, None) for j in matches or [None])
            continue
        comes_out = {"semi": matches, "anti": not matches, "not_in": mark is False, "mark": True}
        if comes_out[kind]:
            yield i, None, mark


def reference_kind(left, right, left_on, right_on, kind):
    """(left row or None, right row or None, mark) of every output row, by nested loops.

    Errors: LookupError, of a single join with a row that has several matches.
    """
    left_keys = list(zip(*(left[name].to_pylist() for name in left_on)))
    right_keys = list(zip(*(right[name].to_pylist() for name in right_on)))
    if kind == "cross":
        return [(i, j, None) for i in range(left.num_rows) for j in range(right.num_rows)]
    of_left = list(_rows_of_left(left_keys, right_keys, "left"))
    if kind in ("inner", "full"):
        pairs = [row for row in of_left if row[1] is not None or kind == "full"]
        matched = {row[1] for row in of_left}
        alone = [j for j in range(len(right_keys)) if kind == "full" and j not in matched]
        return pairs + [(None, j, None) for j in alone]
    side, _, rest = kind.partition("_")
    if side == "left":
        return list(_rows_of_left(left_keys, right_keys, rest or "left"))
    changed_over = _rows_of_left(right_keys, left_keys, rest or "left")
    return [(other, row, mark) for row, other, mark in changed_over]
