//! Ten minutes with the crate `gpujoin`: the README beside it says what happens here, and what it
//! prints.

use std::error::Error;
use std::sync::Arc;
use std::thread;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use gpujoin::{
    Aggregate, Appended, Build, Context, FilterOptions, Function, Join, Kind, Next,
    OperationOptions, Order, PlanOptions, Relation, Side, left,
};

type Answer<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Answer<()> {
    // A GPU when there is one, else the CPU.
    let context = Context::new()?;
    let customers = customers()?;
    let orders = orders(&[(1, 9.5), (1, 20.0), (3, 7.25), (8, 1.0)])?;

    one_join(&context, &orders, &customers)?;
    other_kinds(&context, &orders, &customers)?;
    batches_of_threads(&context, &customers)
}

fn customers() -> Answer<RecordBatch> {
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let names: ArrayRef = Arc::new(StringArray::from(vec!["Ada", "Bob", "Cy"]));
    Ok(RecordBatch::try_from_iter([("id", ids), ("name", names)])?)
}

fn orders(rows: &[(i64, f64)]) -> Answer<RecordBatch> {
    let customers: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
    let prices: ArrayRef = Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| row.1)));
    Ok(RecordBatch::try_from_iter([("customer", customers), ("price", prices)])?)
}

/// Two record batches, one join, its rows.
fn one_join(context: &Context, orders: &RecordBatch, customers: &RecordBatch) -> Answer<()> {
    let orders = Relation::from_batch(context, orders)?;
    let customers = Relation::from_batch(context, customers)?;
    let join = Join::inner()
        .on("customer", "id")
        .left_columns(["price"])
        .right_columns(["name"])
        .order(Order::Left);
    let result = join.run(&orders, &customers)?;
    let batch: RecordBatch = result.to_batch()?;
    let (prices, names) =
        (batch.column(0).as_primitive::<Float64Type>(), batch.column(1).as_string::<i32>());
    for row in 0..batch.num_rows() {
        println!("{} paid {}", names.value(row), prices.value(row));
    }

    // How, and why so: techniques, candidates and what each would cost.
    let plan = join.plan(&orders, &customers, &PlanOptions::default())?;
    println!("the plan has {} rows, and its text is long: {}", plan.count()?.rows, {
        plan.explain()?.lines().count() > 5
    });
    Ok(())
}

/// Rows without a match, conditions, aggregates.
fn other_kinds(context: &Context, orders: &RecordBatch, customers: &RecordBatch) -> Answer<()> {
    let orders = Relation::from_batch(context, orders)?;
    let customers = Relation::from_batch(context, customers)?;
    let strangers = Join::new(Kind::LeftAnti).on("customer", "id").run(&orders, &customers)?;
    println!("orders without a customer: rows {:?}", strangers.left_rows()?);

    let dear = left("price").greater(8.0).and(left("price").less(15.0));
    let dear = Join::inner().on("customer", "id").condition(dear).run(&orders, &customers)?;
    println!("orders between 8 and 15: {}", dear.rows());

    let totals = Join::new(Kind::Right)
        .on("customer", "id")
        .by(Side::Right)
        .right_columns(["name"])
        .aggregate(Aggregate::of(Function::Count, Side::Left, "price"))
        .order(Order::Right)
        .run(&orders, &customers)?;
    let batch: RecordBatch = totals.to_batch()?;
    let (names, counts) =
        (batch.column(0).as_string::<i32>(), batch.column(1).as_primitive::<Int64Type>());
    for row in 0..batch.num_rows() {
        println!("{} has {} orders", names.value(row), counts.value(row));
    }
    Ok(())
}

/// As an engine does it: one side is kept, batches of the other come from several threads.
fn batches_of_threads(context: &Context, customers: &RecordBatch) -> Answer<()> {
    let customers = Relation::from_batch(context, customers)?;
    let build = Build::builder().key("id").create(&customers)?;
    build.append(&customers)?;
    build.finish()?;

    // What a scan may leave out before anything is sent anywhere.
    let scanned = Relation::from_batch(context, &orders(&[(2, 1.0), (5, 1.0), (3, 1.0)])?)?;
    let passing = build.filter(None, FilterOptions::default())?.test(&scanned, ["customer"])?;
    println!("of {} rows {} may have a match", scanned.rows(), passing.rows);

    let join = Join::inner().on("customer", "id").left_columns(["price"]);
    let operation = build.operation(&scanned, &join, OperationOptions::default())?;
    let rows: Answer<Vec<u64>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let operation = &operation;
                scope.spawn(move || -> Answer<u64> {
                    let probe = operation.probe()?;
                    let mut rows = 0;
                    for batch in 0..10 {
                        let orders = orders(&[(thread, 1.0), (batch, 2.0)])?;
                        let orders = Relation::from_batch(context, &orders)?;
                        while probe.append(&orders)? == Appended::Full {
                            for result in probe.results() {
                                rows += result?.rows();
                            }
                        }
                    }
                    probe.finish()?;
                    for result in probe.results() {
                        rows += result?.rows();
                    }
                    Ok(rows)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked")?).collect()
    });
    let mut rows: u64 = rows?.iter().sum();

    // What comes out when all rows have come: nothing here, as all was kept in memory.
    operation.close()?;
    while let Next::Ready(result) = operation.next_result()? {
        rows += result.rows();
    }
    println!("four threads joined {rows} rows");
    Ok(())
}
