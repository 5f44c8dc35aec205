"""Ten minutes with gpujoin in Python: the README beside it says what happens here, and what it
prints."""

import datetime

import pyarrow as pa
import pyarrow.compute as pc

import gpujoin


def tables():
    customers = pa.table({"id": [1, 2, 3], "name": ["Ada", "Bob", "Cy"], "limit": [20, 50, None]})
    orders = pa.table({
        "customer": [1, 1, 3, 9],
        "day": [datetime.date(2026, 5, day) for day in (4, 6, 6, 7)],
        "price": [9.5, 30.0, 7.25, 1.0],
    })
    return orders, customers


def one_join(orders, customers):
    result = gpujoin.join(
        orders, customers, "customer", "id", select=["name", "price"], order="left"
    )
    for row in result.to_table().to_pylist():
        print(f"{row['name']} paid {row['price']}")
    done = result.statistics  # which executor, why, and what each stage cost
    print(f"{done.left_rows} rows with {done.right_rows}: {done.output_rows}")

    # How it would be done, and what the other ways would cost; nothing is joined.
    plan = gpujoin.plan(orders, customers, "customer", "id")
    assert "candidates" in plan.explain()
    print("there would be", plan.count().rows, "rows")


def other_kinds(orders, customers):
    strangers = gpujoin.join(orders, customers, "customer", "id", how="anti")
    print("orders without a customer:", strangers.to_table()["price"].to_pylist())

    beyond = gpujoin.join(
        orders, customers, "customer", "id", where="left.price > right.limit", select=["name"]
    )
    print("beyond their limit:", beyond.to_table()["name"].to_pylist())

    per_customer = gpujoin.aggregate(
        customers,
        orders,
        "id",
        "customer",
        how="left",
        by="left",
        select=["name"],
        aggregates={"orders": ("count", "right", "price"), "paid": "sum(right.price)"},
    )
    for row in per_customer.to_table().sort_by("name").to_pylist():
        print(f"{row['name']}: {row['orders']} orders, {row['paid']}")

    rates = pa.table({
        "since": [datetime.date(2026, 5, 1), datetime.date(2026, 5, 5)],
        "rate": [1.0, 1.1],
    })
    dated = gpujoin.join(
        orders,
        rates,
        asof=gpujoin.Asof("day", right_on="since"),
        how="left",
        select=["day", "rate"],
        order="left",
    )
    print("rates of the days:", dated.to_table()["rate"].to_pylist())


def batches(customers):
    """More rows than memory holds: one side is kept, batches of the other come and go."""
    schema = pa.schema([("customer", pa.int64()), ("price", pa.float64())])

    def arriving():
        for first in range(0, 1_000_000, 50_000):
            numbers = range(first, first + 50_000)
            yield pa.record_batch([
                pa.array([number % 5 for number in numbers], pa.int64()),
                pa.array([float(number % 7) for number in numbers]),
            ], schema=schema)

    rows, paid = 0, 0.0
    with gpujoin.Context(host_limit=2 << 20) as context:
        with gpujoin.Build(customers.schema, "id", context=context) as build:
            build.append(customers)
            build.finish()
            for batch in build.probe(arriving(), "customer", select=["name", "price"]):
                rows += batch.num_rows
                paid += pc.sum(batch["price"]).as_py()
    print(f"{rows} rows of a stream, {paid:.0f} paid")


if __name__ == "__main__":
    both = tables()
    one_join(*both)
    other_kinds(*both)
    batches(both[1])
