//! Builds the manual with mdBook, and follows all relative links of all documents.

use super::ended::Ended;
use crate::run::root;
use crate::setup::tool;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// Where documents stand: files, and folders with all that is below.
const DOCUMENTS: [&str; 8] = [
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs",
    "deploy",
    "tests",
];

/// Everything resolves, and the book can be made.
pub fn check() -> Result<Ended> {
    let broken = broken_links(root())?;
    ensure!(
        broken.is_empty(),
        "{} broken links\n{}",
        broken.len(),
        broken.join("\n")
    );

    let Some(mdbook) = tool("mdbook") else {
        let links = "links only: the book by mdbook, compiled first by --all";
        return Ok(Ended::PassedBut(links.into()));
    };
    let mut book = Command::new(mdbook);
    let built = book
        .arg("build")
        .arg(root().join("docs"))
        .output()
        .context("starting mdbook")?;
    let said = String::from_utf8_lossy(&built.stderr);
    ensure!(
        built.status.success() && !said.contains("ERROR"),
        "mdbook: {said}"
    );
    Ok(Ended::Passed)
}

/// One line for each link that leads nowhere.
pub fn broken_links(root: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for name in DOCUMENTS {
        collect(&root.join(name), &mut files)?;
    }

    let mut broken = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file)?;
        for link in links(&text) {
            if !leads_somewhere(file, &text, &link) {
                let name = file.strip_prefix(root).unwrap_or(file);
                broken.push(format!("{}: {link}", name.display()));
            }
        }
    }

    // A page that the summary does not list is not in the book.
    let listed = std::fs::read_to_string(root.join("docs/manual/SUMMARY.md")).unwrap_or_default();
    let listed: BTreeSet<String> = links(&listed).into_iter().collect();
    for file in &files {
        if let Ok(page) = file.strip_prefix(root.join("docs/manual")) {
            let page = page.display().to_string();
            if page != "SUMMARY.md" && !listed.contains(&page) {
                broken.push(format!("docs/manual/SUMMARY.md does not name {page}"));
            }
        }
    }
    Ok(broken)
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if path.is_dir() {
        for entry in std::fs::read_dir(path)? {
            collect(&entry?.path(), files)?;
        }
    } else if path.is_file() && path.extension().is_some_and(|end| end == "md") {
        files.push(path.to_owned());
    }
    Ok(())
}

/// Targets of `[text](target)`, outside of code; other hosts' are left out.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        let mut rest = line.as_str();
        while let Some((_, after)) = rest.split_once("](") {
            let Some((target, more)) = after.split_once(')') else {
                break;
            };
            // A title may follow the target.
            let target = target.split(' ').next().unwrap_or_default();
            if !target.contains("://") && !target.starts_with("mailto:") && !target.is_empty() {
                found.push(target.to_owned());
            }
            rest = more;
        }
    }
    found
}

/// Lines without fenced blocks and without `code`.
fn prose(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            // Every second piece is outside of backquotes.
            lines.push(line.split('`').step_by(2).collect::<Vec<_>>().join("`"));
        }
    }
    lines
}

fn leads_somewhere(file: &Path, text: &str, link: &str) -> bool {
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    if path.is_empty() {
        return anchors(text).contains(anchor);
    }

    let target = plain(&file.with_file_name("").join(path));
    if !target.exists() {
        return false;
    }
    if anchor.is_empty() || target.extension().is_none_or(|end| end != "md") {
        return true;
    }
    std::fs::read_to_string(target).is_ok_and(|text| anchors(&text).contains(anchor))
}

/// Without `..`, which would need folders that exist.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain
}

/// The anchors of headings, as mdBook and code hosts make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let heading = line.trim_start_matches('#');
        // A line of hashes without a space is no heading.
        if fenced || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let heading = heading.trim().to_lowercase();
        let kept = heading
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();

        // The second of a name has a number.
        let mut name = anchor.clone();
        let mut count = 0;
        while !found.insert(name) {
            count += 1;
            name = format!("{anchor}-{count}");
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_links_are_found_and_others_are_not() {
        let root = crate::run::root().join(format!("target/tmp/manual-{}", std::process::id()));
        let manual = root.join("docs/manual");
        std::fs::create_dir_all(&manual).unwrap();
        let write = |name: &str, text: &str| std::fs::write(root.join(name), text).unwrap();
        write("docs/manual/SUMMARY.md", "- [a](a.md)\n");
        write(
            "docs/manual/a.md",
            "# One `two`: three\n\n[x](../../README.md) [y](#one-two-three)\n",
        );
        write(
            "README.md",
            "[a](docs/manual/a.md#one-two-three) `[no](link)` [w](https://x.y/z)\n",
        );
        assert_eq!(broken_links(&root).unwrap(), Vec::<String>::new());

        write("docs/manual/b.md", "[x](c.md) [y](a.md#four) [z](#five)\n");
        let broken = broken_links(&root).unwrap();
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(
            broken.len(),
            4,
            "three links, and a page outside of the summary: {broken:?}"
        );
    }
}
