//! Remembers what each part of the long run came to, by the commit that it ran on.
//!
//! A line of JSON for each run of a part, added when it has ended: whatever interrupts the long
//! run, the next one goes on behind it.

use super::line::Outcome;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// One run of one part.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub commit: String,
    pub part: String,
    /// When it began.
    pub date: String,
    pub seconds: f64,
    pub outcome: Outcome,
    pub note: String,
    /// The machine that it ran on, and its MPIs.
    pub machine: String,
}

/// All runs that are remembered, the newest last.
pub struct Results {
    file: PathBuf,
    records: Vec<Record>,
}

impl Results {
    /// Those of this file; none where there is none.
    pub fn read(file: &Path) -> Results {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        Results {
            file: file.to_owned(),
            // A line that was cut off says nothing: its part runs again.
            records: text.lines().filter_map(Record::read).collect(),
        }
    }

    /// Adds one, in the file too.
    pub fn add(&mut self, record: Record) -> Result<()> {
        let folder = self.file.parent().context("a file in a folder")?;
        std::fs::create_dir_all(folder)?;
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.file)
            .with_context(|| self.file.display().to_string())?;
        // In one write, and behind a line that was cut off.
        file.write_all(format!("\n{}\n", record.json()).as_bytes())?;
        self.records.push(record);
        Ok(())
    }

    /// The last run of a part on this commit.
    fn on(&self, commit: &str, part: &str) -> Option<&Record> {
        let is_it = |record: &&Record| record.commit == commit && record.part == part;
        self.records.iter().rev().find(is_it)
    }

    /// The last run of a part on this commit, where it passed.
    pub fn passed(&self, commit: &str, part: &str) -> Option<&Record> {
        let last = self.on(commit, part);
        last.filter(|record| record.outcome == Outcome::Passed)
    }

    /// The last run of a part: on this commit, or where there is none, on any.
    pub fn last(&self, commit: &str, part: &str) -> Option<&Record> {
        let of_any = || self.records.iter().rev().find(|record| record.part == part);
        self.on(commit, part).or_else(of_any)
    }

    /// The parts of a check that ever ran, in the order in which they first did.
    pub fn parts(&self, check: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for record in &self.records {
            let of = record.part.split('/').next();
            if of == Some(check) && !names.contains(&record.part) {
                names.push(record.part.clone());
            }
        }
        names
    }
}

impl Record {
    fn json(&self) -> Value {
        json!({
            "commit": self.commit, "part": self.part, "date": self.date, "seconds": self.seconds,
            "outcome": self.outcome.word(), "note": self.note, "machine": self.machine,
        })
    }

    fn read(line: &str) -> Option<Record> {
        let value: Value = serde_json::from_str(line).ok()?;
        let text = |name: &str| Some(value[name].as_str()?.to_owned());
        let word = text("outcome")?;
        Some(Record {
            commit: text("commit")?,
            part: text("part")?,
            date: text("date")?,
            seconds: value["seconds"].as_f64()?,
            outcome: Outcome::ALL.into_iter().find(|one| one.word() == word)?,
            note: text("note")?,
            machine: text("machine")?,
        })
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn record(commit: &str, part: &str, outcome: Outcome) -> Record {
        Record {
            commit: commit.to_owned(),
            part: part.to_owned(),
            date: "2026-01-02 03:04Z".to_owned(),
            seconds: 1.5,
            outcome,
            note: "a \"note\"\nof two lines".to_owned(),
            machine: "a machine".to_owned(),
        }
    }

    /// Results of these runs, that are in no file.
    pub fn results(records: &[Record]) -> Results {
        Results {
            file: PathBuf::new(),
            records: records.to_vec(),
        }
    }

    #[test]
    fn only_what_passed_on_a_commit_is_passed() {
        use Outcome::*;
        let results = results(&[
            record("one", "plain", Passed),
            record("one", "fuzz", Failed),
            record("one", "deny", Partly),
            record("one", "e2e", Skipped),
            record("one", "mpi", Passed),
            record("one", "mpi", Failed),
        ]);
        let passed = |commit, part| results.passed(commit, part).is_some();
        assert!(passed("one", "plain"));
        assert!(!passed("two", "plain"), "another commit");
        for part in ["fuzz", "deny", "e2e", "scale"] {
            assert!(!passed("one", part), "{part}");
        }
        assert!(!passed("one", "mpi"), "it failed since");
    }

    #[test]
    fn a_run_on_this_commit_goes_before_a_newer_one() {
        use Outcome::*;
        let records = [
            record("one", "fuzz/link", Failed),
            record("two", "fuzz/link", Passed),
            record("two", "plain", Passed),
            record("two", "fuzz/peer", Passed),
        ];
        let results = results(&records);
        assert_eq!(results.last("one", "fuzz/link"), Some(&records[0]));
        assert_eq!(results.last("three", "fuzz/link"), Some(&records[1]));
        assert_eq!(results.last("one", "deny"), None);
        assert_eq!(results.parts("fuzz"), ["fuzz/link", "fuzz/peer"]);
    }

    #[test]
    fn what_was_interrupted_is_forgotten_alone() {
        let name = format!("target/tmp/results-{}/a.jsonl", std::process::id());
        let file = crate::run::root().join(name);
        let mut results = Results::read(&file);
        results
            .add(record("one", "plain", Outcome::Passed))
            .unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        // Somebody pulled the plug in the middle of the second line.
        std::fs::write(&file, format!("{text}{{\"commit\": \"one\", \"par")).unwrap();
        let mut results = Results::read(&file);
        results.add(record("one", "mpi", Outcome::Failed)).unwrap();
        let read = Results::read(&file).records;
        std::fs::remove_dir_all(file.parent().unwrap()).unwrap();
        let expected = [
            record("one", "plain", Outcome::Passed),
            record("one", "mpi", Outcome::Failed),
        ];
        assert_eq!(read, expected);
    }
}
