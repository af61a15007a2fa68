//! Compares the dependencies between our crates with the table in ARCHITECTURE.md.

use super::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Where the table stands.
const DOCUMENT: &str = "ARCHITECTURE.md";
const HEADING: &str = "## Crate edges";

/// For each crate those that it depends on, all named by their folders.
type Edges = BTreeMap<String, BTreeSet<String>>;

/// One line for each difference between manifests and table.
pub fn differences(tree: &Tree) -> Vec<String> {
    let built = manifests(tree);
    let Some(allowed) = tree.text(Path::new(DOCUMENT)).and_then(table) else {
        return vec![format!("{DOCUMENT} has no table under \"{HEADING}\"")];
    };

    let mut found = Vec::new();
    for (name, needs) in &built {
        let Some(may) = allowed.get(name) else {
            found.push(format!(
                "{DOCUMENT}: the crate {name} is missing under \"{HEADING}\""
            ));
            continue;
        };
        // Both directions: the table must neither forbid what is there nor allow what is not.
        for need in needs.difference(may) {
            found.push(format!(
                "{name}/Cargo.toml: may not depend on {need} ({DOCUMENT})"
            ));
        }
        for need in may.difference(needs) {
            found.push(format!("{DOCUMENT}: {name} does not depend on {need}"));
        }
    }

    for name in allowed.keys().filter(|name| !built.contains_key(*name)) {
        found.push(format!("{DOCUMENT}: there is no crate {name}"));
    }
    found
}

/// The edges that the manifests make; what only tests need is left out.
fn manifests(tree: &Tree) -> Edges {
    let text = |folder: &Path| tree.text(&folder.join("Cargo.toml")).unwrap_or_default();
    let folder_of = |folder: &Path| folder.to_string_lossy().into_owned();
    let packages: BTreeMap<&str, String> = tree
        .crates
        .iter()
        .filter_map(|folder| Some((package(text(folder))?, folder_of(folder))))
        .collect();

    let needs = |folder: &Path| {
        // A crate may name itself to switch on a feature for its own tests.
        let own = folder_of(folder);
        let names = dependencies(text(folder)).into_iter();
        names
            .filter_map(|name| packages.get(name).cloned())
            .filter(|need| *need != own)
            .collect()
    };

    tree.crates
        .iter()
        .map(|folder| (folder_of(folder), needs(folder)))
        .collect()
}

fn package(manifest: &str) -> Option<&str> {
    let (_, section) = manifest.split_once("[package]")?;
    let line = section.lines().find(|line| line.starts_with("name"))?;
    line.split('"').nth(1)
}

fn dependencies(manifest: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut counts = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            // Development dependencies are left out: tests may use anything.
            let section = section.trim_end_matches(']');
            counts = section == "build-dependencies"
                || section == "dependencies"
                || (section.starts_with("target.") && section.ends_with(".dependencies"));
        } else if counts && !line.starts_with('#') {
            // `name.workspace = true` and `name = ...` alike.
            found.extend(
                line.split(['.', ' ', '='])
                    .next()
                    .filter(|name| !name.is_empty()),
            );
        }
    }
    found
}

/// The crates of the table, each with those that it depends on, with commas between them.
fn table(document: &str) -> Option<Edges> {
    let edges: Edges = rows(document, HEADING)
        .into_iter()
        .filter_map(|cells| {
            let needs = cells.get(1)?.split(',').map(|need| need.trim().to_owned());
            let needs = needs
                .filter(|need| !need.is_empty() && need != "-")
                .collect();
            Some((cells.first()?.clone(), needs))
        })
        .collect();
    (!edges.is_empty()).then_some(edges)
}

/// The cells of the first table under a heading, without the marks of code.
pub fn rows(document: &str, heading: &str) -> Vec<Vec<String>> {
    let section = document.split_once(&format!("\n{heading}\n"));
    let lines = section.map_or("", |(_, section)| section).lines();
    let lines = lines.skip_while(|line| !line.starts_with('|'));
    let lines = lines.take_while(|line| line.starts_with('|')).skip(2);
    let plain = |cell: &str| cell.replace('`', "").trim().to_owned();
    lines
        .map(|line| line.split('|').skip(1).map(plain).collect())
        .collect()
}
