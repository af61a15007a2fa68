//! Generates the function list of `proto` and the wrappers of `app-shim` from the table of all MPI
//! functions, `proto/mpi.functions`; and has the code of the gRPC interface generated.
//!
//! The results are committed; tests compare them with what is generated.

mod groups;
mod hooks;
mod needs;
mod shares;
mod table;
mod wrappers;

pub use table::{TABLE, parse};

use crate::run::{self, cargo};
use anyhow::{Context, Result, ensure};
use std::fmt::Write as _;
use std::path::Path;
use table::Function;

const LIST: &str = "proto/src/functions.rs";
const WRAPPERS: &str = "app-shim/src/wrappers/generated.rs";

/// Writes all files below the workspace at `root`.
pub fn run(root: &Path) -> Result<()> {
    for (file, text) in made(root)? {
        std::fs::write(root.join(file), text).with_context(|| format!("writing {file}"))?;
        println!("wrote {file}");
    }
    // A program of its own, whose test compares: it takes crates that nothing else needs.
    run::check(cargo().args(["run", "-q", "-p", "invivo-grpc-codegen"]))
}

/// Fails where a committed file differs from what the table says.
pub fn check(root: &Path) -> Result<()> {
    for (file, text) in made(root)? {
        let found =
            std::fs::read_to_string(root.join(file)).with_context(|| format!("reading {file}"))?;
        ensure!(
            found == text,
            "{file} is not what {TABLE} makes: run `cargo xtask generate` and commit the result"
        );
    }
    Ok(())
}

/// The files and their texts.
fn made(root: &Path) -> Result<[(&'static str, String); 2]> {
    let table =
        std::fs::read_to_string(root.join(TABLE)).with_context(|| format!("reading {TABLE}"))?;

    let functions = parse(&table)?;
    Ok([
        (LIST, list(&functions)),
        (WRAPPERS, wrappers::wrappers(&functions)?),
    ])
}

fn list(functions: &[Function]) -> String {
    let mut out = String::from(
        "// Made by `cargo xtask generate` from proto/mpi.functions. Do not edit.\n[\n",
    );
    // Number 0 stands for no function: records name functions by their index in this list.
    out.push_str(
        "    Function { name: \"no function\", recorded: false, needs: Needs::Nothing, \
         group: Group::Other, selectable: false },\n",
    );
    for function in functions {
        let _ = writeln!(
            out,
            "    Function {{ name: \"{}\", recorded: {}, needs: Needs::{}, group: Group::{}, \
             selectable: {} }},",
            function.name,
            function.is_recorded(),
            needs::needs(function).0,
            groups::group(function),
            groups::is_selectable(function)
        );
    }
    out.push_str("]\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_files_are_what_the_table_makes() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .expect("xtask lies in the workspace");
        check(root).unwrap();
    }
}
