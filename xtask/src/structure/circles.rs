//! Finds circles of files: files of one crate that use each other, directly or through others.

use super::modules::Sources;
use super::names::{Arrows, arrows};
use anyhow::Result;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Files that use each other in a circle, and what ties them.
pub struct Circle {
    pub files: Vec<PathBuf>,
    /// One line for each arrow: file, file, names.
    pub ties: Vec<String>,
}

/// The circles of a crate that lies in `folder`: of its library and of each of its programs.
pub fn circles(folder: &Path) -> Result<Vec<Circle>> {
    let mut roots = vec![folder.join("src/lib.rs"), folder.join("src/main.rs")];
    if let Ok(programs) = std::fs::read_dir(folder.join("src/bin")) {
        roots.extend(programs.flatten().map(|entry| entry.path()));
    }
    roots.retain(|root| root.is_file());

    let mut found = Vec::new();
    for root in roots {
        let sources = Sources::read(&root)?;
        let arrows = arrows(&sources);
        for files in components(sources.files.len(), &arrows) {
            found.push(describe(&sources, &arrows, &files));
        }
    }
    Ok(found)
}

fn describe(sources: &Sources, arrows: &Arrows, files: &BTreeSet<usize>) -> Circle {
    let name = |file: usize| sources.files[file].display();

    let mut ties = Vec::new();
    for ((from, to), names) in arrows {
        if files.contains(from) && files.contains(to) {
            let mut line = format!("{} -> {}:", name(*from), name(*to));
            for name in names {
                let _ = write!(line, " {name}");
            }
            ties.push(line);
        }
    }

    let files = files
        .iter()
        .map(|file| sources.files[*file].clone())
        .collect();
    Circle { files, ties }
}

/// Sets of two files or more of which each reaches every other (Kosaraju's algorithm).
fn components(files: usize, arrows: &Arrows) -> Vec<BTreeSet<usize>> {
    // First pass: files in the order in which their searches end.
    let mut order = Vec::new();
    let mut seen = vec![false; files];
    for file in 0..files {
        visit(file, arrows, false, &mut seen, &mut order);
    }

    let mut seen = vec![false; files];
    // Second pass, against the arrows and from the last file on: what is reached is one component.
    let mut found = Vec::new();
    for file in order.into_iter().rev() {
        let mut component = Vec::new();
        visit(file, arrows, true, &mut seen, &mut component);
        // A file alone is no circle.
        if component.len() > 1 {
            found.push(component.into_iter().collect());
        }
    }
    found
}

/// Appends `file` behind all that it reaches and nobody has seen; against the arrows if `back`.
fn visit(file: usize, arrows: &Arrows, back: bool, seen: &mut [bool], order: &mut Vec<usize>) {
    if std::mem::replace(&mut seen[file], true) {
        return;
    }
    for (from, to) in arrows.keys() {
        let (from, to) = if back { (to, from) } else { (from, to) };
        if *from == file {
            visit(*to, arrows, back, seen, order);
        }
    }
    order.push(file);
}
