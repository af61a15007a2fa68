//! Which entries of a directory are too many: all but the newest.

use std::path::{Path, PathBuf};

/// The entries that count, but for the newest so many; the oldest first. Of a directory that cannot
/// be read, none.
pub fn surplus(dir: &Path, kept: usize, counts: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let aged = paths.filter(|path| counts(path)).filter_map(|path| {
        // Not of what a link leads to: the link is what would be removed.
        let changed = std::fs::symlink_metadata(&path).ok()?.modified().ok()?;
        Some((changed, path))
    });
    let mut all: Vec<_> = aged.collect();
    all.sort();
    all.truncate(all.len().saturating_sub(kept));
    all.into_iter().map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_stay() {
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["c", "b", "other", "a"] {
            std::fs::write(dir.path().join(name), "x").expect("written");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let counts = |path: &Path| !path.ends_with("other");
        let of = |kept| {
            let all = surplus(dir.path(), kept, counts);
            let names = all.iter().map(|path| path.file_name().expect("a name"));
            names.map(std::ffi::OsStr::to_os_string).collect::<Vec<_>>()
        };
        assert_eq!(of(1), ["c", "b"]);
        assert_eq!(of(0).len(), 3);
        assert!(of(3).is_empty() && of(9).is_empty());
        assert!(surplus(&dir.path().join("none"), 0, counts).is_empty());
    }
}
