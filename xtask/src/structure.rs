//! `cargo xtask structure`: no circles of files, no forbidden crate edges, limits of size.

mod circles;
mod edges;
mod limits;
mod modules;
mod names;
mod statistics;
#[cfg(test)]
mod tests;
mod tokens;
mod tree;
mod unsafe_code;

use anyhow::{Result, ensure};
use std::path::Path;
use tree::Tree;

/// What a finding breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    Circle,
    CrateEdge,
    FileLength,
    LineWidth,
    TestName,
    Unsafe,
}

/// Something that breaks a rule.
struct Finding {
    rule: Rule,
    text: String,
}

/// The check of the test suite: an error that names everything that breaks a rule.
pub fn check(root: &Path) -> Result<()> {
    let tree = Tree::read(root)?;
    let findings = findings(&tree)?;
    let broken: Vec<String> = findings
        .iter()
        .map(|finding| format!("{:?}: {}", finding.rule, finding.text))
        .collect();

    ensure!(
        broken.is_empty(),
        "{} findings\n{}",
        broken.len(),
        broken.join("\n")
    );
    Ok(())
}

/// Prints all findings, and figures about the files; for any tree.
pub fn print(root: &Path) -> Result<()> {
    let tree = Tree::read(root)?;
    for finding in findings(&tree)? {
        println!("{:?}: {}", finding.rule, finding.text);
    }
    println!("\n{}", statistics::table(&tree));
    Ok(())
}

fn findings(tree: &Tree) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    // Circles are looked for within each crate: between crates cargo allows none.
    for folder in &tree.crates {
        for circle in circles::circles(&tree.root.join(folder))? {
            let root = format!("{}/", tree.root.display());
            let ties = circle.ties.join("\n    ").replace(&root, "");
            found.push(Finding {
                rule: Rule::Circle,
                text: format!(
                    "{} files of {} use each other in a circle\n    {ties}",
                    circle.files.len(),
                    folder.display()
                ),
            });
        }
    }

    for text in edges::differences(tree) {
        found.push(Finding {
            rule: Rule::CrateEdge,
            text,
        });
    }

    for text in unsafe_code::differences(tree) {
        found.push(Finding {
            rule: Rule::Unsafe,
            text,
        });
    }

    let limited = [
        (Rule::FileLength, limits::long_files(tree)),
        (Rule::LineWidth, limits::wide_lines(tree)),
        (Rule::TestName, limits::long_test_names(tree)),
    ];
    for (rule, excesses) in limited {
        for excess in excesses {
            found.push(Finding {
                rule,
                text: format!("{}: {}", excess.file, excess.text),
            });
        }
    }
    Ok(found)
}
