//! An executor that is killed while it joins.

use crate::joins::{register, with_tables};
use crate::processes::{Cluster, shuffle_both_sides, wait_for, within};
use crate::sessions::{answer, rows_of};

/// 80 rows of each side have a key: 3.2 million pairs.
const LONG: &str = "SELECT count(*), sum(a.v * b.v % 7), max(concat(a.t, b.t)) \
                    FROM a JOIN b ON a.k % 500 = b.k % 500";

/// Ballista 55 recovers with its static planner, which sorts what it need not hash, where executors
/// ask for tasks. Else the query did not always end, with the library and without.
const SETTINGS: [(&str, &str); 3] = [
    ("ballista.planner.adaptive.enabled", "false"),
    ("datafusion.optimizer.prefer_hash_join", "true"),
    // Rows of the one that is gone are asked for again, three times.
    ("ballista.client.io_retry_wait_time_ms", "100"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_outlives_an_executor_that_is_killed() {
    let mut cluster = Cluster::pulling(&["--gpujoin", "force=true"]).await;
    let expected = with_tables(cluster.folder(), 40_000, LONG).await;
    let context = cluster.session().await;
    register(&context, cluster.folder()).await;
    shuffle_both_sides(&context).await;
    for (setting, value) in SETTINGS {
        answer(&context, &format!("SET {setting} = {value}")).await.unwrap();
    }

    let query = tokio::spawn({
        let context = context.clone();
        async move { answer(&context, LONG).await }
    });
    // One that has begun a task with a join.
    let mut joining = None;
    wait_for("a join", || {
        joining = cluster.executors.iter().position(|executor| {
            let log = executor.log();
            let mut since = log.lines().skip_while(|line| !line.contains(", taken: HashJoinExec"));
            since.any(|line| line.contains("plan pre-run"))
        });
        joining.is_some() || query.is_finished()
    })
    .await;
    let killed = &mut cluster.executors[joining.expect("no executor joined")];
    killed.kill();
    assert!(!query.is_finished());
    let log = killed.log();
    let count = |what| log.lines().filter(|line| line.contains(what)).count();
    assert!(count("plan pre-run") > count("plan post-run"));

    let found = within(query).await.unwrap();
    assert_eq!(rows_of(&found.unwrap()), expected);
    // The one that is left does the next query alone.
    assert_eq!(rows_of(&within(answer(&context, LONG)).await.unwrap()), expected);
}
