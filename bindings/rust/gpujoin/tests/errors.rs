//! Bad input ends in an error that names it, and leaves everything as it was.

#![allow(missing_docs)]

mod tables;

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use gpujoin::{
    Algorithm, Appended, Build, Context, Device, Error, ExpectedColumn, ExpectedJoin, ExpectedSide,
    Expr, FilterOptions, Join, JoinResult, Kind, OperationOptions, PlanOptions, Promise, Relation,
    Type, left, right,
};

use tables::{cpu, table};

/// The kind of error, and what its message has to name.
macro_rules! assert_error {
    ($answer:expr, $kind:ident, $named:expr) => {
        match $answer {
            Err(Error::$kind(message)) => {
                assert!(message.contains($named), "{message}");
            }
            other => panic!("{:?}", other.map(|_| ())),
        }
    };
}

#[test]
fn columns_that_are_not_there() {
    let context = cpu();
    let (a, b) = (table(&context, "a", 0..3), table(&context, "b", 0..3));
    assert_error!(Join::inner().on("x", "b").run(&a, &b), InvalidArgument, "left key");
    assert_error!(Join::inner().on("a", "x").run(&a, &b), InvalidArgument, "\"x\"");
    assert_error!(Join::inner().on("a", 1usize).run(&a, &b), InvalidArgument, "right_keys");
    assert_error!(Join::inner().on(1usize << 40, "b").run(&a, &b), InvalidArgument, "left key");
    let join = Join::inner().on("a", "b").left_columns(["b"]);
    assert_error!(join.run(&a, &b), InvalidArgument, "left output column");
    let join = Join::inner().on("a", "b").condition(left("b").less(right("b")));
    assert_error!(join.run(&a, &b), InvalidArgument, "condition");

    let column = a_column();
    let twice = RecordBatch::try_from_iter([("a", column.clone()), ("a", column)]).unwrap();
    let twice = Relation::from_batch(&context, &twice).unwrap();
    assert_error!(Join::inner().on("a", "b").run(&twice, &b), InvalidArgument, "several columns");
}

fn a_column() -> ArrayRef {
    Arc::new(StringArray::from(vec!["x", "y", "z"]))
}

fn text(context: &Context, name: &str) -> Relation {
    let batch = RecordBatch::try_from_iter([(name, a_column())]).unwrap();
    Relation::from_batch(context, &batch).unwrap()
}

#[test]
fn types_that_do_not_compare() {
    let context = cpu();
    let (a, t) = (table(&context, "a", 0..3), text(&context, "t"));
    assert_error!(Join::inner().on("a", "t").run(&a, &t), Type, "right_keys[0]");
    let join = Join::new(Kind::Cross).condition(left("a").equal(right("t")));
    assert!(join.run(&a, &t).is_err());
    let build = Build::builder().key("t").create(&t).unwrap();
    assert!(build.append(&a).is_err());
    build.append(&t).unwrap();
    build.finish().unwrap();
    let join = Join::inner().on("a", "t").left_columns(["a"]);
    assert_error!(build.operation(&a, &join, OperationOptions::default()), Type, "key");
}

#[test]
fn joins_that_are_none() {
    let context = cpu();
    let (a, b) = (table(&context, "a", 0..3), table(&context, "b", 0..3));
    assert!(matches!(Join::inner().run(&a, &b), Err(Error::InvalidArgument(_))));
    assert!(Join::new(Kind::Cross).on("a", "b").run(&a, &b).is_err());
    let mut many = Join::inner();
    for _ in 0..17 {
        many = many.on("a", "b");
    }
    assert_error!(many.run(&a, &b), Unsupported, "key");
    let mut deep = left("a");
    for _ in 0..100_000 {
        deep = deep + 1i64;
    }
    let join = Join::inner().on("a", "b").condition(deep.equal(right("b")));
    assert_error!(join.run(&a, &b), InvalidArgument, "node");
    let other = table(&cpu(), "b", 0..3);
    assert!(matches!(Join::inner().on("a", "b").run(&a, &other), Err(Error::InvalidArgument(_))));
    let options = PlanOptions::default().algorithm(Algorithm::SmjOm);
    assert!(matches!(
        Join::inner().on("a", "b").run_with(&a, &b, &options),
        Err(Error::IllegalPlan(_))
    ));
    let options = PlanOptions::default().radix_bits(-1);
    assert!(Join::inner().on("a", "b").run_with(&a, &b, &options).is_err());
}

#[test]
fn limits_and_promises() {
    let context = cpu();
    let (a, b) = (table(&context, "a", [1, 1, 2]), table(&context, "b", [1, 2, 2]));
    let join = || Join::inner().on("a", "b");
    assert_eq!(join().row_limit(4).run(&a, &b).unwrap().rows(), 4);
    assert_error!(join().row_limit(3).run(&a, &b), RowLimit, "3");
    assert_error!(join().byte_limit(8).run(&a, &b), ByteLimit, "8");
    assert_error!(join().promised_rows(3).run(&a, &b), BrokenPromise, "3");
    assert_error!(join().promise(Promise::LeftUnique).run(&a, &b), BrokenPromise, "row 1");
    let join = Join::new(Kind::LeftSingle).on("a", "b");
    assert_error!(join.run(&a, &b), SeveralMatches, "row");
    let join = Join::inner().on("a", "b").condition((left("a") / 1i64).is_not_null());
    assert_eq!(join.run(&a, &b).unwrap().rows(), 4);
    let join = Join::inner().on("a", "b").condition(left("a").quotient(0i64).equal(1i64));
    assert!(matches!(join.run(&a, &b), Err(Error::Evaluation(_))));
}

#[test]
fn selections_of_rows_that_are_not_there() {
    let a = table(&cpu(), "a", 0..100);
    assert_error!(a.select_rows([1, 100]), InvalidArgument, "100");
    assert_error!(a.select_bits([0; 12]), InvalidArgument, "bits");
    assert_eq!(a.select_rows([]).unwrap().rows(), 0);
    assert_eq!(a.select_bits([0xff; 13]).unwrap().rows(), 100);
}

#[test]
fn contexts_that_cannot_be() {
    let folder = Context::builder().device(Device::Cpu).spill("/nowhere/at/all", 0);
    assert_error!(folder.create(), InvalidArgument, "spill");
    let nul = Context::builder().device(Device::Cpu).spill("a\0b", 0);
    assert_error!(nul.create(), InvalidArgument, "NUL");
    assert_error!(
        Context::builder().cpu_threads(u32::MAX).create(),
        InvalidArgument,
        "cpu_threads"
    );
    let file = Context::builder().device(Device::Cpu).calibration("/nowhere/at/all");
    assert_error!(file.create(), InvalidArgument, "calibration");
    // Of a GPU where there is none the device that is past the last.
    let cuda = Context::builder().device(Device::Cuda).cuda_device_id(1 << 20).create();
    assert!(matches!(cuda, Err(Error::NoDevice(_) | Error::InvalidArgument(_))), "{cuda:?}");
}

#[test]
fn calls_out_of_their_order() {
    let context = cpu();
    let keys = table(&context, "key", 0..10);
    let build = Build::builder().key("key").create(&keys).unwrap();
    assert!(matches!(build.filter(None, FilterOptions::default()), Err(Error::InvalidArgument(_))));
    let join = Join::inner().on("key", "key").left_columns(["key"]);
    assert!(build.operation(&keys, &join, OperationOptions::default()).is_err());
    build.append(&keys).unwrap();
    build.finish().unwrap();
    assert!(matches!(build.finish(), Err(Error::InvalidArgument(_))));
    assert!(matches!(build.append(&keys), Err(Error::InvalidArgument(_))));
    assert!(build.filter(Some(1), FilterOptions::default()).is_err());
    let operation = build.operation(&keys, &join, OperationOptions::default()).unwrap();
    let probe = operation.probe().unwrap();
    assert_eq!(probe.append(&keys).unwrap(), Appended::Taken);
    operation.close().unwrap();
    assert!(matches!(operation.probe(), Err(Error::InvalidArgument(_))));
    drop(probe); // before its results were taken
    assert!(matches!(operation.next_result(), Err(Error::InvalidArgument(_))));
}

#[test]
fn a_limit_below_the_least() {
    let context = Context::builder().device(Device::Cpu).memory_limit(1000).create().unwrap();
    let keys = table(&context, "key", 0..10);
    let created = Build::builder().key("key").create(&keys);
    assert!(matches!(created, Err(Error::MemoryLimit(_))), "{created:?}");
}

#[test]
fn results_without_what_is_asked_of_them() {
    let context = cpu();
    let (a, b) = (table(&context, "a", 0..10), table(&context, "b", 5..15));
    let result = Join::inner().on("a", "b").left_columns(["a"]).run(&a, &b).unwrap();
    assert!(matches!(result.left_rows(), Err(Error::InvalidArgument(_))));
    assert!(result.decide(&a).is_err());
    let pairs = Join::inner().on("a", "b").run(&a, &b).unwrap();
    let mut some = [0u32; 3];
    assert_eq!(pairs.read_left_rows(0, &mut some).unwrap(), 3);
    assert_eq!(pairs.read_left_rows(4, &mut some).unwrap(), 1);
    assert_eq!(pairs.read_right_rows(5, &mut some).unwrap(), 0);
    assert_eq!(pairs.read_right_rows(0, &mut [0i64; 0]).unwrap(), 0);
    assert!(pairs.read_left_rows(u64::MAX, &mut some).is_err());
}

#[test]
fn the_caller_decides() {
    let context = cpu();
    let (a, b) = (table(&context, "a", [1, 2, 3]), table(&context, "b", [1, 2, 2]));
    let join = Join::new(Kind::LeftAnti).on("a", "b").condition(Expr::of_caller());
    let candidates = join.left_columns(["a"]).run(&a, &b).unwrap();
    assert_eq!(candidates.rows(), 3);
    let answers = |of: &[bool]| {
        let column: ArrayRef = Arc::new(BooleanArray::from(of.to_vec()));
        let batch = RecordBatch::try_from_iter([("answer", column)]).unwrap();
        Relation::from_batch(&context, &batch).unwrap()
    };
    assert_error!(candidates.decide(&answers(&[true])), InvalidArgument, "answers");
    let left: JoinResult = candidates.decide(&answers(&[false; 3])).unwrap();
    assert_eq!(left.rows(), 3);
    assert_eq!(candidates.decide(&answers(&[true; 3])).unwrap().rows(), 1);
}

#[test]
fn estimates_of_joins_that_are_none() {
    let context = cpu();
    let side = |rows| ExpectedSide::new(rows, [ExpectedColumn::new(Type::Int64)]).keys([0]);
    let join = ExpectedJoin::new(Kind::Inner, side(1000), side(10).keys([0, 0]));
    assert_error!(context.estimate(&join), InvalidArgument, "keys");
    let join = ExpectedJoin::new(Kind::Inner, side(1000).keys([1]), side(10));
    assert!(context.estimate(&join).is_err());
    let join = ExpectedJoin::new(Kind::Inner, side(u64::MAX), side(10));
    assert_error!(context.estimate(&join), InvalidArgument, "rows");
    let join = ExpectedJoin::new(Kind::Inner, side(1000).matched_rows(10), side(10));
    let price = context.estimate(&join.row_numbers().matching_pairs(10)).unwrap();
    assert_eq!((price.output_rows, price.device), (10, Device::Cpu));
    assert!(price.cpu_milliseconds > 0.0 && !price.cpu_plan.is_empty());
}

#[test]
fn plans_explain_count_and_tell_what_they_took() {
    let context = cpu();
    let (a, b) = (table(&context, "a", 0..1000), table(&context, "b", 500..1500));
    let join = Join::inner().on("a", "b").left_columns(["a"]);
    let plan = join.plan(&a, &b, &PlanOptions::default()).unwrap();
    assert!(plan.explain().unwrap().contains("cpu"));
    let size = plan.count().unwrap();
    assert_eq!((size.rows, size.bytes), (500, 4000));
    let statistics = plan.execute().unwrap().statistics().unwrap();
    assert_eq!((statistics.left_rows, statistics.output_rows), (1000, 500));
    assert!(statistics.stages.iter().any(|stage| stage.stage == "match"));
    let before = context.info().unwrap().memory_used;
    context.trim().unwrap();
    assert!(context.info().unwrap().memory_used <= before);
}
