//! Record batches of both versions of arrow, in one program.

#![allow(missing_docs)]
#![cfg(all(feature = "arrow-59", feature = "arrow-60"))]

use std::sync::Arc;

use gpujoin::{Appended, Build, Context, Device, Expr, Join, Kind, OperationOptions, Relation};

macro_rules! batches {
    ($name:ident, $arrow:ident) => {
        mod $name {
            use super::*;
            use $arrow::{Array, ArrayRef, BooleanArray, Int32Array, RecordBatch};
            use $arrow::{LargeStringArray, StringArray, StringViewArray};

            pub fn relation(context: &Context) -> Relation {
                let keys: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]));
                let names: ArrayRef =
                    Arc::new(StringViewArray::from(vec!["one", "a name of more bytes", "three"]));
                let batch = RecordBatch::try_from_iter([("key", keys), ("name", names)]).unwrap();
                // A slice: offsets of arrays are heeded.
                Relation::from_batch(context, &batch.slice(1, 2)).unwrap()
            }

            pub fn check(result: &gpujoin::JoinResult) {
                let batch: RecordBatch = result.to_batch().unwrap();
                assert_eq!(batch.num_rows(), 2);
                let names = batch.column(0).as_any().downcast_ref::<StringViewArray>().unwrap();
                let mut found: Vec<_> = names.iter().map(|name| name.unwrap()).collect();
                found.sort_unstable();
                assert_eq!(found, ["a name of more bytes", "three"]);
                assert_eq!(batch.column(1).null_count(), 1);
                assert!(batch.column(1).as_any().downcast_ref::<StringArray>().is_none());
            }

            pub fn decided_rows(build: &Build, probe: &Relation) -> u64 {
                let decide = |pairs: RecordBatch| {
                    let names = pairs.column(0).as_any().downcast_ref::<LargeStringArray>();
                    let names = names.unwrap(); // which views are to operations
                    let matches = names.iter().map(|name| name.map(|name| name.len() > 5));
                    Ok::<BooleanArray, gpujoin::Error>(matches.collect())
                };
                let no_column: [&str; 0] = [];
                let options = OperationOptions::default().decide(["name"], no_column, decide);
                let join = Join::new(Kind::Left).on("key", "key").condition(Expr::of_caller());
                let join = join.left_columns(["name"]).right_columns(["name"]);
                let operation = build.operation(probe, &join, options).unwrap();
                let probing = operation.probe().unwrap();
                assert_eq!(probing.append(probe).unwrap(), Appended::Taken);
                probing.finish().unwrap();
                probing.results().map(|result| result.unwrap().rows()).sum()
            }
        }
    };
}

batches!(of_59, arrow_array_59);
batches!(of_60, arrow_array);

#[test]
fn both_versions_are_relations_and_results() {
    let context = Context::builder().device(Device::Cpu).create().unwrap();
    let (old, new) = (of_59::relation(&context), of_60::relation(&context));
    let join =
        Join::new(Kind::Left).on("key", "key").left_columns(["name"]).right_columns(["name"]);
    for (left, right) in [(&old, &new), (&new, &old), (&old, &old)] {
        let result = join.run(left, right).unwrap();
        of_59::check(&result);
        of_60::check(&result);
    }
}

#[test]
fn functions_of_both_versions_decide() {
    let context = Context::builder().device(Device::Cpu).create().unwrap();
    let (old, new) = (of_59::relation(&context), of_60::relation(&context));
    let build = Build::builder().key("key").create(&old).unwrap();
    build.append(&old).unwrap();
    build.append(&old).unwrap();
    build.finish().unwrap();
    for probe in [&old, &new] {
        assert_eq!(of_59::decided_rows(&build, probe), 2);
        assert_eq!(of_60::decided_rows(&build, probe), 2);
    }
}
