//! The corpora that are checked in: the few inputs with which fuzzing begins everywhere.

use super::targets::{found, libfuzzer, work};
use crate::run::{check, root};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Bytes of a target's inputs: of all together some tens of KiB, which everybody downloads.
const BYTES_MAX: u64 = 8 << 10;
/// Inputs of a target: each is a file of its own, which takes more room than what is in it.
const INPUTS_MAX: usize = 100;

/// Where that of a target is.
pub fn folder(name: &str) -> PathBuf {
    root().join("proto/fuzz/corpus").join(name)
}

/// Makes the corpora of these targets anew, of what is checked in and what runs have found since:
/// libFuzzer's choice of the smallest inputs that reach what all of them reach, and of that the
/// smallest that there is room for.
pub fn keep(targets: &[&str]) -> Result<()> {
    for name in targets {
        let (merged, kept) = (work(name).join("merged"), folder(name));
        let _ = std::fs::remove_dir_all(&merged);
        std::fs::create_dir_all(&merged)?;
        std::fs::create_dir_all(&kept)?;
        let mut merge = libfuzzer(name);
        merge.arg("-merge=1").arg(&merged).arg(&kept);
        check(merge.arg(found(name)))?;

        let reaching = files(&merged)?;
        let chosen = smallest(reaching.clone());
        std::fs::remove_dir_all(&kept)?;
        std::fs::create_dir_all(&kept)?;
        for (input, _) in &chosen {
            let to = kept.join(input.file_name().context("a file's name")?);
            std::fs::copy(input, to)?;
        }
        println!(
            "{name}: {} inputs of {} are kept, {} bytes",
            chosen.len(),
            reaching.len(),
            chosen.iter().map(|(_, bytes)| bytes).sum::<u64>()
        );
    }
    Ok(())
}

/// The smallest inputs, as many as there is room for.
fn smallest(mut inputs: Vec<(PathBuf, u64)>) -> Vec<(PathBuf, u64)> {
    // By name where they are equal: the same inputs give the same choice.
    inputs.sort_by_key(|(path, bytes)| (*bytes, path.clone()));
    let mut room = BYTES_MAX;
    let fits = |(_, bytes): &(PathBuf, u64)| {
        let left = room.checked_sub(*bytes);
        room = left.unwrap_or(room);
        left.is_some()
    };
    inputs
        .into_iter()
        .take(INPUTS_MAX)
        .take_while(fits)
        .collect()
}

/// The files in a folder, which may be missing, with their sizes.
fn files(folder: &Path) -> Result<Vec<(PathBuf, u64)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let entry = entry?;
        files.push((entry.path(), entry.metadata()?.len()));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::super::targets::TARGETS;
    use super::*;

    #[test]
    fn every_target_has_a_small_corpus() {
        for name in TARGETS {
            let inputs = files(&folder(name)).unwrap();
            let bytes: u64 = inputs.iter().map(|(_, bytes)| bytes).sum();
            let number = inputs.len();
            assert!(
                (1..=INPUTS_MAX).contains(&number),
                "{name}: {number} inputs"
            );
            assert!(bytes <= BYTES_MAX, "{name}: {bytes} bytes");
        }
    }

    #[test]
    fn what_has_no_room_is_left() {
        let inputs: Vec<(PathBuf, u64)> = [5, BYTES_MAX - 9, 4, BYTES_MAX, 1]
            .into_iter()
            .map(|bytes| (PathBuf::from(bytes.to_string()), bytes))
            .collect();
        let bytes: Vec<u64> = smallest(inputs)
            .into_iter()
            .map(|(_, bytes)| bytes)
            .collect();
        assert_eq!(bytes, [1, 4, 5]);
        let many = vec![(PathBuf::new(), 1); 2 * INPUTS_MAX];
        assert_eq!(smallest(many).len(), INPUTS_MAX);
    }
}
