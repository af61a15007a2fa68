//! Files that are kept of jobs that are over, in directories of the user's own.

use crate::directories::{PlaceError, check_job_id, jobs_dir, make_above, private_dir};
use std::path::{Path, PathBuf};

/// Files of a kind that are kept: timelines have some 50 MB each at most.
const KEPT_MAX: usize = 8;

/// What is kept, each kind in a directory beside [`jobs_dir`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Timelines of jobs that did not end well and have no report.
    Timelines,
    /// Reports that could not be written where they were to go.
    Reports,
}

/// The path of a new file, in a directory that is made if need be. Of the files that are there the
/// oldest are removed.
///
/// # Errors
/// When the directory cannot be made or is not ours.
pub fn kept_path(kept: Kept, job: &str, ending: &str) -> Result<PathBuf, PlaceError> {
    check_job_id(job)?;
    let jobs = jobs_dir()?;
    let ours = jobs.parent().unwrap_or(&jobs);
    make_above(ours)?;
    let dir = ours.join(match kept {
        Kept::Timelines => "timelines",
        Kept::Reports => "reports",
    });
    private_dir(ours)?;
    private_dir(&dir)?;
    remove_oldest(&dir, KEPT_MAX - 1);
    Ok(dir.join(job).with_added_extension(ending))
}

/// Removes all but the newest so many files. What cannot be removed stays.
fn remove_oldest(dir: &Path, kept: usize) {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    let mut all: Vec<_> = entries
        .flatten()
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    all.sort();
    // Sorted by time, the oldest first.
    let surplus = all.len().saturating_sub(kept);
    for (_, path) in all.into_iter().take(surplus) {
        let _ = std::fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_stay() {
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["a", "b", "c"] {
            std::fs::write(dir.path().join(name), "x").expect("written");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        remove_oldest(dir.path(), 1);
        let left: Vec<_> = std::fs::read_dir(dir.path())
            .expect("a directory")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        assert_eq!(left, ["c"]);
    }
}
