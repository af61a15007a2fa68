//! Figures about the files of each crate: their lengths, and how densely they are commented.

use super::limits::{first_test_line, is_generated};
use super::tree::Tree;
use std::collections::BTreeMap;
use std::path::Path;

/// Lines of one kind of file, summed over a crate.
#[derive(Default)]
struct Sums {
    lengths: Vec<usize>,
    /// Lines that are not empty, without tests.
    lines: usize,
    /// Of these, `//` alone.
    comments: usize,
    /// Of these, `///` and `//!`.
    documentation: usize,
}

/// A table of all crates, and of all together.
pub fn table(tree: &Tree) -> String {
    let mut rows = vec![
        [
            "crate",
            "files",
            "median",
            "p90",
            "longest",
            "comments",
            "doc comments",
        ]
        .map(str::to_owned),
    ];

    let mut all = Sums::default();
    let mut crates: BTreeMap<&Path, Sums> = BTreeMap::new();
    for (path, text) in tree.rust() {
        if let Some(folder) = tree.crate_of(path) {
            let within = path.strip_prefix(folder).unwrap_or(path);
            crates.entry(folder).or_default().add(within, text);
            all.add(within, text);
        }
    }

    for (folder, sums) in crates {
        if !sums.lengths.is_empty() {
            rows.push(sums.row(&folder.display().to_string()));
        }
    }
    rows.push(all.row("all"));

    let widths: Vec<usize> = (0..rows[0].len())
        .map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in rows {
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            let cell = if column == 0 {
                format!("{cell:<width$}")
            } else {
                format!("  {cell:>width$}")
            };
            text.push_str(&cell);
        }
        text.push('\n');
    }
    text
}

impl Sums {
    /// `path` is relative to the crate: only what is below `src` counts, and no tests.
    fn add(&mut self, path: &Path, text: &str) {
        let has = |name: &str| path.components().any(|part| part.as_os_str() == name);
        let for_tests = has("tests") || path.file_name().is_some_and(|name| name == "tests.rs");
        if !path.starts_with("src") || for_tests || is_generated(text) {
            return;
        }

        self.lengths.push(text.lines().count());
        let code = first_test_line(text).unwrap_or(usize::MAX);
        for line in text
            .lines()
            .take(code)
            .map(str::trim)
            .filter(|line| !line.is_empty())
        {
            self.lines += 1;
            if line.starts_with("///") || line.starts_with("//!") {
                self.documentation += 1;
            } else if line.starts_with("//") {
                self.comments += 1;
            }
        }
    }

    fn row(mut self, name: &str) -> [String; 7] {
        self.lengths.sort_unstable();

        let count = self.lengths.len();
        let at = |index: usize| self.lengths.get(index).copied().unwrap_or(0).to_string();
        let lines = self.lines.max(1) as f64;
        let share = |part: usize| format!("{:.1} %", 100.0 * part as f64 / lines);
        [
            name.to_owned(),
            count.to_string(),
            at(count / 2),
            at(count * 9 / 10),
            at(count.saturating_sub(1)),
            share(self.comments),
            share(self.documentation),
        ]
    }
}
