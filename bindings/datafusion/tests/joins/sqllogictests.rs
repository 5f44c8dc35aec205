//! DataFusion's own join tests, the files of its crate `datafusion-sqllogictest`, which are not
//! kept here: each statement with the rule forced and without it, which have to end alike.
//!
//! GPUJOIN_SLT_FOLDER is its folder `test_files`.

use std::panic::AssertUnwindSafe;
use std::path::Path;

use datafusion::prelude::{SessionConfig, SessionContext};
use futures::FutureExt;

use crate::sessions::{answer, runtime, session, set, sorted_rows_of};

/// The SQL of each record; parts that files include are read in their place.
fn statements_of(path: &Path, folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut statements = Vec::new();
    for record in text.split("\n\n") {
        let lines: Vec<_> = record.lines().filter(|line| !line.starts_with('#')).collect();
        for (number, line) in lines.iter().enumerate() {
            if let Some(part) = line.strip_prefix("include ") {
                let part = folder.join(part.trim().trim_start_matches("./"));
                statements.extend(statements_of(&part, folder));
            }
            if line.starts_with("statement ") || line.starts_with("query ") {
                let sql = lines[number + 1..].iter().take_while(|line| !line.starts_with("----"));
                statements.push(sql.copied().collect::<Vec<_>>().join("\n"));
                break;
            }
        }
    }
    statements
}

/// Rows in any order, `None` of what fails. Of some of them, which may be any, their number.
async fn rows(context: &SessionContext, sql: &str) -> Option<Vec<String>> {
    let run = AssertUnwindSafe(answer(context, sql)).catch_unwind();
    let rows = sorted_rows_of(&run.await.ok()?.ok()?);
    let sql = sql.to_lowercase();
    let are_any = sql.contains("limit") && !sql.contains("order by");
    Some(if are_any { vec![rows.len().to_string()] } else { rows })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs GPUJOIN_SLT_FOLDER"]
async fn files_of_datafusion_end_as_without_the_rule() {
    let folder = std::env::var("GPUJOIN_SLT_FOLDER").expect("GPUJOIN_SLT_FOLDER");
    let folder = Path::new(&folder);
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.ends_with(".slt") && (name.contains("join") || name.contains("subquery"))
        })
        .collect();
    files.sort();
    let (mut differ, mut all_taken, mut all_left) = (Vec::new(), 0, Vec::new());
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let config = || SessionConfig::new().with_target_partitions(4);
        let (own, _) = session(config(), runtime());
        set(&own, "enable", "false").await;
        let (ours, rule) = session(config(), runtime());
        set(&ours, "force", "true").await;
        let (mut same, mut fail, mut taken) = (0, 0, 0);
        for sql in statements_of(&path, folder) {
            let is_plan = sql.trim_start().to_lowercase().starts_with("explain");
            let expected = rows(&own, &sql).await;
            let found = rows(&ours, &sql).await;
            if is_plan && expected.is_some() == found.is_some() {
                continue;
            }
            if found == expected {
                same += usize::from(found.is_some());
                fail += usize::from(found.is_none());
            } else {
                differ.push(format!("{name}: {sql}\n{found:?}\nnot {expected:?}"));
            }
            for decision in rule.decisions() {
                taken += usize::from(decision.taken);
                if !decision.taken {
                    all_left.push(format!("{name}: {}", decision.reason));
                }
            }
        }
        println!("{name}: {same} as without the rule, {fail} fail with both, {taken} joins taken");
        all_taken += taken;
    }
    println!("{all_taken} joins taken, {} left: {all_left:#?}", all_left.len());
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n\n"));
}
