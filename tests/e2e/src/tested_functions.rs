//! Notes which MPI functions the tests have compared on each MPI, for the manual's table.
//!
//! The notes are files in `target/seen`, which `cargo xtask functions` reads. A function counts as
//! tested when a program called it under Invivo, had the same results as without, and the report
//! had as many calls of it as an independent counter.

use crate::logs::counts::Calls;
use crate::mpi::{Family, functions};
use crate::paths::root;
use std::collections::BTreeSet;

/// Notes the functions that a compared run has called, and those that this MPI declares.
pub fn note(family: Family, calls: &Calls) {
    let folder = root().join("target/seen");
    std::fs::create_dir_all(&folder).expect("a directory for the notes");

    let called: BTreeSet<String> = calls.keys().map(|(_, name)| name.clone()).collect();
    for (kind, mut names) in [
        ("called", called),
        ("declared", functions::declared(family)),
    ] {
        let file = folder.join(format!("{}.{kind}", family.name()));
        // Notes are added to those of earlier tests: no single test calls all functions.
        let before = std::fs::read_to_string(&file).unwrap_or_default();
        names.extend(before.lines().map(str::to_owned));
        let text: String = names.iter().map(|name| format!("{name}\n")).collect();
        std::fs::write(&file, text).expect("the notes are written");
    }
}
