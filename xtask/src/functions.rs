//! Writes and checks the manual's table of functions and MPIs,
//! `docs/manual/reference/functions.md`.
//!
//! The treatment of a function comes from the function table; what was tested comes from what the
//! end-to-end tests noted in `target/seen` (see `tests/e2e/src/tested_functions.rs`).

use crate::generate::{TABLE, parse};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

const PAGE: &str = "docs/manual/reference/functions.md";
/// The columns: as the tests call each MPI, and as its makers do.
const MPIS: [(&str, &str); 5] = [
    ("ompi", "Open MPI 4.1"),
    ("ompi5", "Open MPI 5.0"),
    ("mpich", "MPICH 4.0"),
    ("mpich5", "MPICH 5.0"),
    ("abi5", "standard ABI"),
];

const INTRODUCTION: &str = "\
# Functions

Every function of MPI, what Invivo does with it, and on which MPI that was tested. This page is \
made by `cargo xtask functions` of what the
end-to-end tests saw (`cargo xtask test --all` runs all of them).

| word | means |
|---|---|
| tested | programs called it under Invivo and did what they do without, and the report's number \
of calls was that of an independent counter |
| wrapped | it is wrapped like the others of its kind; no test calls it on this MPI |
| passed | it is not wrapped, and reaches the MPI library directly, for the reason in the second \
column |
| impossible | this MPI declares it and cannot do it: the bare run fails, see \
[below](#what-an-mpi-cannot) |
| - | this MPI does not declare it, and the program does not see it either |

What stands in the second column:

| word | means |
|---|---|
| recorded | a record per call, with what it was about |
| world | not recorded: it is called often and costs next to nothing, or makes nothing yet; \
wrapped so that it sees the application's world |
| local | not wrapped: it takes no communicator and nothing but the calling process takes part |
| clock | not wrapped: it is called often, and reads a clock |
| end | not recorded, because it does not come back; the report says which rank called it, and \
with what code |
| control | not recorded: it switches recording off and on for the calling rank; all of its \
arguments are passed on |

Of `MPI_T_*` only the making of handles is wrapped, for variables that belong to a communicator; \
the rest asks the library about itself. Conversions
of handles to Fortran and back are macros or local.

";

/// What an MPI declares and cannot do, by the beginning of the functions' names: seen in bare runs.
const IMPOSSIBLE: [(&[&str], &[&str], &str); 4] = [
    (
        &["MPI_Scatter_init", "MPI_Scatterv_init"],
        &["mpich"],
        "it loses the communicator of a persistent scatter",
    ),
    (
        &["MPI_Comm_accept", "MPI_Comm_connect", "MPI_Close_port"],
        &["mpich", "mpich5"],
        "`MPI_Open_port` fails",
    ),
    (
        &["MPI_Comm_accept", "MPI_Comm_connect"],
        &["abi5"],
        "processes that connect wait for ever",
    ),
    (
        &["MPIX_Comm_"],
        &["mpich", "mpich5"],
        "processes that call it abort: fault tolerance was left out when it was built",
    ),
];

/// Whether this MPI declares a function and cannot execute it.
fn is_impossible(name: &str, mpi: &str) -> bool {
    IMPOSSIBLE.iter().any(|(starts, mpis, _)| {
        mpis.contains(&mpi) && starts.iter().any(|start| name.starts_with(start))
    })
}

/// The treatment of a function by Invivo, as the page's second column has it.
fn fate(name: &str, role: &str) -> &'static str {
    // Names first: their roles would put them elsewhere.
    match (name, role) {
        (_, "control") => "control",
        ("MPI_Wtime" | "MPI_Wtick", _) => "clock",
        (_, "abort") => "end",
        (_, "none") => "local",
        (_, "through" | "attr" | "keyval" | "asked") => "world",
        _ => "recorded",
    }
}

/// The notes of the end-to-end tests on one MPI.
struct Seen {
    mpi: String,
    called: BTreeSet<String>,
    declared: BTreeSet<String>,
}

impl Seen {
    fn read(folder: &Path, mpi: &str) -> Result<Seen> {
        let names = |kind: &str| {
            let file = folder.join(format!("{mpi}.{kind}"));
            let text = std::fs::read_to_string(&file).with_context(|| {
                format!(
                    "{}: run `cargo xtask test --all --only e2e` first",
                    file.display()
                )
            })?;
            anyhow::Ok(text.lines().map(str::to_owned).collect())
        };
        Ok(Seen {
            mpi: mpi.to_owned(),
            called: names("called")?,
            declared: names("declared")?,
        })
    }

    fn cell(&self, name: &str, fate: &str) -> &'static str {
        // The order matters: what was tested is tested, also where bare runs once failed.
        if !self.declared.contains(name) {
            "-"
        } else if self.called.contains(name) {
            "tested"
        } else if is_impossible(name, &self.mpi) {
            "impossible"
        } else if matches!(fate, "recorded" | "world" | "end") {
            "wrapped"
        } else {
            "passed"
        }
    }
}

/// Writes the page.
pub fn run(root: &Path) -> Result<()> {
    let folder = root.join("target/seen");
    let seen = MPIS.map(|(mpi, _)| Seen::read(&folder, mpi));
    let seen = seen.into_iter().collect::<Result<Vec<_>>>()?;

    let mut page = INTRODUCTION.to_owned();
    let titles = MPIS.map(|(_, title)| title).join(" | ");
    let _ = writeln!(
        page,
        "| function | | {titles} |\n|---|---|{}",
        "---|".repeat(MPIS.len())
    );

    for (name, fate) in rows(root)? {
        let cells: Vec<&str> = seen.iter().map(|seen| seen.cell(&name, fate)).collect();
        let _ = writeln!(page, "| `{name}` | {fate} | {} |", cells.join(" | "));
    }

    page.push_str("\n## What an MPI cannot\n\n| functions | MPI | what happens |\n|---|---|---|\n");
    for (starts, mpis, why) in IMPOSSIBLE {
        let titles = MPIS.iter().filter(|(mpi, _)| mpis.contains(mpi));
        let titles: Vec<&str> = titles.map(|(_, title)| *title).collect();
        let _ = writeln!(
            page,
            "| `{}...` | {} | {why} |",
            starts.join("...`, `"),
            titles.join(", ")
        );
    }

    std::fs::write(root.join(PAGE), page).with_context(|| format!("writing {PAGE}"))?;
    println!("wrote {PAGE}");
    Ok(())
}

/// Fails where the page lacks a function of the table, or says something else about its fate.
pub fn check(root: &Path) -> Result<()> {
    let page =
        std::fs::read_to_string(root.join(PAGE)).with_context(|| format!("reading {PAGE}"))?;
    for (name, fate) in rows(root)? {
        ensure!(
            // The cells behind are not compared: they need the notes of a full test run.
            page.contains(&format!("\n| `{name}` | {fate} | ")),
            "{PAGE} has no row for {name} ({fate}): run `cargo xtask functions` and commit the \
             result"
        );
    }
    Ok(())
}

/// Functions by name, each with its fate.
fn rows(root: &Path) -> Result<Vec<(String, &'static str)>> {
    let table =
        std::fs::read_to_string(root.join(TABLE)).with_context(|| format!("reading {TABLE}"))?;

    let functions = parse(&table)?.into_iter();
    let mut rows: Vec<(String, &str)> = functions
        .map(|function| {
            let fate = fate(&function.name, &function.role);
            (function.name, fate)
        })
        .collect();
    rows.sort();
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_a_row_for_each_function() {
        check(crate::run::root()).unwrap();
    }

    #[test]
    fn cells_tell_what_is_tested_from_what_is_there() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let seen = Seen {
            mpi: "mpich".to_owned(),
            called: set(&["MPI_Send", "MPI_Get_count"]),
            declared: set(&[
                "MPI_Send",
                "MPI_Recv",
                "MPI_Get_count",
                "MPI_Wtime",
                "MPI_Scatter_init_c",
            ]),
        };
        for (name, fate, cell) in [
            ("MPI_Send", "recorded", "tested"),
            ("MPI_Recv", "recorded", "wrapped"),
            ("MPI_Wtime", "clock", "passed"),
            ("MPI_Get_count", "local", "tested"),
            ("MPI_Scatter_init_c", "recorded", "impossible"),
            ("MPI_Bcast_c", "recorded", "-"),
        ] {
            assert_eq!(seen.cell(name, fate), cell, "{name}");
        }
    }
}
