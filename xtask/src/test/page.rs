//! Writes the results of the long run into the manual's page.

use super::commit::PAGE;
use super::line::Outcome;
use super::results::{Record, Results};
use crate::run::root;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Marks before and behind what is written.
const OPENS: &str = "<!-- made by cargo xtask test --all -->\n";
const CLOSES: &str = "<!-- end -->";
/// Characters of a note that a cell of the table takes: a sentence or three.
const NOTE_MAX: usize = 300;
/// Characters of a commit's name that tell it from others.
const COMMIT: usize = 12;

/// A check, and its parts in their order; a check without parts is its only one.
pub struct Section {
    pub check: &'static str,
    pub about: &'static str,
    pub parts: Vec<String>,
}

/// Writes what is remembered of these, as it looks on this commit.
pub fn write(results: &Results, commit: &str, sections: &[Section]) -> Result<()> {
    let file = root().join(PAGE);
    let page = std::fs::read_to_string(&file).context(PAGE)?;
    let page = with(&page, &text(results, commit, sections))?;
    std::fs::write(&file, page).context(PAGE)
}

/// The page with another text between the marks.
fn with(page: &str, text: &str) -> Result<String> {
    let (before, rest) = page.split_once(OPENS).context("no mark that opens")?;
    let (_, behind) = rest.split_once(CLOSES).context("no mark that closes")?;
    Ok(format!("{before}{OPENS}{text}{CLOSES}{behind}"))
}

/// The last run of a part, which may not have run yet.
type Row<'a> = (&'a str, Option<&'a Record>);

fn text(results: &Results, commit: &str, sections: &[Section]) -> String {
    let rows = |section: &Section| -> Vec<(String, Option<Record>)> {
        let last = |part: &String| (part.clone(), results.last(commit, part).cloned());
        section.parts.iter().map(last).collect()
    };
    let all: Vec<_> = sections.iter().map(rows).collect();
    let all: Vec<Vec<Row<'_>>> = all
        .iter()
        .map(|rows| {
            rows.iter()
                .map(|(part, row)| (part.as_str(), row.as_ref()))
                .collect()
        })
        .collect();

    let mut text = summary(commit, &all.concat());
    text.push_str(&head("check"));
    for (section, rows) in sections.iter().zip(&all) {
        text.push_str(&match rows.as_slice() {
            [(part, record)] if *part == section.check => row(part, *record),
            rows => together(section.check, rows),
        });
    }
    for (section, rows) in sections.iter().zip(&all) {
        if rows.len() > 1 {
            let _ = write!(text, "\n## {}: {}\n\n", section.check, section.about);
            text.push_str(&head("part"));
            for (part, record) in rows {
                let name = part.strip_prefix(section.check).unwrap_or(part);
                text.push_str(&row(name.trim_start_matches('/'), *record));
            }
        }
    }
    text
}

/// How many came to what, on which commits and machines.
fn summary(commit: &str, rows: &[Row<'_>]) -> String {
    let records: Vec<&Record> = rows.iter().filter_map(|(_, record)| *record).collect();
    let elsewhere = records.iter().filter(|one| one.commit != commit).count();
    let hours = records.iter().map(|one| one.seconds).sum::<f64>() / 3600.0;
    let on = match elsewhere {
        0 => "all on this commit".to_owned(),
        // Whoever reads "passed" has to know on what.
        some => format!("**{some} on other commits**, which the table names"),
    };
    let mut text = format!(
        "\nCommit `{}`. Of {} parts {}; {on}. They took {hours:.1} hours.\n\n",
        short(commit),
        rows.len(),
        counts(rows)
    );

    let machines: BTreeSet<&str> = records.iter().map(|one| one.machine.as_str()).collect();
    for machine in machines {
        let parts = records.iter().filter(|one| one.machine == machine).count();
        let _ = writeln!(text, "- {parts} on {machine}");
    }
    text.push('\n');
    text
}

/// "10 passed, 2 skipped, 1 not run yet".
fn counts(rows: &[Row<'_>]) -> String {
    let of = |outcome: Option<Outcome>| {
        let is_it = |(_, record): &&Row<'_>| record.map(|record| record.outcome) == outcome;
        let word = outcome.map_or("not run yet", Outcome::word);
        (rows.iter().filter(is_it).count(), word)
    };
    let outcomes = Outcome::ALL.into_iter().map(Some).chain([None]);
    let words = outcomes.map(of).filter(|(number, _)| *number > 0);
    let words: Vec<String> = words
        .map(|(number, word)| format!("{number} {word}"))
        .collect();
    words.join(", ")
}

fn head(first: &str) -> String {
    format!("| {first} | commit | begun (UTC) | seconds | result |\n|---|---|---|---:|---|\n")
}

fn row(name: &str, record: Option<&Record>) -> String {
    let Some(record) = record else {
        return format!("| `{name}` | - | - | - | not run yet |\n");
    };
    let note = cell(&record.note);
    let colon = if note.is_empty() { "" } else { ": " };
    format!(
        "| `{name}` | {} | {} | {:.1} | {}{colon}{note} |\n",
        short(&record.commit),
        record.date.trim_end_matches('Z'),
        record.seconds,
        record.outcome.word()
    )
}

/// A check with parts in one row.
fn together(check: &str, rows: &[Row<'_>]) -> String {
    let records = || rows.iter().filter_map(|(_, record)| *record);
    let commits: BTreeSet<&str> = records().map(|record| short(&record.commit)).collect();
    let commits: Vec<&str> = commits.into_iter().collect();
    let first = records()
        .map(|record| record.date.trim_end_matches('Z'))
        .min();
    format!(
        "| `{check}` | {} | {} | {:.1} | {} |\n",
        commits.join(", "),
        first.unwrap_or("-"),
        records().map(|record| record.seconds).sum::<f64>(),
        counts(rows)
    )
}

fn short(commit: &str) -> &str {
    commit.get(..COMMIT).unwrap_or(commit)
}

/// A note as it fits in a cell: one line, without what has a meaning there.
fn cell(note: &str) -> String {
    let note = note.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut cell: String = note.chars().take(NOTE_MAX).collect();
    if cell.len() < note.len() {
        cell.push_str("...");
    }
    // Words in angle brackets would be HTML.
    cell.replace('|', "\\|").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::{record, results};
    use super::*;

    fn sections() -> [Section; 2] {
        let section = |check, parts: &[&str]| Section {
            check,
            about: "what it holds",
            parts: parts.iter().map(|part| (*part).to_owned()).collect(),
        };
        [
            section("plain", &["plain"]),
            section("fuzz", &["fuzz/link", "fuzz/peer"]),
        ]
    }

    #[test]
    fn parts_on_another_commit_are_named() {
        let mut records = vec![
            record("now", "plain", Outcome::Passed),
            record("before", "fuzz/link", Outcome::Passed),
        ];
        let page = text(&results(&records), "now", &sections());
        for words in [
            "Commit `now`. Of 3 parts 2 passed, 1 not run yet; **1 on other commits**",
            "- 2 on a machine\n",
            "| `plain` | now | 2026-01-02 03:04 | 1.5 | passed: a \"note\" of two lines |\n",
            "| `fuzz` | before | 2026-01-02 03:04 | 1.5 | 1 passed, 1 not run yet |\n",
            "## fuzz: what it holds\n",
            "| `link` | before | ",
            "| `peer` | - | - | - | not run yet |\n",
        ] {
            assert!(page.contains(words), "{words}\n{page}");
        }

        records.push(record("now", "fuzz/link", Outcome::Failed));
        records.push(record("now", "fuzz/peer", Outcome::Skipped));
        let page = text(&results(&records), "now", &sections());
        let words = "Of 3 parts 1 passed, 1 skipped, 1 failed; all on this commit.";
        assert!(page.contains(words), "{page}");
    }

    #[test]
    fn a_note_breaks_no_table() {
        assert_eq!(cell("a\n| b <c>"), "a \\| b &lt;c>");
        assert_eq!(cell(&"x".repeat(1000)).len(), NOTE_MAX + 3);
    }

    #[test]
    fn the_page_has_a_place_for_the_results() {
        let page = std::fs::read_to_string(root().join(PAGE)).unwrap();
        let written = with(&page, "RESULTS\n").unwrap();
        assert!(written.contains(&format!("{OPENS}RESULTS\n{CLOSES}")));
        // What is written by hand stays.
        let again = with(&written, "OTHERS\n").unwrap();
        assert_eq!(again, written.replace("RESULTS\n", "OTHERS\n"));
    }
}
