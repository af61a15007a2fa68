//! What each process of a job wrote, with Invivo's own lines told apart.

use crate::mpi::Family;
use std::path::Path;

/// The output of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// The output of every process of a job, in the order of the launcher's ranks.
pub fn read(family: Family, directory: &Path, processes: u32) -> Vec<Output> {
    let file = |process, stream| {
        // A process that wrote nothing may have no file.
        std::fs::read(family.output_file(directory, process, processes, stream)).unwrap_or_default()
    };
    (0..processes)
        .map(|process| Output {
            stdout: file(process, "stdout"),
            stderr: file(process, "stderr"),
        })
        .collect()
}

/// Invivo's lines on all standard error outputs.
pub fn our_lines(outputs: &[Output], launcher: &[u8]) -> Vec<String> {
    let all = outputs
        .iter()
        .map(|output| output.stderr.as_slice())
        .chain([launcher]);
    let ours = |stderr: &[u8]| -> Vec<String> {
        // Outputs of ranks need not be UTF-8.
        let text = String::from_utf8_lossy(stderr);
        let lines = text.lines().filter(|line| line.starts_with("invivo:"));
        lines.map(str::to_owned).collect()
    };
    all.flat_map(ours).collect()
}

/// Error output without the lines that Invivo may add to it.
pub fn without_our_lines(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    text.lines()
        .filter(|line| !line.starts_with("invivo:"))
        .map(|line| format!("{line}\n"))
        .collect()
}
