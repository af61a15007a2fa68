//! What the processes of a job wrote, each by itself.

use crate::family::Family;
use std::path::Path;

/// What one process wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// To its standard output.
    pub stdout: Vec<u8>,
    /// To its standard error output.
    pub stderr: Vec<u8>,
}

/// What every process of the job wrote, in the order of the launcher's ranks.
pub fn read(family: Family, directory: &Path, processes: u32) -> Vec<Output> {
    let file = |process, stream| {
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
        let text = String::from_utf8_lossy(stderr);
        let lines = text.lines().filter(|line| line.starts_with("invivo:"));
        lines.map(str::to_owned).collect()
    };
    all.flat_map(ours).collect()
}

/// Text without the lines that Invivo may add to a job's error output.
pub fn without_our_lines(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    text.lines()
        .filter(|line| !line.starts_with("invivo:"))
        .map(|line| format!("{line}\n"))
        .collect()
}
