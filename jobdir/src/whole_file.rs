//! Replaces a file at once: it is whole or as it was, even if the writer is killed.

use std::path::{Path, PathBuf};

/// Writes a new file beside `path` and renames it. What is no regular file (a terminal, a pipe) is
/// written to directly, and so is a file in a directory that is read-only.
///
/// # Errors
/// When it cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let Some(file) = place(path) else {
        return std::fs::write(path, bytes);
    };
    // In the same directory: a rename cannot cross file systems.
    let beside = file.with_added_extension("new");
    std::fs::write(&beside, bytes)
        .and_then(|()| std::fs::rename(&beside, &file))
        .or_else(|_| {
            let _ = std::fs::remove_file(&beside);
            std::fs::write(path, bytes)
        })
}

/// The file's path with links resolved; nothing where there is something else than a file.
fn place(path: &Path) -> Option<PathBuf> {
    match std::fs::metadata(path) {
        Ok(metadata) => metadata
            .is_file()
            .then(|| path.canonicalize().ok())
            .flatten(),
        // A link that leads nowhere yet is followed by whoever writes.
        Err(_) => (!path.is_symlink()).then(|| path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_replaced_and_links_and_pipes_stay() {
        let dir = tempfile::tempdir().expect("a directory");
        let (path, link) = (dir.path().join("report.txt"), dir.path().join("link"));
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        for text in ["first", "2nd"] {
            write(&link, text.as_bytes()).expect("written");
            assert_eq!(std::fs::read_to_string(&path).expect("a file"), text);
        }
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_dir(dir.path()).expect("a listing").count(), 2);
        write(Path::new("/dev/null"), b"gone").expect("written");
        let metadata = std::fs::metadata("/dev/null").expect("a device");
        assert!(!metadata.is_file(), "a device stays one");
        assert!(write(&dir.path().join("none/report.txt"), b"text").is_err());
    }
}
