//! The 22 queries of TPC-H with unchanged SQL.

use datafusion::prelude::SessionContext;

use crate::processes::{Cluster, shuffle_both_sides, within};
use crate::sessions::{answer, rows_of};
use crate::tpch_data::{queries, register};

/// Small sides go to each task whole, or rows of both sides go where their keys belong.
const MODES: [(&str, bool); 2] = [("CollectLeft", true), ("Partitioned", false)];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_query_has_the_answer_of_datafusion() {
    let alone = SessionContext::new();
    register(&alone).await;
    let cluster = Cluster::start(&["--gpujoin", "force=true"]).await;
    for (mode, broadcasts) in MODES {
        let context = cluster.plain_session().await;
        register(&context).await;
        if !broadcasts {
            shuffle_both_sides(&context).await;
        }
        let before = cluster.decisions().0.len();
        for (number, sql) in queries() {
            let started = std::time::Instant::now();
            let expected = rows_of(&answer(&alone, &sql).await.unwrap());
            let found = within(answer(&context, &sql)).await;
            let found = rows_of(&found.unwrap_or_else(|error| panic!("{number} {mode}: {error}")));
            assert!(!expected.is_empty() && found == expected, "{number} {mode}: {found:#?}");
            println!("query {number}, {mode}: {:.1} s", started.elapsed().as_secs_f64());
        }
        let (taken, left) = cluster.decisions();
        let of_mode = taken[before..].iter().filter(|line| line.contains(mode)).count();
        println!("{} joins of tasks taken, {of_mode} of {mode}", taken.len() - before);
        let ordered = |line: &&String| line.contains("the order of its rows is relied on");
        let left: Vec<_> = left.iter().filter(|line| !ordered(line)).collect();
        assert!(left.is_empty(), "{left:#?}");
        assert!(of_mode >= 50, "{of_mode}");
    }
    // Each executor ran them, as its plans show that have ended.
    for executor in &cluster.executors {
        let log = executor.log();
        let ran =
            |line: &&str| line.contains("GpuJoinExec") && line.contains("executor=CPU, plan=");
        assert!(log.lines().filter(ran).count() >= 50);
        assert!(!log.contains("left to HashJoinExec"));
    }
}
