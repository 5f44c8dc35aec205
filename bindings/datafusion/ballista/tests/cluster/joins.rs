//! Joins beyond an executor's memory, settings, and executors without the library.

use std::path::Path;

use datafusion::prelude::{ParquetReadOptions, SessionContext};

use crate::processes::{Cluster, refused, shuffle_both_sides, within};
use crate::sessions::{answer, rows_of, set};

const JOIN: &str = "SELECT count(*), sum(a.v), sum(b.v), min(a.t), max(b.t) \
                    FROM a JOIN b ON a.k = b.k";

/// Tables `a` and `b` of so many rows, with an answer of DataFusion's own. Rows are in no order: a
/// join that keeps one is left.
pub async fn with_tables(folder: &Path, rows: usize, sql: &str) -> Vec<String> {
    let alone = SessionContext::new();
    for (table, step) in [("a", 2), ("b", 3)] {
        let path = folder.join(table);
        let sql = format!(
            "COPY (SELECT v * {step} AS k, v, concat('{table} has a text for ', v) AS t \
             FROM (SELECT value * 7919 % {rows} AS v FROM generate_series(1, {rows}))) \
             TO '{}' STORED AS PARQUET",
            path.display()
        );
        answer(&alone, &sql).await.unwrap();
    }
    register(&alone, folder).await;
    rows_of(&answer(&alone, sql).await.unwrap())
}

pub async fn register(context: &SessionContext, folder: &Path) {
    for table in ["a", "b"] {
        let path = folder.join(table);
        let options = ParquetReadOptions::default();
        context.register_parquet(table, path.to_str().unwrap(), options).await.unwrap();
    }
}

/// 1.5 million rows of 40 bytes and more are built with, by executors of 24 MiB each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_join_larger_than_the_memory_of_an_executor_goes_to_files() {
    let cluster = Cluster::start(&["--memory-pool-size", "24MiB"]).await;
    let expected = with_tables(cluster.folder(), 1_500_000, JOIN).await;
    let context = cluster.session().await;
    register(&context, cluster.folder()).await;
    shuffle_both_sides(&context).await;

    // DataFusion's own join does not fit.
    set(&context, "enable", "false").await;
    let error = within(answer(&context, JOIN)).await.unwrap_err().to_string();
    assert!(error.contains("ResourcesExhausted"), "{error}");

    set(&context, "enable", "true").await;
    set(&context, "force", "true").await;
    let found = within(answer(&context, JOIN)).await;
    assert_eq!(rows_of(&found.unwrap()), expected);
    let has_spilled =
        |line: &str| line.contains("spilled_bytes=") && !line.contains("spilled_bytes=0.0 B");
    for executor in &cluster.executors {
        let log = executor.log();
        let mut joins = log.lines().filter(|line| line.contains("GpuJoinExec"));
        assert!(joins.any(has_spilled));
    }

    // The scheduler shows it at the hash join that it planned.
    let plan = within(answer(&context, &format!("EXPLAIN ANALYZE {JOIN}"))).await;
    let plan = rows_of(&plan.unwrap()).join("\n");
    let mut joins = plan.lines().filter(|line| line.contains("HashJoinExec"));
    assert!(joins.any(has_spilled), "{plan}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_says_what_its_executors_take() {
    let cluster = Cluster::start(&["--gpujoin", "force=true"]).await;
    let expected = with_tables(cluster.folder(), 1000, JOIN).await;
    let context = cluster.session().await;
    register(&context, cluster.folder()).await;

    // What it does not say is the executors' own.
    assert_eq!(rows_of(&within(answer(&context, JOIN)).await.unwrap()), expected);
    let (taken, left) = cluster.decisions();
    assert!(!taken.is_empty() && left.is_empty());

    set(&context, "enable", "false").await;
    assert_eq!(rows_of(&within(answer(&context, JOIN)).await.unwrap()), expected);
    assert_eq!(cluster.decisions().0.len(), taken.len());
    assert!(cluster.logs().contains("gpujoin.enable is false"));

    set(&context, "enable", "true").await;
    set(&context, "force", "false").await;
    assert_eq!(rows_of(&within(answer(&context, JOIN)).await.unwrap()), expected);
    assert_eq!(cluster.decisions().0.len(), taken.len());
    assert!(cluster.logs().contains("of HashJoinExec"));

    let error = within(answer(&context, "SET gpujoin.device = 'fpga'")).await.unwrap_err();
    assert!(error.to_string().contains("fpga"), "{error}");
    let (status, said) = refused(&["--gpujoin", "device=fpga"]).await;
    assert!(!status.success() && said.contains("fpga"), "{status}: {said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_library_joins_are_those_of_datafusion() {
    let cluster = Cluster::without_library(&["--gpujoin", "force=true"]).await;
    let expected = with_tables(cluster.folder(), 1000, JOIN).await;
    let context = cluster.session().await;
    register(&context, cluster.folder()).await;
    assert_eq!(rows_of(&within(answer(&context, JOIN)).await.unwrap()), expected);
    let (taken, left) = cluster.decisions();
    assert!(taken.is_empty() && !left.is_empty());
}
