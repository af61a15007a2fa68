//! Replaces a file at once: it is whole or as it was, even if the writer is killed.
//!
//! The new file has a name that nobody can foresee, made exclusively in the same directory, so that
//! no file of the user is overwritten and no link of a stranger followed on the way.

use rustix::fs::Access;
use rustix::io::Errno;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{BufWriter, Error, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// What a new file may be at most; the process' umask takes from it.
const MODE: u32 = 0o666;

/// Writes bytes as the whole of a file, as [`write_with`] does.
///
/// # Errors
/// When they cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    write_with(path, |out| out.write_all(bytes))
}

/// Writes a new file beside `path` and renames it. What is no regular file (a terminal, a pipe, a
/// device) is written to directly, and so is a file that exists in a directory that is read-only.
/// A link of the calling user or of root is followed, and stays.
///
/// # Errors
/// When it cannot be written, or is a link of somebody else; then a regular file is as it was.
pub fn write_with(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let (path, there) = resolve(path)?;
    if there.as_ref().is_some_and(|there| !there.is_file()) {
        let mut file = OpenOptions::new().write(true).open(path)?;
        return fill(&mut file);
    }
    // In the same directory: a rename cannot cross file systems.
    match beside(folder(&path), there.as_ref()) {
        Ok(file) => {
            fill_all(file.as_file(), fill)?;
            // Not renamed, it goes with its name.
            file.persist(path).map_err(|error| error.error)?;
            Ok(())
        }
        Err(refused) if there.is_none() => Err(refused),
        Err(_) => {
            // Not through a link that took the file's place meanwhile.
            let no_link = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
            let file = OpenOptions::new()
                .write(true)
                .truncate(true)
                .custom_flags(no_link)
                .open(path)?;
            fill_all(&file, fill)
        }
    }
}

/// Whether a file could be written now: tries it with an empty one beside it, which goes again.
///
/// # Errors
/// Why not.
pub fn check(path: &Path) -> std::io::Result<()> {
    let (path, there) = resolve(path)?;
    let is_writable = |path: &Path| Ok(rustix::fs::access(path, Access::WRITE_OK)?);
    match there {
        Some(there) if there.is_dir() => Err(Errno::ISDIR.into()),
        Some(there) if !there.is_file() => is_writable(&path),
        // In a folder that is read-only it can still be written in place.
        Some(_) => beside(folder(&path), None)
            .map(drop)
            .or_else(|_| is_writable(&path)),
        None => beside(folder(&path), None).map(drop),
    }
}

/// Where new files for this path are made.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn fill_all(
    file: &File,
    fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut out = BufWriter::new(file);
    fill(&mut out)?;
    out.flush()
}

/// A new file with the mode of the one that it replaces.
fn beside(folder: &Path, there: Option<&Metadata>) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".invivo-");
    builder.permissions(Permissions::from_mode(MODE));
    let file = builder.tempfile_in(folder)?;
    if let Some(there) = there {
        file.as_file().set_permissions(there.permissions())?;
    }
    Ok(file)
}

/// The path with its last links resolved, and what is there. The kernel refuses to follow a
/// stranger's link in `/tmp`; resolved by us it would get past that, so it is refused here.
fn resolve(path: &Path) -> std::io::Result<(PathBuf, Option<Metadata>)> {
    let link = match std::fs::symlink_metadata(path) {
        Ok(there) if there.is_symlink() => there,
        Ok(there) => return Ok((path.to_owned(), Some(there))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok((path.to_owned(), None));
        }
        Err(error) => return Err(error),
    };
    let me = rustix::process::geteuid().as_raw();
    if link.uid() != me && link.uid() != 0 {
        return Err(Error::other(format!(
            "it is a symbolic link of user {}, which is not followed",
            link.uid()
        )));
    }
    // A link that leads nowhere names the file that is to be made.
    let target = match path.canonicalize() {
        Ok(target) => target,
        Err(_) => path
            .parent()
            .unwrap_or(Path::new(""))
            .join(std::fs::read_link(path)?),
    };
    let there = std::fs::symlink_metadata(&target).ok();
    if there.as_ref().is_some_and(Metadata::is_symlink) {
        return Err(Error::other("its links lead nowhere"));
    }
    Ok((target, there))
}

#[cfg(test)]
mod tests;
