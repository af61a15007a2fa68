//! LAMMPS as a program of the benches: an example of its package with another number of steps.

use super::app::App;
use super::read::of_lammps;
use crate::bench::mpi::Mpi;
use crate::bench::results::folder;
use crate::bench::stream;
use anyhow::Result;

/// An example of LAMMPS, with a number of steps that the bench makes larger.
pub fn lammps(
    mpi: Mpi,
    name: &str,
    ranks: u32,
    (example, steps): (&str, u32),
    about: &str,
) -> Result<App> {
    // Read from the command line, so that one input does for all lengths.
    let input = stream::input(example, "${steps}")?;
    let words = ["-var", "steps", &steps.to_string(), "-in"].map(str::to_owned);
    let mut arguments = words.to_vec();
    arguments.push(input.display().to_string());
    Ok(App {
        mpi,
        name: name.to_owned(),
        about: about.to_owned(),
        ranks,
        program: "lmp".into(),
        arguments,
        steps: Some(2),
        folder: folder(),
        rival: false,
        read: of_lammps,
    })
}
