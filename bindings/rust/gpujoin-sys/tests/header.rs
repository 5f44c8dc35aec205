//! The bindings against the header that they were made from.

#![allow(missing_docs)]

use std::fs;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use gpujoin_sys::*;

#[rustfmt::skip]
mod fields;

fn folder_of_bindings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

#[test]
fn bindings_are_those_of_the_header() {
    let said =
        run(Command::new("python3").arg(folder_of_bindings().join("generate.py")).arg("--check"));
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stdout));
}

/// A C compiler says where the fields lie.
#[test]
fn fields_lie_where_c_has_them() {
    let mut source = String::from(
        "#define GPUJOIN_EXPERIMENTAL\n#include \"gpujoin.h\"\n\
         #define AT(name, field, at) _Static_assert(offsetof(name, field) == at, #field)\n\
         #define SIZE(name, size) _Static_assert(sizeof(name) == size, #name)\n",
    );
    let layouts = fields::layouts();
    assert!(layouts.len() > 30);
    for (name, size, fields) in layouts {
        let name = if name.starts_with("Arrow") { format!("struct {name}") } else { name.into() };
        source += &format!("SIZE({name}, {size});\n");
        for (field, at) in fields {
            source += &format!("AT({name}, {field}, {at});\n");
        }
    }
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fields.c");
    fs::write(&file, source).unwrap();
    let said = run(Command::new("cc")
        .args(["-std=c11", "-fsyntax-only", "-I"])
        .arg(folder_of_bindings().join("../../include"))
        .arg(&file));
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
}

#[test]
fn library_has_the_version_of_the_header() {
    #[cfg(feature = "dlopen")]
    load().unwrap();
    // SAFETY: it takes nothing.
    let version = unsafe { gpujoin_version_number() };
    assert!(is_compatible(version), "{version}");
}
