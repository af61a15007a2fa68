//! The check that a directory is its user's alone, made before a socket or a token is put into it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Why a directory is not private.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} is not a directory of yours with mode 0700 ({why}); somebody else may have made it: remove \
     it, or set \
     XDG_RUNTIME_DIR to a directory of your own", path.display()
)]
pub struct NotPrivate {
    /// The directory.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: String,
}

/// Checks that `dir` is a directory (no link to one: somebody else could have put it there),
/// belongs to the calling user, and is closed to all others.
///
/// # Errors
/// What is wrong with it.
pub fn check_dir(dir: &Path) -> Result<(), NotPrivate> {
    let why = match std::fs::symlink_metadata(dir) {
        Err(error) => error.to_string(),
        Ok(meta) if !meta.is_dir() => "it is no directory".to_owned(),
        Ok(meta) if meta.uid() != rustix::process::geteuid().as_raw() => {
            format!("its owner is {}", meta.uid())
        }
        Ok(meta) if meta.mode() & 0o077 != 0 => format!("its mode is {:o}", meta.mode() & 0o7777),
        Ok(_) => return Ok(()),
    };
    Err(NotPrivate {
        path: dir.to_owned(),
        why,
    })
}
