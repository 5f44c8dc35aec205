//! The joins of `tests/cases`, which every binding runs: see the README there.

#![allow(missing_docs)]

mod arrays;
mod condition;
mod text;

use std::path::{Path, PathBuf};

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema};
use gpujoin::{
    Aggregate, Appended, Asof, Build, Context, Device, Direction, Error, Function, Join,
    JoinResult, Key, Kind, Next, OperationOptions, Order, Promise, Relation, Side,
};

use text::{Case, Task};

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/cases");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    assert!(files.len() > 10);
    files
}

/// The CPU, and CUDA where it can be used.
fn contexts() -> Vec<Context> {
    let cpu = Context::builder().device(Device::Cpu).create().unwrap();
    let cuda = Context::builder().device(Device::Cuda).create();
    if let Err(error) = &cuda {
        println!("without CUDA: {error}");
    }
    std::iter::once(cpu).chain(cuda.ok()).collect()
}

fn kind_of(name: &str) -> Kind {
    match name {
        "inner" => Kind::Inner,
        "left" => Kind::Left,
        "right" => Kind::Right,
        "full" => Kind::Full,
        "left_semi" => Kind::LeftSemi,
        "right_semi" => Kind::RightSemi,
        "left_anti" => Kind::LeftAnti,
        "right_anti" => Kind::RightAnti,
        "left_mark" => Kind::LeftMark,
        "right_mark" => Kind::RightMark,
        "left_not_in" => Kind::LeftNotIn,
        "right_not_in" => Kind::RightNotIn,
        "left_single" => Kind::LeftSingle,
        "right_single" => Kind::RightSingle,
        "cross" => Kind::Cross,
        other => panic!("kind {other}"),
    }
}

/// The sides whose rows come out, which is where row numbers are of.
fn sides_of(kind: Kind) -> usize {
    use Kind::*;
    match kind {
        LeftSemi | RightSemi | LeftAnti | RightAnti | LeftMark | RightMark | LeftNotIn
        | RightNotIn => 1,
        _ => 2,
    }
}

/// "left.a"
fn column_of(word: &str) -> (Side, &str) {
    match word.split_once('.').unwrap() {
        ("left", name) => (Side::Left, name),
        ("right", name) => (Side::Right, name),
        _ => panic!("column {word}"),
    }
}

fn type_in(case: &Case, word: &str) -> DataType {
    let (side, name) = column_of(word);
    let table = if side == Side::Left { &case.left } else { &case.right };
    table.schema().field_with_name(name).unwrap().data_type().clone()
}

/// "sum(left.a)": the function and the column.
fn function_of(word: &str) -> Option<(&str, &str)> {
    word.split_once('(').map(|(function, rest)| (function, rest.strip_suffix(')').unwrap()))
}

fn aggregate_of(word: &str) -> Aggregate {
    let Some((function, column)) = function_of(word) else {
        return if word == "exists" { Aggregate::exists() } else { Aggregate::count_rows() };
    };
    let function = match function {
        "count" => Function::Count,
        "sum" => Function::Sum,
        "min" => Function::Min,
        "max" => Function::Max,
        "avg" => Function::Avg,
        "any" => Function::Any,
        other => panic!("function {other}"),
    };
    let (side, name) = column_of(column);
    Aggregate::of(function, side, name).named(word)
}

fn type_of_aggregate(case: &Case, word: &str) -> DataType {
    let Some((function, column)) = function_of(word) else {
        return if word == "exists" { DataType::Boolean } else { DataType::Int64 };
    };
    let kind = type_in(case, column);
    match function {
        "count" => DataType::Int64,
        "avg" => DataType::Float64,
        "sum" => match kind {
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale)
            | DataType::Decimal256(_, scale) => DataType::Decimal128(38, scale),
            kind if kind.is_floating() => DataType::Float64,
            kind if kind.is_unsigned_integer() => DataType::UInt64,
            _ => DataType::Int64,
        },
        _ => kind,
    }
}

fn asof_of(words: &[String], case: &Case) -> Asof {
    let direction = match words[2].as_str() {
        "backward" => Direction::Backward,
        "forward" => Direction::Forward,
        "nearest" => Direction::Nearest,
        other => panic!("direction {other}"),
    };
    let mut asof = Asof::new(&words[0], &words[1], direction);
    if words.iter().any(|word| word == "strict") {
        asof = asof.strict();
    }
    if words.iter().any(|word| word == "within") {
        let tolerance = words.last().unwrap();
        let is_float = type_in(case, &format!("left.{}", words[0])).is_floating();
        asof = if is_float {
            asof.within_float(tolerance.parse().unwrap())
        } else {
            asof.within(tolerance.parse().unwrap())
        };
    }
    asof
}

fn join_of(context: &Context, case: &Case, task: &Task) -> Join {
    let kind = task.one("kind").map_or(Kind::Inner, kind_of);
    let mut join = Join::new(kind);
    for words in &task.on {
        let mut key = Key::new(&words[0]);
        if words.iter().any(|word| word == "null_equal") {
            key = key.null_equal();
        }
        if words.iter().any(|word| word == "ieee") {
            key = key.ieee_float();
        }
        join = join.on(key, &words[1]);
    }
    if let Some(words) = task.words("residual") {
        join = join.condition(condition::read(&words.join(" "), context));
    }
    if let Some(words) = task.words("asof") {
        join = join.asof(asof_of(words, case));
    }
    if task.words("pairs").is_some() {
        join = join.pairs();
    }
    for word in task.list("output").filter(|word| *word != "mark") {
        join = match column_of(word) {
            (Side::Left, name) => join.left_columns([name]),
            (_, name) => join.right_columns([name]),
        };
    }
    for word in task.list("aggregates") {
        join = join.aggregate(aggregate_of(word));
    }
    match task.one("by") {
        Some("left") => join = join.by(Side::Left),
        Some(_) => join = join.by(Side::Right),
        None => {}
    }
    match task.one("order") {
        Some("left") => join = join.order(Order::Left),
        Some(_) => join = join.order(Order::Right),
        None => {}
    }
    for word in task.list("promise") {
        join = join.promise(match word {
            "left_unique" => Promise::LeftUnique,
            "right_unique" => Promise::RightUnique,
            "left_sorted" => Promise::LeftSorted,
            "right_sorted" => Promise::RightSorted,
            other => panic!("promise {other}"),
        });
    }
    join
}

fn relation_of(context: &Context, table: &RecordBatch, task: &Task, side: &str) -> Relation {
    let whole = Relation::from_batch(context, table).unwrap();
    if let Some(rows) = task.words(&format!("{side}_rows")) {
        let rows: Vec<u32> = rows.iter().map(|word| word.parse().unwrap()).collect();
        return whole.select_rows(rows).unwrap();
    }
    let Some(bits) = task.one(&format!("{side}_bits")) else { return whole };
    let mut bytes = vec![0u8; bits.len().div_ceil(8)];
    for (row, _) in bits.bytes().enumerate().filter(|(_, bit)| *bit == b'1') {
        bytes[row / 8] |= 1 << (row % 8);
    }
    whole.select_bits(bytes).unwrap()
}

fn types_of_output(case: &Case, task: &Task) -> Vec<DataType> {
    let kind = task.one("kind").map_or(Kind::Inner, kind_of);
    let row_numbers = if task.one("by").is_some() { 1 } else { sides_of(kind) };
    let row_numbers = if task.words("pairs").is_some() { row_numbers } else { 0 };
    let columns = task.list("output").map(|word| match word {
        "mark" => DataType::Boolean,
        word => type_in(case, word),
    });
    let aggregates = task.list("aggregates").map(|word| type_of_aggregate(case, word));
    std::iter::repeat_n(DataType::UInt32, row_numbers).chain(columns).chain(aggregates).collect()
}

/// The answer's rows as text, each value in one way.
fn rows_of(batch: &RecordBatch) -> Vec<Vec<String>> {
    let columns: Vec<Vec<String>> = batch.columns().iter().map(arrays::words_of).collect();
    (0..batch.num_rows())
        .map(|row| columns.iter().map(|column| column[row].clone()).collect())
        .collect()
}

fn expected_rows(types: &[DataType], task: &Task) -> Vec<Vec<String>> {
    let columns = types.iter().enumerate().map(|(column, kind)| {
        let words: Vec<&str> = task.answer.iter().map(|line| line[column].as_str()).collect();
        arrays::array_of(&words, kind)
    });
    let fields: Vec<Field> = types.iter().map(|kind| Field::new("", kind.clone(), true)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(task.answer.len()));
    let schema = Schema::new(fields).into();
    rows_of(&RecordBatch::try_new_with_options(schema, columns.collect(), &options).unwrap())
}

fn is_error(error: &Error, name: &str) -> bool {
    match name {
        "type" => matches!(error, Error::Type(_)),
        "several_matches" => matches!(error, Error::SeveralMatches(_)),
        "evaluation" => matches!(error, Error::Evaluation(_)),
        "broken_promise" => matches!(error, Error::BrokenPromise(_)),
        other => panic!("error {other}"),
    }
}

fn compare(mut found: Vec<Vec<String>>, mut expected: Vec<Vec<String>>, is_ordered: bool) {
    if !is_ordered {
        found.sort();
        expected.sort();
    }
    assert_eq!(found, expected);
}

fn check(context: &Context, case: &Case, task: &Task) {
    let join = join_of(context, case, task);
    let left = relation_of(context, &case.left, task, "left");
    let right = relation_of(context, &case.right, task, "right");
    let result = join.run(&left, &right);
    if let Some(name) = task.one("error") {
        let error = result.err().unwrap_or_else(|| panic!("no error {name}"));
        assert!(is_error(&error, name), "{error:?}");
        assert!(!error.message().is_empty() && task.answer.is_empty());
        return;
    }
    let types = types_of_output(case, task);
    let expected = expected_rows(&types, task);
    let result = result.unwrap();
    assert_eq!(result.rows() as usize, expected.len());
    let batch: RecordBatch = result.to_batch().unwrap();
    let found: Vec<_> = batch.schema().fields().iter().map(|f| f.data_type().clone()).collect();
    assert_eq!(found, types);
    let pages: Vec<_> =
        result.pages::<RecordBatch>(2).flat_map(|page| rows_of(&page.unwrap())).collect();
    assert_eq!(pages, rows_of(&batch));
    compare(pages, expected, task.one("order").is_some());
}

/// The same by a build of the right side and probes; `false` where no operation does such a join.
fn check_operation(context: &Context, case: &Case, task: &Task) -> bool {
    if ["error", "order", "promise"].iter().any(|word| task.words(word).is_some()) {
        return false;
    }
    let left = relation_of(context, &case.left, task, "left");
    let right = relation_of(context, &case.right, task, "right");
    let mut builder = Build::builder().row_numbers();
    for words in &task.on {
        let mut key = Key::new(&words[1]);
        if words.iter().any(|word| word == "null_equal") {
            key = key.null_equal();
        }
        if words.iter().any(|word| word == "ieee") {
            key = key.ieee_float();
        }
        builder = builder.key(key);
    }
    let build = builder.create(&right).unwrap();
    build.append(&right).unwrap();
    build.finish().unwrap();
    let options = OperationOptions::default().row_numbers();
    let operation = match build.operation(&left, &join_of(context, case, task), options) {
        Err(Error::Unsupported(_)) => return false,
        other => other.unwrap(),
    };
    let mut found = Vec::new();
    let mut take = |result: JoinResult| found.extend(rows_of(&result.to_batch().unwrap()));
    let probe = operation.probe().unwrap();
    while probe.append(&left).unwrap() == Appended::Full {
        probe.results().for_each(|result| take(result.unwrap()));
    }
    probe.finish().unwrap();
    probe.results().for_each(|result| take(result.unwrap()));
    operation.close().unwrap();
    while let Next::Ready(result) = operation.next_result().unwrap() {
        take(result);
    }
    compare(found, expected_rows(&types_of_output(case, task), task), false);
    true
}

/// Runs it for each join of each file on each executor, and says which failed.
fn for_all(check: impl Fn(&Context, &Case, &Task)) {
    let mut failed = Vec::new();
    for context in contexts() {
        for path in files() {
            let case = Case::read(&path);
            for (number, task) in case.joins.iter().enumerate() {
                let run = std::panic::AssertUnwindSafe(|| check(&context, &case, task));
                if std::panic::catch_unwind(run).is_err() {
                    failed.push(format!("{} join {number}", path.display()));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn every_case_has_its_answer() {
    for_all(check);
}

#[test]
fn every_case_has_its_answer_by_builds_and_probes() {
    let count = std::sync::atomic::AtomicUsize::new(0);
    for_all(|context, case, task| {
        let was_joined = check_operation(context, case, task);
        count.fetch_add(usize::from(was_joined), std::sync::atomic::Ordering::Relaxed);
    });
    let count = count.into_inner();
    println!("{count} joins by builds and probes");
    assert!(count > 400, "{count}");
}
