//! The corpora that are checked in: the few inputs with which fuzzing begins everywhere.

use super::targets::{found, libfuzzer, work};
use crate::run::{check, root};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Bytes of a target's inputs: of all together some tens of KiB, which everybody downloads.
const BYTES_MAX: u64 = 8 << 10;
/// Inputs of a target: each is a file of its own, which takes more room than what is in it.
const INPUTS_MAX: usize = 150;
/// Bytes of one input: many short ones reach more than a few long ones in the same room.
const INPUT_BYTES_MAX: usize = 128;

/// Where that of a target is.
pub fn folder(name: &str) -> PathBuf {
    root().join("proto/fuzz/corpus").join(name)
}

/// Makes the corpora of these targets anew, of what is checked in and what runs have found since:
/// libFuzzer's choice of few inputs that take every edge that all short ones take, and of that as
/// many as there is room for.
pub fn keep(targets: &[&str]) -> Result<()> {
    for name in targets {
        let (merged, kept) = (work(name).join("merged"), folder(name));
        let _ = std::fs::remove_dir_all(&merged);
        std::fs::create_dir_all(&merged)?;
        std::fs::create_dir_all(&kept)?;
        let mut merge = libfuzzer(name);
        // How often an edge is taken does not count: that would be thousands of inputs.
        merge.args(["-set_cover_merge=1", "-use_counters=0"]);
        merge.arg(format!("-max_len={INPUT_BYTES_MAX}"));
        merge.arg(&merged).arg(&kept);
        check(merge.arg(found(name)))?;

        let reaching = files(&merged)?;
        let chosen = thinned(reaching.clone());
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

/// Every input, or every second, or every third: as many as there is room for, of all sizes.
fn thinned(mut inputs: Vec<(PathBuf, u64)>) -> Vec<(PathBuf, u64)> {
    // By name where they are equal: the same inputs give the same choice.
    inputs.sort_by_key(|(path, bytes)| (*bytes, path.clone()));
    for step in 1..=inputs.len() {
        let chosen: Vec<_> = inputs.iter().step_by(step).cloned().collect();
        let bytes: u64 = chosen.iter().map(|(_, bytes)| bytes).sum();
        if chosen.len() <= INPUTS_MAX && bytes <= BYTES_MAX {
            return chosen;
        }
    }
    Vec::new()
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
    fn inputs_of_all_sizes_are_kept_where_not_all_fit() {
        let of = |bytes: &[u64]| -> Vec<u64> {
            let input = |bytes: &u64| (PathBuf::from(bytes.to_string()), *bytes);
            let chosen = thinned(bytes.iter().map(input).collect());
            chosen.into_iter().map(|(_, bytes)| bytes).collect()
        };
        assert_eq!(of(&[3, 1, 2]), [1, 2, 3], "all fit");
        assert_eq!(of(&[1, BYTES_MAX, 2, 3]), [1, 3]);
        assert_eq!(of(&[BYTES_MAX + 1]), [] as [u64; 0]);
        let many = vec![1; 2 * INPUTS_MAX];
        assert_eq!(of(&many).len(), INPUTS_MAX);
    }
}
