//! `cargo xtask bench`: figures beside a baseline measured in the same run. Each goes to
//! target/bench/NAME.json with name, value, unit, baseline, ratio (value / baseline), and a
//! paragraph about what was measured; or, where there are many of a kind, a table does, with the
//! machine, and how busy others kept it.

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

/// A bench by its name, with the function that runs it; the argument asks for a full run.
type Bench = (&'static str, fn(bool) -> Result<()>);
/// All of them.
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
/// Their names.
pub const NAMES: [&str; BENCHES.len()] = {
    let mut names = [""; BENCHES.len()];
    let mut at = 0;
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

/// Runs one, or all; in full, or for a minute or two each.
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
