//! libotf2's writer, the rival of recorded regions: a preloaded library writes with it, and what it
//! has written is read by `otf2-print`.

use crate::bench::mpi::Mpi;
use crate::bench::results::folder;
use crate::run::output;
use anyhow::{Result, ensure};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Puts the program of a launch under the library. An archive of the run before is removed: it
/// would count as this one's.
pub fn preload(mpi: Mpi, launch: &mut Command, library: &Path) {
    let _ = std::fs::remove_dir_all(archive());
    mpi.preload(launch, library);
}

/// Fails unless each of these regions has been entered and left as often; removes the archive.
pub fn has_written(regions: &[&str], times: u64) -> Result<()> {
    let printed = output(Command::new("otf2-print").arg(archive().join("trace.otf2")));
    let _ = std::fs::remove_dir_all(archive());
    let events = events(&printed?);
    for region in regions {
        for event in ["ENTER", "LEAVE"] {
            let key = (event.to_owned(), (*region).to_owned());
            let written = events.get(&key).copied().unwrap_or(0);
            ensure!(
                written == times,
                "libotf2 wrote {written} of {times} events {event} of {region}"
            );
        }
    }
    Ok(())
}

/// As xtask/bench/probe_otf2.c has it.
fn archive() -> PathBuf {
    folder().join("probe-otf2")
}

/// Events by kind and region, of lines `ENTER  LOCATION  TIME  Region: "NAME" <NUMBER>`.
fn events(text: &str) -> BTreeMap<(String, String), u64> {
    let mut all = BTreeMap::new();
    for line in text.lines() {
        let event = line.split(' ').next().unwrap_or("");
        if let Some(region) = line.split('"').nth(1)
            && ["ENTER", "LEAVE"].contains(&event)
        {
            *all.entry((event.to_owned(), region.to_owned()))
                .or_default() += 1;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_counted_by_region() {
        let text = "=== Events ===\n\
            ENTER       0      152  Region: \"a b\" <0>\n\
            LEAVE       0      153  Region: \"a b\" <0>\n\
            ENTER       0      154  Region: \"a b\" <0>\n";
        let events = events(text);
        assert_eq!(events[&("ENTER".to_owned(), "a b".to_owned())], 2);
        assert_eq!(events[&("LEAVE".to_owned(), "a b".to_owned())], 1);
        assert_eq!(events.len(), 2);
    }
}
