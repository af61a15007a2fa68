//! Runs the benches of `cargo xtask bench` and lists them by name.
//!
//! Each figure is measured beside a baseline in the same run, and goes to target/bench/NAME.json
//! with name, value, unit, baseline, ratio (value / baseline) and a paragraph on what was measured.
//! Where there are many of a kind they go to a table, with the machine, and how busy others kept
//! it.

mod apps;
mod bytes;
mod machine;
mod mpi;
mod otfx;
mod page;
mod place;
mod programs;
mod results;
mod shim;
mod startup;
mod statistics;
mod steer;
mod stream;
mod svg;
mod tree;

use anyhow::Result;
use results::folder;

/// A bench by its name, with the function that runs it; the argument is true for a full run.
type Bench = (&'static str, fn(bool) -> Result<()>);
/// All benches, in the order in which they run.
const BENCHES: [Bench; 10] = [
    ("shim", shim::run),
    ("steer", |_| steer::run()),
    ("bytes", bytes::run),
    ("otfx", |_| otfx::run()),
    ("otfx-scenario", |_| otfx::scenario()),
    ("place", place::run),
    ("apps", apps::run),
    ("startup", startup::run),
    ("tree", tree::run),
    // The last: it shows what the others measured.
    ("page", |_| page::write()),
];
/// The names of all benches, for the command line.
pub const NAMES: [&str; BENCHES.len()] = {
    let mut names = [""; BENCHES.len()];
    let mut at = 0;
    // A loop, because iterators cannot run in constants.
    while at < names.len() {
        names[at] = BENCHES[at].0;
        at += 1;
    }
    names
};

/// Whether a bench, or one of all, runs jobs under Invivo. Those of buffers and of the place
/// measure libraries.
pub fn needs_tree(name: Option<&str>) -> bool {
    !name.is_some_and(|name| name.starts_with("otfx") || ["place", "page"].contains(&name))
}

/// Runs one bench, or all; in full, or for a minute or two each.
pub fn run(name: Option<&str>, full: bool) -> Result<()> {
    std::fs::create_dir_all(folder())?;
    let chosen = BENCHES
        .into_iter()
        .filter(|(bench, _)| name.is_none_or(|name| name == *bench));
    for (_, run) in chosen {
        run(full)?;
    }
    Ok(())
}
