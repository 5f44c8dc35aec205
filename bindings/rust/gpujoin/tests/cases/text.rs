//! A case as text: two tables, joins and their answers.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};

use crate::arrays::{array_of, type_of};

pub struct Case {
    pub left: RecordBatch,
    pub right: RecordBatch,
    pub joins: Vec<Task>,
}

/// A join, and the rows of its answer.
pub struct Task {
    lines: Vec<Vec<String>>,
    /// Of each pair of keys the names, and how they are compared.
    pub on: Vec<Vec<String>>,
    pub answer: Vec<Vec<String>>,
}

impl Task {
    /// The words behind the first one of a line.
    pub fn words(&self, name: &str) -> Option<&[String]> {
        self.lines.iter().find(|line| line[0] == name).map(|line| &line[1..])
    }

    pub fn one(&self, name: &str) -> Option<&str> {
        self.words(name).map(|words| words[0].as_str())
    }

    pub fn list(&self, name: &str) -> impl Iterator<Item = &str> {
        self.words(name).unwrap_or_default().iter().map(String::as_str)
    }
}

impl Case {
    pub fn read(path: &Path) -> Case {
        let mut sections: Vec<(String, Vec<Vec<String>>)> = Vec::new();
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let words: Vec<String> = line.split_whitespace().map(String::from).collect();
            if words.is_empty() || words[0].starts_with('#') {
                continue;
            }
            if let [name @ ("left" | "right" | "join" | "expect")] =
                words.iter().map(String::as_str).collect::<Vec<_>>()[..]
            {
                sections.push((name.into(), Vec::new()));
            } else {
                sections.last_mut().unwrap().1.push(words);
            }
        }
        let names: Vec<&str> = sections.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names[..2], ["left", "right"]);
        assert!(names.len() > 2 && names[2..].chunks(2).all(|pair| pair == ["join", "expect"]));
        let joins = sections[2..].chunks(2).map(|pair| Task {
            on: pair[0].1.iter().filter(|line| line[0] == "on").map(|l| l[1..].into()).collect(),
            lines: pair[0].1.clone(),
            answer: pair[1].1.clone(),
        });
        let joins = joins.collect();
        Case { left: table_of(&sections[0].1), right: table_of(&sections[1].1), joins }
    }
}

fn table_of(lines: &[Vec<String>]) -> RecordBatch {
    let (mut fields, mut columns): (Vec<Field>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
    for (column, word) in lines[0].iter().enumerate() {
        let (name, kind) = word.split_once(':').unwrap();
        let kind = type_of(kind);
        let words: Vec<&str> = lines[1..].iter().map(|line| line[column].as_str()).collect();
        columns.push(array_of(&words, &kind));
        fields.push(Field::new(name, kind, true));
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}
