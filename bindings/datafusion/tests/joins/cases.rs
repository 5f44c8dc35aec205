//! The joins of `tests/cases`, which every binding runs, as SQL: with the rule, without it, and by
//! the answer that stands there. What SQL of DataFusion does not have is left out, and counted.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use datafusion::datasource::MemTable;
use datafusion::prelude::SessionContext;

use crate::arrays::{array_of, words_of};
use crate::sessions::{answer, config, runtime, session, set};
use crate::text::{Case, Task};

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    files
}

fn join_words(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "inner" => "JOIN",
        "left" => "LEFT JOIN",
        "right" => "RIGHT JOIN",
        "full" => "FULL JOIN",
        "left_semi" => "LEFT SEMI JOIN",
        "right_semi" => "RIGHT SEMI JOIN",
        "left_anti" => "LEFT ANTI JOIN",
        "right_anti" => "RIGHT ANTI JOIN",
        _ => return None,
    })
}

fn column_in_sql(word: &str) -> Option<String> {
    let (side, name) = word.split_once('.')?;
    (side == "left" || side == "right").then(|| format!("{side}_side.\"{name}\""))
}

/// A condition as SQL, `None` where it has something that means another thing there.
fn condition_in_sql(tokens: &mut VecDeque<String>) -> Option<String> {
    let token = tokens.pop_front()?;
    if token != "(" {
        return column_in_sql(&token).or_else(|| constant_in_sql(&token));
    }
    let name = tokens.pop_front()?;
    let mut arguments = Vec::new();
    while tokens.front()? != ")" {
        arguments.push(condition_in_sql(tokens)?);
    }
    tokens.pop_front();
    let sql = match (name.as_str(), arguments.as_slice()) {
        ("=" | "<>" | "<" | "<=" | ">" | ">=", [a, b]) => format!("{a} {name} {b}"),
        ("distinct", [a, b]) => format!("{a} IS DISTINCT FROM {b}"),
        ("not_distinct", [a, b]) => format!("{a} IS NOT DISTINCT FROM {b}"),
        ("between", [a, low, high]) => format!("{a} BETWEEN {low} AND {high}"),
        ("and", all) => all.join(" AND "),
        ("or", all) => all.join(" OR "),
        ("not", [a]) => format!("NOT {a}"),
        ("is_null", [a]) => format!("{a} IS NULL"),
        ("is_not_null", [a]) => format!("{a} IS NOT NULL"),
        ("is_true", [a]) => format!("{a} IS TRUE"),
        ("is_false", [a]) => format!("{a} IS FALSE"),
        _ => return None,
    };
    Some(format!("({sql})"))
}

fn constant_in_sql(token: &str) -> Option<String> {
    let (word, kind) = token.rsplit_once(':')?;
    match kind {
        "int32" | "int64" | "float64" | "bool" if !word.contains("inf") && word != "nan" => {
            Some(word.into())
        }
        "utf8" => Some(format!("'{}'", word.trim_matches('"'))),
        _ => None,
    }
}

fn tokens_of(text: &str) -> VecDeque<String> {
    let spaced = text.replace('(', " ( ").replace(')', " ) ");
    spaced.split_whitespace().map(String::from).collect()
}

/// The join as SQL, and how many columns of its answer are row numbers, which SQL has not.
fn sql_of(task: &Task) -> Option<(String, usize)> {
    let strange = ["error", "asof", "aggregates", "left_rows", "right_rows", "left_bits"];
    if strange.iter().any(|word| task.words(word).is_some()) || task.on.is_empty() {
        return None;
    }
    let kind = task.one("kind").unwrap_or("inner");
    let join = join_words(kind)?;
    let mut conditions = Vec::new();
    for words in &task.on {
        let is_null_equal = words.iter().any(|word| word == "null_equal");
        if words.iter().any(|word| word == "ieee") {
            return None;
        }
        let equals = if is_null_equal { "IS NOT DISTINCT FROM" } else { "=" };
        conditions.push(format!("left_side.\"{}\" {equals} right_side.\"{}\"", words[0], words[1]));
    }
    if let Some(words) = task.words("residual") {
        let mut tokens = tokens_of(&words.join(" "));
        conditions.push(condition_in_sql(&mut tokens)?);
    }
    let output: Option<Vec<_>> = task.list("output").map(column_in_sql).collect();
    let output = output?;
    if output.is_empty() {
        return None;
    }
    let named = output.iter().enumerate().map(|(number, column)| format!("{column} AS c{number}"));
    let named: Vec<_> = named.collect();
    let sides = if kind.ends_with("semi") || kind.ends_with("anti") { 1 } else { 2 };
    let sql = format!(
        "SELECT {} FROM left_side {join} right_side ON {}",
        named.join(", "),
        conditions.join(" AND ")
    );
    Some((sql, if task.words("pairs").is_some() { sides } else { 0 }))
}

fn type_in(case: &Case, word: &str) -> DataType {
    let (side, name) = word.split_once('.').unwrap();
    let table = if side == "left" { &case.left } else { &case.right };
    table.schema().field_with_name(name).unwrap().data_type().clone()
}

fn rows_of(batches: &[RecordBatch]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> = batch.columns().iter().map(words_of).collect();
        rows.extend((0..batch.num_rows()).map(|row| -> Vec<String> {
            columns.iter().map(|column| column[row].clone()).collect()
        }));
    }
    rows.sort();
    rows
}

fn rows_that_stand_there(case: &Case, task: &Task, row_numbers: usize) -> Vec<Vec<String>> {
    let columns: Vec<Vec<String>> = task
        .list("output")
        .enumerate()
        .map(|(number, word)| {
            let column = row_numbers + number;
            let words: Vec<_> = task.answer.iter().map(|line| line[column].as_str()).collect();
            words_of(&array_of(&words, &type_in(case, word)))
        })
        .collect();
    let mut rows: Vec<Vec<String>> = (0..task.answer.len())
        .map(|row| columns.iter().map(|column| column[row].clone()).collect())
        .collect();
    rows.sort();
    rows
}

async fn register(context: &SessionContext, case: &Case) {
    for (name, table) in [("left_side", &case.left), ("right_side", &case.right)] {
        let _ = context.deregister_table(name);
        let table = MemTable::try_new(table.schema(), vec![vec![table.clone()]]).unwrap();
        context.register_table(name, Arc::new(table)).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cases_have_their_answers() {
    let (context, rule) = session(config(), runtime());
    set(&context, "force", "true").await;
    let (mut same, mut left_out, mut refused, mut differs) = (0, 0, 0, Vec::new());
    let (mut taken, mut declined) = (0, Vec::new());
    for path in files() {
        let case = Case::read(&path);
        register(&context, &case).await;
        for (number, task) in case.joins.iter().enumerate() {
            let name = format!("{} join {number}", path.file_name().unwrap().display());
            let Some((sql, row_numbers)) = sql_of(task) else {
                left_out += 1;
                continue;
            };
            set(&context, "enable", "false").await;
            let Ok(expected) = answer(&context, &sql).await else {
                refused += 1; // types that SQL of DataFusion does not compare
                continue;
            };
            let expected = rows_of(&expected);
            set(&context, "enable", "true").await;
            let found = answer(&context, &sql).await;
            let found = rows_of(&found.unwrap_or_else(|error| panic!("{name}: {sql}: {error}")));
            for decision in rule.decisions() {
                if decision.taken {
                    taken += 1;
                } else {
                    declined.push(format!("{name}: {}", decision.reason));
                }
            }
            let stands = rows_that_stand_there(&case, task, row_numbers);
            if expected == stands {
                assert_eq!(found, expected, "{name}: {sql}");
                same += 1;
            } else {
                let is_ours = if found == expected { "as DataFusion" } else { "as the file" };
                assert!(found == expected || found == stands, "{name}: {sql}: {found:?}");
                differs.push(format!("{name}: {is_ours}: {sql}"));
            }
        }
    }
    println!(
        "{same} joins as they stand there, {left_out} not in SQL, {refused} not of DataFusion"
    );
    println!("{taken} taken, {} declined: {declined:#?}", declined.len());
    println!("{} that DataFusion answers otherwise: {differs:#?}", differs.len());
    assert!(same > 200, "{same}");
}
