//! Files that are kept of jobs that are over, in directories of the user's own.

use crate::directories::{PlaceError, check_job_id, jobs_dir, make_above, private_dir};
use crate::surplus::surplus;
use std::path::PathBuf;

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
    for oldest in surplus(&dir, KEPT_MAX - 1, |_| true) {
        // What cannot be removed stays.
        let _ = std::fs::remove_file(oldest);
    }
    Ok(dir.join(job).with_added_extension(ending))
}
