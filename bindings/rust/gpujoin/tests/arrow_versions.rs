//! Record batches of both versions of arrow, in one program.

#![allow(missing_docs)]
#![cfg(all(feature = "arrow-59", feature = "arrow-60"))]

use std::sync::Arc;

use gpujoin::{Context, Device, Join, Kind, Relation};

macro_rules! batches {
    ($name:ident, $arrow:ident) => {
        mod $name {
            use super::*;
            use $arrow::{Array, ArrayRef, Int32Array, RecordBatch, StringArray, StringViewArray};

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
