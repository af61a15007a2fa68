//! The files and crates of a source tree, as the structure checks see them.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// A source tree.
pub struct Tree {
    pub root: PathBuf,
    /// Sorted, relative to the root, with their texts.
    pub files: Vec<(PathBuf, String)>,
    /// Folders of crates, relative to the root.
    pub crates: Vec<PathBuf>,
}

/// What is looked at, by the end of its name.
const EXTENSIONS: [&str; 13] = [
    "rs", "py", "c", "h", "cpp", "f90", "sh", "proto", "toml", "md", "js", "mjs", "css",
];

impl Tree {
    /// Reads the tree below `root`.
    pub fn read(root: &Path) -> Result<Tree> {
        let mut tree = Tree {
            root: root.to_owned(),
            files: Vec::new(),
            crates: Vec::new(),
        };
        tree.folder(Path::new(""))?;
        // Directories have no order, and findings are to be the same every time.
        tree.files.sort();
        tree.crates.sort();
        Ok(tree)
    }

    fn folder(&mut self, folder: &Path) -> Result<()> {
        let path = self.root.join(folder);

        let entries =
            std::fs::read_dir(&path).with_context(|| format!("reading {}", path.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let below = folder.join(name.as_ref());
            // Hidden folders and build results are no sources.
            if name.starts_with('.') || name == "target" || name == "node_modules" {
                continue;
            }

            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.folder(&below)?;
            } else if kind.is_file() {
                let known = below.extension().is_some_and(|end| {
                    EXTENSIONS
                        .iter()
                        .any(|known| end == std::ffi::OsStr::new(known))
                });

                if !known {
                    continue;
                }
                // Not all files need be UTF-8; what is replaced does not matter to any check.
                let text = String::from_utf8_lossy(&std::fs::read(entry.path())?).into_owned();
                if name == "Cargo.toml" && text.lines().any(|line| line.trim() == "[package]") {
                    self.crates.push(folder.to_owned());
                }
                self.files.push((below, text));
            }
        }
        Ok(())
    }

    /// The text of a file, if there is one.
    pub fn text(&self, path: &Path) -> Option<&str> {
        let found = self.files.iter().find(|(name, _)| name == path);
        found.map(|(_, text)| text.as_str())
    }

    /// The crate that a file belongs to: the innermost.
    pub fn crate_of(&self, file: &Path) -> Option<&Path> {
        let holds = |folder: &&PathBuf| file.starts_with(folder);
        let inner = |folder: &&PathBuf| folder.components().count();
        self.crates
            .iter()
            .filter(holds)
            .max_by_key(inner)
            .map(PathBuf::as_path)
    }

    /// Files that end in `.rs`.
    pub fn rust(&self) -> impl Iterator<Item = (&Path, &str)> {
        let rust = |path: &Path| path.extension().is_some_and(|end| end == "rs");
        let files = self
            .files
            .iter()
            .map(|(path, text)| (path.as_path(), text.as_str()));
        files.filter(move |(path, _)| rust(path))
    }
}
