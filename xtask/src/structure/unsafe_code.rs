//! Compares the unsafe code of each crate with the table in ARCHITECTURE.md.

use super::edges::rows;
use super::tokens::tokens;
use super::tree::Tree;
use std::collections::BTreeMap;
use std::path::Path;

const HEADING: &str = "## Unsafe code";
/// What a crate without unsafe code says.
const FORBIDDEN: &str = "#![forbid(unsafe_code)]";

/// How often the word stands in a crate, and in how many files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Uses {
    words: usize,
    files: usize,
}

/// One line for each crate that has another number of uses than the table says, and for each
/// without any that does not forbid them.
pub fn differences(tree: &Tree) -> Vec<String> {
    let found = uses(tree);
    let said = table(tree);
    let mut texts = Vec::new();
    for (name, uses) in &found {
        let listed = said.get(name).copied().unwrap_or_default();
        if listed != *uses {
            texts.push(format!(
                "{name}: the word `unsafe` stands {} times in {} files, the table says {} in {}",
                uses.words, uses.files, listed.words, listed.files
            ));
        }
        if *uses == Uses::default() && !forbids(tree, Path::new(name)) {
            texts.push(format!(
                "{name}: a crate without unsafe code has {FORBIDDEN}"
            ));
        }
    }
    for name in said.keys().filter(|name| !found.contains_key(*name)) {
        texts.push(format!("ARCHITECTURE.md: there is no crate {name}"));
    }
    texts
}

/// What is in `src` of each crate; benches and the files of tests beside it are not delivered.
fn uses(tree: &Tree) -> BTreeMap<String, Uses> {
    let name = |folder: &Path| folder.to_string_lossy().into_owned();
    let crates = tree.crates.iter().map(|folder| name(folder));
    let mut found: BTreeMap<String, Uses> = crates.map(|name| (name, Uses::default())).collect();
    for (path, text) in tree.rust() {
        let Some(folder) = tree.crate_of(path) else {
            continue;
        };
        let words = tokens(text)
            .iter()
            .filter(|token| token.text == "unsafe")
            .count();
        if words > 0 && path.starts_with(folder.join("src")) {
            let uses = found.entry(name(folder)).or_default();
            uses.words += words;
            uses.files += 1;
        }
    }
    found
}

/// The rows of the table: a crate, the uses, the files, and the reason.
fn table(tree: &Tree) -> BTreeMap<String, Uses> {
    let document = tree.text(Path::new("ARCHITECTURE.md")).unwrap_or_default();
    let row = |cells: Vec<String>| {
        let [name, words, files, ..] = cells.as_slice() else {
            return None;
        };
        let uses = Uses {
            words: words.parse().ok()?,
            files: files.parse().ok()?,
        };
        Some((name.clone(), uses))
    };
    rows(document, HEADING)
        .into_iter()
        .filter_map(row)
        .collect()
}

/// Whether every root of a crate has that line.
fn forbids(tree: &Tree, folder: &Path) -> bool {
    let mut roots = ["src/lib.rs", "src/main.rs"]
        .into_iter()
        .filter_map(|root| tree.text(&folder.join(root)))
        .peekable();
    roots.peek().is_some() && roots.all(|text| text.contains(FORBIDDEN))
}
