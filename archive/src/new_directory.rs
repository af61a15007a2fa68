//! A directory that appears whole or not at all: it is filled under a name that nobody can foresee,
//! beside the target, and gets the target's name at the end. Dropped before, it goes with all that
//! is in it; a process that is killed leaves it under the other name, which begins with `.invivo-`.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A directory that is being filled.
#[derive(Debug)]
pub struct NewDirectory {
    target: PathBuf,
    dir: TempDir,
}

impl NewDirectory {
    /// One that is to have this name.
    ///
    /// # Errors
    /// When something has that name already, or nothing can be made beside it.
    pub fn beside(target: &Path) -> io::Result<NewDirectory> {
        // A trailing slash names the directory itself.
        let target: PathBuf = target.components().collect();
        if target.file_name().is_none() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it has no name of its own; give the name of a new directory",
            ));
        }
        refuse_existing(&target)?;
        let folder = match target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        // In the same directory: a rename cannot cross file systems.
        let mut builder = tempfile::Builder::new();
        builder.prefix(".invivo-");
        // Those of any new directory: the process' umask takes from them.
        builder.permissions(std::fs::Permissions::from_mode(0o777));
        let dir = builder.tempdir_in(folder)?;
        Ok(NewDirectory { target, dir })
    }

    /// Where it is filled.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// When something has the name by now; then nothing is left of it.
    pub fn appear(self) -> io::Result<()> {
        rename_new(self.dir.path(), &self.target)?;
        // It has another name now: what gets the old one meanwhile must not be removed.
        let _ = self.dir.keep();
        Ok(())
    }
}

fn refuse_existing(target: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(target) {
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "it exists already, and is left as it is; give another name",
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Renames a directory to a name that nothing has: also an empty directory would be replaced by a
/// plain rename.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        // Some network file systems cannot; between the look and the rename somebody else would
        // have to make an empty directory of this name.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            refuse_existing(to)?;
            std::fs::rename(from, to)
        }
        Err(rustix::io::Errno::EXIST) => refuse_existing(to),
        Err(error) => Err(error.into()),
    }
}
