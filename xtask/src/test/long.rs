//! `cargo xtask test --all`: every check, the longest in parts.
//!
//! It takes hours. So what has passed on a commit is not run again on it, unless that is asked for;
//! a tree with changes is no commit, and of it nothing is remembered.

use super::commit;
use super::line::{Line, Outcome};
use super::machine;
use super::page::{self, Section};
use super::results::{Record, Results};
use crate::run::{output, root};
use crate::suite::{self, CHECKS, Check, parts::Part};
use anyhow::{Result, bail};
use std::process::Command;

/// Where results are remembered, in `target`.
const RESULTS: &str = "long-tests/results.jsonl";

/// Characters of a note that are remembered: a fuzzer's log has megabytes.
const NOTE_MAX: usize = 2000;

/// One go of the long run.
struct LongRun<'a> {
    /// Checks and parts that were chosen; all of them where none was.
    only: &'a [String],
    again: bool,
    /// What is tested; nothing where the tree is no commit.
    commit: Option<String>,
    machine: String,
    results: Results,
    /// Every check with what is known of its parts, for the page.
    sections: Vec<Section>,
    lines: Vec<Line>,
}

/// Runs what is chosen and has not passed on this commit; all of it with `again`.
pub fn run(only: &[String], again: bool) -> Result<Vec<Line>> {
    let commit = commit::tested(root());
    match &commit {
        Some(commit) => eprintln!("xtask: the long run of commit {commit}"),
        None => eprintln!(
            "xtask: this tree is no commit: nothing is remembered, and the page of the manual \
             stays as it is"
        ),
    }
    let results = Results::read(&root().join("target").join(RESULTS));
    let section = |check: &Check| Section {
        check: check.name,
        about: check.about,
        parts: match suite::parts(check.name) {
            // Which these are is known when they are built: until then, those of the last time.
            Some(_) => results.parts(check.name),
            None => vec![check.name.to_owned()],
        },
    };
    let mut run = LongRun {
        only,
        again,
        commit,
        machine: machine::described(),
        sections: CHECKS.iter().map(section).collect(),
        results,
        lines: Vec::new(),
    };
    for check in CHECKS.iter().filter(|check| is_run(check.name, only)) {
        run.check(check)?;
    }
    Ok(run.lines)
}

/// Whether a check is chosen, or a part of it, or what needs it: what was made of an older commit
/// must not be tested in the name of this one.
fn is_run(check: &str, only: &[String]) -> bool {
    let is_needed = |other: &Check| other.needs == Some(check) && is_run(other.name, only);
    only.is_empty() || only.iter().any(|name| is_of(name, check)) || CHECKS.iter().any(is_needed)
}

/// Whether a name is that of a check or of a part of it.
fn is_of(name: &str, check: &str) -> bool {
    name.split('/').next() == Some(check)
}

/// Whether a part is chosen: by its name, or by what it is below.
fn is_chosen(part: &str, only: &[String]) -> bool {
    let is_it = |name: &String| {
        let rest = part.strip_prefix(name.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    only.is_empty() || only.iter().any(is_it)
}

impl LongRun<'_> {
    fn check(&mut self, check: &Check) -> Result<()> {
        if let Some(line) = Line::without_need(check, &self.lines) {
            self.lines.push(line);
            return Ok(());
        }

        let Some(parts) = suite::parts(check.name) else {
            let name = check.name;
            if suite::MAKES.contains(&name) || !self.has_passed(name) {
                let (date, line) = (now(), Line::of(name, check.about, || (check.run)(true)));
                self.keep(date, line)?;
            }
            return self.write_page();
        };
        let found = match parts() {
            Ok(found) => found,
            Err(error) => {
                let line = Line::of(check.name, check.about, || Err(error));
                self.lines.push(line);
                return Ok(());
            }
        };
        let names = found.parts.iter().map(|part| part.name.clone()).collect();
        let mut sections = self.sections.iter_mut();
        if let Some(section) = sections.find(|section| section.check == check.name) {
            section.parts = names;
        }

        let unknown = self.only.iter().find(|name| {
            let chooses = |part: &Part| is_chosen(&part.name, std::slice::from_ref(*name));
            is_of(name, check.name) && !found.parts.iter().any(chooses) && **name != check.name
        });
        if let Some(name) = unknown {
            bail!("no part is called {name}: the manual's page of long tests names them");
        }

        let mut to_run: Vec<&Part> = Vec::new();
        for part in &found.parts {
            if is_chosen(&part.name, self.only) && !self.has_passed(&part.name) {
                to_run.push(part);
            }
        }
        for together in to_run.chunks(found.at_once) {
            for (date, line) in side_by_side(together, check.about) {
                self.keep(date, line)?;
            }
            self.write_page()?;
        }
        self.write_page()
    }

    /// Whether a part has passed on this commit; then that is its line of the summary.
    fn has_passed(&mut self, part: &str) -> bool {
        let commit = self.commit.as_ref().filter(|_| !self.again);
        let passed = commit.and_then(|commit| self.results.passed(commit, part));
        let line = passed.map(|record| Line {
            name: part.to_owned(),
            outcome: Outcome::Passed,
            seconds: record.seconds,
            note: format!("before, {}", record.date),
        });
        self.lines.extend(line.clone());
        line.is_some()
    }

    /// Remembers how a part ended, where the tree still is the commit that was to be tested.
    fn keep(&mut self, date: String, line: Line) -> Result<()> {
        if self.commit.is_some() && self.commit != commit::tested(root()) {
            eprintln!("xtask: the tree has changed meanwhile: from now on nothing is remembered");
            self.commit = None;
        }
        if let Some(commit) = &self.commit {
            self.results.add(Record {
                commit: commit.clone(),
                part: line.name.clone(),
                date,
                seconds: line.seconds,
                outcome: line.outcome,
                note: line.note.chars().take(NOTE_MAX).collect(),
                machine: self.machine.clone(),
            })?;
        }
        self.lines.push(line);
        Ok(())
    }

    /// After each part: whatever interrupts the run, the page is true.
    fn write_page(&self) -> Result<()> {
        let commit = self.commit.as_ref();
        commit.map_or(Ok(()), |commit| {
            page::write(&self.results, commit, &self.sections)
        })
    }
}

/// Runs these parts beside each other; each with the time when it began.
fn side_by_side(parts: &[&Part], about: &str) -> Vec<(String, Line)> {
    std::thread::scope(|scope| {
        let mut running = Vec::new();
        for &part in parts {
            let run = move || (now(), Line::of(&part.name, about, || (part.run)()));
            running.push(scope.spawn(run));
        }
        let join = |one: std::thread::ScopedJoinHandle<'_, _>| one.join().expect("no panic");
        running.into_iter().map(join).collect()
    })
}

fn now() -> String {
    let said = output(Command::new("date").args(["--utc", "+%F %H:%MZ"]));
    said.unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::{record, results};
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_the_chosen_need_is_run_as_well() {
        let run = |only: &[&str]| -> Vec<&str> {
            let only = names(only);
            let all = CHECKS.iter().map(|check| check.name);
            all.filter(|check| is_run(check, &only)).collect()
        };
        assert_eq!(run(&["e2e/soak"]), ["build", "e2e"]);
        assert_eq!(run(&["fuzz/link", "deny"]), ["fuzz", "deny"]);
        assert_eq!(run(&[]).len(), CHECKS.len());
    }

    #[test]
    fn parts_are_chosen_by_what_they_are_below() {
        let only = names(&["e2e/soak", "fuzz"]);
        for part in ["e2e/soak", "e2e/soak/three_minutes", "fuzz/link", "fuzz"] {
            assert!(is_chosen(part, &only), "{part}");
        }
        for part in ["e2e/soaked", "e2e/kills", "plain"] {
            assert!(!is_chosen(part, &only), "{part}");
        }
    }

    /// A run on a tree with these results, which has chosen everything.
    fn long_run(commit: Option<&str>, again: bool) -> LongRun<'static> {
        LongRun {
            only: &[],
            again,
            commit: commit.map(str::to_owned),
            machine: String::new(),
            results: results(&[
                record("one", "plain", Outcome::Passed),
                record("one", "fuzz/link", Outcome::Failed),
            ]),
            sections: Vec::new(),
            lines: Vec::new(),
        }
    }

    #[test]
    fn only_what_passed_on_this_commit_is_not_run() {
        let mut run = long_run(Some("one"), false);
        assert!(run.has_passed("plain"));
        assert!(!run.has_passed("fuzz/link") && !run.has_passed("fuzz/peer"));
        assert_eq!(run.lines.len(), 1, "what passed before is in the summary");

        for (commit, again) in [(None, false), (Some("two"), false), (Some("one"), true)] {
            assert!(
                !long_run(commit, again).has_passed("plain"),
                "{commit:?} {again}"
            );
        }
    }

    /// What a check makes is needed by others: it must be made in each run.
    #[test]
    fn what_makes_something_is_a_check() {
        for name in suite::MAKES {
            assert!(CHECKS.iter().any(|check| check.name == name), "{name}");
        }
    }
}
