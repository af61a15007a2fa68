//! Debian's LAMMPS.

use std::ffi::OsString;
use std::path::Path;

const MELT: &str = "/usr/share/lammps/examples/melt/in.melt";

/// The command line of its example `melt` with so many steps that it never comes to its end. The
/// input is written into this folder.
pub fn endless_melt(folder: &Path) -> Vec<OsString> {
    melt(folder, 10_000_000)
}

/// The same with this many steps.
pub fn melt(folder: &Path, steps: u32) -> Vec<OsString> {
    let text = std::fs::read_to_string(MELT).expect("apt-get install lammps-examples");
    let few = "\nrun\t\t250";
    assert!(text.contains(few), "{text}");
    let many = format!("\nrun\t\t{steps}");
    let input = folder.join("in.melt");
    std::fs::write(&input, text.replace(few, &many)).expect("a file");
    let words = ["lmp", "-log", "none", "-in"].map(OsString::from);
    [words.as_slice(), &[input.into()]].concat()
}
