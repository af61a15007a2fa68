//! Makes the tables and charts of the manual's page on performance.
//!
//! They are made of the figures that are kept beside the page; the rest of it is written by hand.
//! The last runs of each bench are kept, so that one that came out better than it should can be
//! seen.

mod section;
mod sections;

use super::results::folder;
use crate::run::root;
use anyhow::{Context, Result, ensure};
use section::{Charts, Runs, Section};
use serde_json::Value;
use std::path::PathBuf;

/// Runs that are kept of each bench.
const RUNS: usize = 3;
/// Marks before and behind a generated part; the first is followed by the section's name.
const OPENS: &str = "<!-- made by cargo xtask bench page: ";
const CLOSES: &str = "<!-- end -->";

fn page() -> PathBuf {
    root().join("docs/manual/reference/performance.md")
}

fn figures() -> PathBuf {
    root().join("docs/manual/reference/performance")
}

/// Takes over the newest figures of each bench, and makes the page of them.
pub fn write() -> Result<()> {
    std::fs::create_dir_all(figures())?;
    for section in sections::ALL {
        take_over(section)?;
        for (name, chart) in charts(section)? {
            std::fs::write(figures().join(name), chart.svg())?;
        }
    }
    let text = std::fs::read_to_string(page()).context("docs/manual/reference/performance.md")?;
    std::fs::write(page(), made(&text)?)?;
    println!("{}", page().display());
    Ok(())
}

/// Adds the newest run of a bench to those that are kept, unless it is there already.
fn take_over(section: &Section) -> Result<()> {
    let name = section.name;
    let Ok(text) = std::fs::read(folder().join(format!("{name}.json"))) else {
        return Ok(());
    };

    let newest: Value = serde_json::from_slice(&text)?;
    let others = newest["beside"]["cores_used_by_others"].as_f64();
    // A run without this figure is not taken over either.
    if others.is_none_or(|others| others > section.others_max) {
        eprintln!("xtask: others used the cores while {name} was measured: not taken over");
        return Ok(());
    }

    let mut runs = read(name)?;
    // The page can be made several times after one run of a bench.
    if !runs.contains(&newest) {
        runs.push(newest);
        // The oldest runs go.
        runs.drain(..runs.len().saturating_sub(RUNS));
        let runs: Vec<String> = runs.iter().map(lines).collect();
        let text = format!("[{}]\n", runs.join(",\n"));
        std::fs::write(figures().join(format!("{name}.json")), text)?;
    }
    Ok(())
}

/// A run as JSON, one row in a line.
fn lines(run: &Value) -> String {
    let of = run.as_object().into_iter().flatten();
    let fields: Vec<String> = of
        .map(|(name, value)| match value.as_array() {
            Some(rows) => {
                let rows: Vec<String> = rows.iter().map(|row| format!("  {row}")).collect();
                format!("\"{name}\": [\n{}\n]", rows.join(",\n"))
            }
            None => format!("\"{name}\": {value}"),
        })
        .collect();
    format!("{{{}}}", fields.join(",\n"))
}

fn read(name: &str) -> Result<Runs> {
    let file = figures().join(format!("{name}.json"));
    match std::fs::read(&file) {
        Ok(text) => serde_json::from_slice(&text).with_context(|| file.display().to_string()),
        Err(_) => Ok(Runs::new()),
    }
}

fn charts(section: &Section) -> Result<Charts> {
    let runs = read(section.name)?;
    runs.last().map_or(Ok(Vec::new()), section.charts)
}

/// The page with all sections as their figures have it.
fn made(page: &str) -> Result<String> {
    let mut page = page.to_owned();
    for section in sections::ALL {
        let runs = read(section.name)?;
        let text = if runs.is_empty() {
            "Not measured yet.\n".to_owned()
        } else {
            (section.text)(&runs).with_context(|| section.name.to_owned())?
                + &sections::where_and_when(&runs)
        };

        let images: String = charts(section)?
            .iter()
            .map(|(name, chart)| format!("\n![{}](performance/{name})\n", chart.title))
            .collect();

        page = replaced(&page, section.name, &format!("\n{text}{images}\n"))?;
    }
    Ok(page)
}

/// The page with another text in one section.
fn replaced(page: &str, name: &str, text: &str) -> Result<String> {
    let opens = format!("{OPENS}{name} -->\n");

    let (before, rest) = page
        .split_once(&opens)
        .with_context(|| format!("no place for {name}"))?;
    let (old, behind) = rest
        .split_once(CLOSES)
        .with_context(|| format!("no end of {name}"))?;
    // An end that is missing must not make the section swallow the next one.
    ensure!(!old.contains(OPENS), "no end of {name}");
    Ok(format!("{before}{opens}{text}{CLOSES}{behind}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who writes another figure into the page, or measures and does not make it anew, is told.
    #[test]
    fn the_page_is_what_its_figures_make() {
        let text = std::fs::read_to_string(page()).unwrap();
        assert!(
            made(&text).unwrap() == text,
            "once more: cargo xtask bench page"
        );
        for section in sections::ALL {
            for (name, chart) in charts(section).unwrap() {
                let drawn = std::fs::read_to_string(figures().join(name)).unwrap();
                assert!(
                    drawn == chart.svg(),
                    "{name}: once more: cargo xtask bench page"
                );
            }
        }
    }

    #[test]
    fn only_the_section_changes() {
        let page = format!("a\n{OPENS}one -->\nold\n{CLOSES}\nb\n{OPENS}two -->\n{CLOSES}\n");
        let new = replaced(&page, "one", "new\n").unwrap();
        assert_eq!(new, page.replace("old", "new"));
        assert!(replaced(&page, "three", "").is_err());
        assert!(replaced(&format!("{OPENS}one -->\n"), "one", "").is_err());
    }

    #[test]
    fn runs_are_written_as_they_are_read() {
        let run = serde_json::json!({ "name": "x", "rows": [{ "a": 1.5 }, { "a": 2 }],
        "machine": { "cores": 2 } });
        assert_eq!(serde_json::from_str::<Value>(&lines(&run)).unwrap(), run);
    }
}
