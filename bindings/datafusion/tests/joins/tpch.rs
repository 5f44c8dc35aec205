//! The 22 queries of TPC-H with unchanged SQL.

use crate::sessions::{answer, config, rows_of, runtime, session, set};
use crate::tpch_data::{queries, register};

/// Settings by name: what is tried is the same answer with each.
const MODES: [(&str, &[(&str, &str)]); 4] = [
    ("off", &[("enable", "false")]),
    ("on", &[]),
    ("forced", &[("force", "true")]),
    ("forced, little memory", &[("force", "true"), ("memory_limit", "64M")]),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_query_has_the_same_answer_in_each_mode() {
    let (context, rule) = session(config(), runtime());
    register(&context).await;
    let queries = queries();
    assert_eq!(queries.len(), 22);
    let (mut taken, mut left) = (0, Vec::new());
    for (number, sql) in queries {
        let started = std::time::Instant::now();
        let mut expected = Vec::new();
        for (mode, settings) in MODES {
            set(&context, "enable", "true").await;
            set(&context, "force", "false").await;
            set(&context, "memory_limit", "0").await;
            for (setting, value) in settings {
                set(&context, setting, value).await;
            }
            let found = answer(&context, &sql).await;
            let found = rows_of(&found.unwrap_or_else(|error| panic!("{number} {mode}: {error}")));
            if mode == "off" {
                assert!(!found.is_empty(), "{number}");
                expected = found;
                continue;
            }
            assert_eq!(found, expected, "{number} {mode}: {:#?}", rule.decisions());
            if mode == "forced" {
                for decision in rule.decisions() {
                    if decision.taken {
                        taken += 1;
                    } else {
                        left.push(format!("{number}: {decision:?}"));
                    }
                }
            }
        }
        println!("query {number}: {:.1} s", started.elapsed().as_secs_f64());
    }
    println!("{taken} joins taken, {} left", left.len());
    assert!(left.is_empty(), "{left:#?}");
    assert!(taken >= 50, "{taken}");
}
