//! What the tests have seen of each MPI's functions, for the table in
//! `docs/manual/reference/functions.md`: files in `target/seen`. A function counts as tested there when a program called it under Invivo,
//! did what it did without, and the report's number of its calls was an independent counter's.

use crate::counts::Calls;
use crate::family::Family;
use crate::functions;
use crate::places::root;
use std::collections::BTreeSet;

/// Notes the functions that a compared run has called, and those that this MPI declares.
pub fn note(family: Family, calls: &Calls) {
    let folder = root().join("target/seen");
    std::fs::create_dir_all(&folder).expect("a directory for what was seen");
    let called: BTreeSet<String> = calls.keys().map(|(_, name)| name.clone()).collect();
    for (kind, mut names) in [
        ("called", called),
        ("declared", functions::declared(family)),
    ] {
        let file = folder.join(format!("{}.{kind}", family.name()));
        let before = std::fs::read_to_string(&file).unwrap_or_default();
        names.extend(before.lines().map(str::to_owned));
        let text: String = names.iter().map(|name| format!("{name}\n")).collect();
        std::fs::write(&file, text).expect("what was seen is written");
    }
}
