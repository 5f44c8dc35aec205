//! Operations whose pairs a function decides, against the same joins by the library's operators.

#![allow(missing_docs)]

use std::error::Error as _;
use std::num::ParseIntError;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch};
use gpujoin::{
    Appended, Build, Context, Device, Error, Expr, Join, Kind, Next, Operation, OperationOptions,
    PlanOptions, Relation, Result, Side, left, right,
};

const KINDS: [Kind; 8] = [
    Kind::Inner,
    Kind::Left,
    Kind::Right,
    Kind::Full,
    Kind::LeftSemi,
    Kind::LeftAnti,
    Kind::RightSemi,
    Kind::RightAnti,
];

fn cpu() -> Context {
    Context::builder().device(Device::Cpu).cpu_threads(2).create().unwrap()
}

/// Keys, some of them NULL, and values, some of them NULL.
fn side(context: &Context, value: &str, rows: i64, distinct: i64) -> Relation {
    let key = |row| (row % 8 != 0).then_some(row * 7 % distinct);
    let keys: ArrayRef = Arc::new((0..rows).map(key).collect::<Int64Array>());
    let value_of = |row| (row % 11 != 0).then_some(row * 37 % 97);
    let values: ArrayRef = Arc::new((0..rows).map(value_of).collect::<Int64Array>());
    let batch = RecordBatch::try_from_iter([("key", keys), (value, values)]).unwrap();
    Relation::from_batch(context, &batch).unwrap()
}

fn build_of(side: &Relation) -> Build {
    let build = Build::builder().key("key").create(side).unwrap();
    build.append(side).unwrap();
    build.finish().unwrap();
    build
}

/// NULL where a value is, as the library's `<` has it.
fn less(pairs: &RecordBatch) -> BooleanArray {
    let (a, b) = (pairs.num_columns() - 2, pairs.num_columns() - 1);
    let a = pairs.column(a).as_primitive::<Int64Type>();
    let b = pairs.column(b).as_primitive::<Int64Type>();
    a.iter().zip(b).map(|(a, b)| Some(a? < b?)).collect()
}

/// The rows of all results of one probe and of the operation, in order.
fn rows_of(operation: &Operation, rows: &Relation) -> Result<Vec<Vec<Option<i64>>>> {
    let probe = operation.probe()?;
    let mut found = Vec::new();
    let mut take = |result: gpujoin::JoinResult| -> Result<()> {
        let batch: RecordBatch = result.to_batch()?;
        for row in 0..batch.num_rows() {
            let value = |column: &ArrayRef| {
                let column = column.as_primitive::<Int64Type>();
                column.is_valid(row).then(|| column.value(row))
            };
            found.push(batch.columns().iter().map(value).collect());
        }
        Ok(())
    };
    while probe.append(rows)? == Appended::Full {
        probe.results().try_for_each(|result| take(result?))?;
    }
    probe.finish()?;
    probe.results().try_for_each(|result| take(result?))?;
    operation.close()?;
    while let Next::Ready(result) = operation.next_result()? {
        take(result)?;
    }
    found.sort_unstable();
    Ok(found)
}

fn join_of(kind: Kind, condition: Expr) -> Join {
    let join = Join::new(kind).on("key", "key").condition(condition);
    let join = match kind {
        Kind::RightSemi | Kind::RightAnti => join,
        _ => join.left_columns(["key", "a"]),
    };
    match kind {
        Kind::LeftSemi | Kind::LeftAnti => join,
        _ => join.right_columns(["key", "b"]),
    }
}

fn expect_as_by_operators(context: &Context, kinds: &[Kind], rows: i64, distinct: i64) {
    let a = side(context, "a", rows, distinct);
    let b = side(context, "b", rows / 2, distinct);
    for &kind in kinds {
        for of_build in [Side::Left, Side::Right] {
            let (build, probe) = if of_build == Side::Left { (&a, &b) } else { (&b, &a) };
            let build = build_of(build);
            let options =
                || OperationOptions::default().plan(PlanOptions::default().build_side(of_build));
            let asked = Arc::new(AtomicU64::new(0));
            let counted = asked.clone();
            let decided = options().decide(["a"], ["b"], move |pairs: RecordBatch| {
                counted.fetch_add(pairs.num_rows() as u64, Ordering::Relaxed);
                assert!(pairs.num_rows() <= 65536);
                Ok::<_, Error>(less(&pairs))
            });
            let join = join_of(kind, Expr::of_caller());
            let decided = build.operation(probe, &join, decided).unwrap();
            let join = join_of(kind, left("a").less(right("b")));
            let compared = build.operation(probe, &join, options()).unwrap();
            let found = rows_of(&decided, probe).unwrap();
            assert_eq!(found, rows_of(&compared, probe).unwrap(), "{kind:?}, {of_build:?}");
            assert!(!found.is_empty() && asked.load(Ordering::Relaxed) > 0);
        }
    }
}

#[test]
fn it_joins_as_the_librarys_operators_do() {
    expect_as_by_operators(&cpu(), &KINDS, 3000, 500);
}

#[test]
fn more_than_memory_holds() {
    let context = Context::builder()
        .device(Device::Cpu)
        .cpu_threads(2)
        .host_limit(1 << 20)
        .spill(std::env::temp_dir(), 0)
        .create()
        .unwrap();
    expect_as_by_operators(&context, &[Kind::Left, Kind::RightAnti], 30_000, 20_000);
    assert!(context.info().unwrap().spill_peak > 0);
}

/// Its results, where the function says what it is given.
fn failed_with<E>(
    decide: impl Fn(RecordBatch) -> std::result::Result<BooleanArray, E> + Send + Sync + 'static,
) -> (Error, Error)
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let context = cpu();
    let (a, b) = (side(&context, "a", 100, 10), side(&context, "b", 100, 10));
    let build = build_of(&b);
    let join = join_of(Kind::Left, Expr::of_caller());
    let options = OperationOptions::default().decide(["a"], ["b"], decide);
    let operation = build.operation(&a, &join, options).unwrap();
    let probe = operation.probe().unwrap();
    assert_eq!(probe.append(&a).unwrap(), Appended::Taken);
    probe.finish().unwrap();
    let failed = [probe.next_result().unwrap_err(), probe.next_result().unwrap_err()];
    // The build goes on.
    let join = join_of(Kind::Left, left("a").less(right("b")));
    let other = build.operation(&a, &join, OperationOptions::default()).unwrap();
    assert!(!rows_of(&other, &a).unwrap().is_empty());
    failed.into()
}

#[test]
fn what_it_answers_comes_out() {
    let (first, later) =
        failed_with(|_| "no number".parse::<i64>().map(|_| BooleanArray::new_null(1)));
    assert!(matches!(first, Error::Decide(_)) && first == later, "{first:?}, {later:?}");
    assert!(first.source().unwrap().downcast_ref::<ParseIntError>().is_some());
    assert!(first.to_string().contains("invalid digit"), "{first}");
    assert_eq!(first.status(), 0);
    let (text, _) = failed_with(|_| Err("no such price"));
    assert!(text.message().contains("no such price"), "{text}");
}

#[test]
fn a_panic_ends_the_call_alone() {
    let (panic, later) = failed_with(|pairs| -> std::result::Result<_, Error> {
        panic!("of {} candidates, which this test expects", pairs.num_rows())
    });
    assert!(matches!(panic, Error::Decide(_)) && panic == later, "{panic:?}");
    assert!(panic.source().is_none());
    assert!(panic.message().contains("candidates, which this test expects"), "{panic}");
    let (other, _) =
        failed_with(|_| -> std::result::Result<_, Error> { std::panic::panic_any(17) });
    assert!(other.message().contains("panicked"), "{other}");
}

#[test]
fn an_answer_of_another_length() {
    let short = |pairs: RecordBatch| Ok::<_, Error>(less(&pairs).slice(1, pairs.num_rows() - 1));
    let (error, _) = failed_with(short);
    assert!(matches!(error, Error::InvalidArgument(_)), "{error:?}");
    assert!(error.message().contains("decide: "), "{error}");
}

#[test]
fn candidates_have_the_numbers_of_rows_and_what_is_named() {
    let context = cpu();
    let (a, b) = (side(&context, "a", 100, 10), side(&context, "b", 100, 10));
    let build = Build::builder().key("key").row_numbers().create(&b).unwrap();
    build.append_from(&b, 1000).unwrap();
    build.finish().unwrap();
    let seen = |left: &[&str], right: &[usize], options: OperationOptions| {
        let names = Arc::new(std::sync::Mutex::new(Vec::new()));
        let kept = names.clone();
        let left: Vec<String> = left.iter().copied().map(String::from).collect();
        let options = options.decide(left, right.to_vec(), move |pairs: RecordBatch| {
            let schema = pairs.schema();
            let names = schema.fields().iter().map(|field| field.name().clone());
            *kept.lock().unwrap() = names.collect::<Vec<_>>();
            if let Some(rows) = pairs.column_by_name("right_row") {
                let rows = rows.as_primitive::<Int64Type>();
                assert!(rows.iter().all(|row| (1000..1100).contains(&row.unwrap())));
            }
            // A slice, whose answers do not begin with a byte.
            let rows = pairs.num_rows();
            let odd = (0..rows + 3).map(|row| (row % 5 != 0).then_some(row % 2 == 1));
            Ok::<_, Error>(odd.collect::<BooleanArray>().slice(3, rows))
        });
        let join = join_of(Kind::Inner, Expr::of_caller());
        let operation = build.operation(&a, &join, options).unwrap();
        let rows = rows_of(&operation, &a).unwrap();
        assert!(!rows.is_empty());
        names.lock().unwrap().clone()
    };
    let plain = OperationOptions::default;
    assert_eq!(seen(&["a"], &[1, 0], plain()), ["right_row", "a", "b", "key"]);
    assert_eq!(seen(&[], &[], plain()), ["right_row"]);
    let names = ["left_row", "right_row", "key", "key"];
    assert_eq!(seen(&["key"], &[0], plain().row_numbers()), names);

    let without = build_of(&b);
    let none: [&str; 0] = [];
    let options = plain().decide(none, none, |pairs: RecordBatch| {
        assert_eq!(pairs.num_columns(), 0);
        Ok::<_, Error>(BooleanArray::from(vec![true; pairs.num_rows()]))
    });
    let operation =
        without.operation(&a, &join_of(Kind::Inner, Expr::of_caller()), options).unwrap();
    let all = without.operation(&a, &join_of(Kind::Inner, true.into()), plain()).unwrap();
    assert_eq!(rows_of(&operation, &a).unwrap(), rows_of(&all, &a).unwrap());
}

#[test]
fn it_is_asked_by_the_threads_that_ask() {
    let context = cpu();
    let (a, b) = (side(&context, "a", 2000, 100), side(&context, "b", 1000, 100));
    let build = build_of(&b);
    let join = join_of(Kind::LeftSemi, Expr::of_caller());
    let kept = Arc::new(());
    let held = kept.clone();
    let options = OperationOptions::default().decide(["a"], ["b"], move |pairs: RecordBatch| {
        assert!(Arc::strong_count(&held) == 2);
        assert_eq!(thread::current().name(), Some("prober"));
        Ok::<_, Error>(less(&pairs))
    });
    let operation = build.operation(&a, &join, options).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            let (probe, a) = (operation.probe().unwrap(), &a);
            let run = move || {
                assert_eq!(probe.append(a).unwrap(), Appended::Taken);
                probe.finish().unwrap();
                let rows: u64 = probe.results().map(|result| result.unwrap().rows()).sum();
                assert!(rows > 0);
            };
            thread::Builder::new().name("prober".into()).spawn_scoped(scope, run).unwrap();
        }
    });
    // As long as a probe is there, and no longer.
    let probe = operation.probe().unwrap();
    drop(operation);
    assert_eq!(Arc::strong_count(&kept), 2);
    drop(probe);
    assert_eq!(Arc::strong_count(&kept), 1);
}

#[test]
fn what_cannot_be_is_refused() {
    let context = cpu();
    let (a, b) = (side(&context, "a", 10, 5), side(&context, "b", 10, 5));
    let build = build_of(&b);
    let join = join_of(Kind::Inner, Expr::of_caller());
    let yes = |pairs: RecordBatch| Ok::<_, Error>(less(&pairs));
    let refused = |join: &Join, options, named: &str| {
        let error = build.operation(&a, join, options).unwrap_err();
        assert!(error.message().contains(named), "{error}");
        error
    };
    let plain = OperationOptions::default;
    refused(&join, plain(), "options.decide");
    refused(&join, plain().decide(["x"], ["b"], yes), "shown of the left side");
    refused(&join, plain().decide(["a"], ["x"], yes), "shown of the right side");
    refused(&join, plain().decide(["a"], [2usize], yes), "options.decide_right_columns[0]");
    let by_operators = join_of(Kind::Inner, left("a").less(right("b")));
    refused(&by_operators, plain().decide(["a"], ["b"], yes), "options.decide");
    let mark = Join::new(Kind::LeftMark).on("key", "key").condition(Expr::of_caller());
    let error = refused(&mark.left_columns(["a"]), plain().decide(["a"], ["b"], yes), "residual");
    assert!(matches!(error, Error::Unsupported(_)), "{error:?}");
}
