//! EZTrace, the rival: it is preloaded, and must have written its trace.

use super::mpi::Mpi;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The least bytes of an enter and a leave, in the trace of a call.
const CALL_BYTES_MIN: u64 = 10;

/// Puts the program of a launch under EZTrace. A trace of the run before is removed: it would count
/// as this one's.
pub fn preload(mpi: Mpi, launch: &mut Command, program: &Path, runs_in: &Path) -> Result<()> {
    let library = mpi.eztrace().context("EZTrace")?;
    let _ = std::fs::remove_dir_all(trace(program, runs_in));
    mpi.preload(launch, &library);
    Ok(())
}

/// Fails where EZTrace has written less than an enter and a leave for each call; removes the trace.
pub fn has_traced(program: &Path, runs_in: &Path, calls: u64) -> Result<()> {
    let trace = trace(program, runs_in);
    let bytes = bytes_below(&trace);
    let _ = std::fs::remove_dir_all(trace);
    ensure!(
        bytes > CALL_BYTES_MIN * calls,
        "EZTrace wrote {bytes} bytes for {calls} calls: it recorded nothing"
    );
    Ok(())
}

/// The folder that EZTrace writes, where the program runs.
fn trace(program: &Path, runs_in: &Path) -> PathBuf {
    let mut name = program.file_name().unwrap_or_default().to_owned();
    name.push("_trace");
    runs_in.join(name)
}

fn bytes_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let of_entry = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(about) if about.is_dir() => bytes_below(&entry.path()),
        Ok(about) => about.len(),
        Err(_) => 0,
    };
    entries.map(of_entry).sum()
}
