//! Reads a report that was written as JSON. The file may be anybody's and hold anything.

use crate::contents::Report;
use crate::json::VERSION;
use serde::Deserialize;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The longest file that is read, in bytes: a matrix of 256 by 256 blocks, told by both sides, is
/// 16 MiB of indented JSON, and the rest of a report is less.
pub const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Characters of a parser's complaint, which may quote the file.
const COMPLAINT_CHARS_MAX: usize = 200;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ReadError {
    #[error(
        "cannot read the report {}: {source}; a job writes one with --report NAME.json",
        path.display()
    )]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "{} is longer than {} MiB, which no report is; give the file that --report NAME.json has \
         written", path.display(), FILE_BYTES_MAX >> 20
    )]
    TooLong { path: PathBuf },
    #[error(
        "{} is no report as JSON: {complaint}; give the file that --report NAME.json has written",
        path.display()
    )]
    NoReport { path: PathBuf, complaint: String },
    #[error(
        "the report {} has version {version}, and this Invivo reads version {VERSION}; take the \
         Invivo that wrote it, or a newer one", path.display()
    )]
    Version { path: PathBuf, version: u64 },
}

/// What is read first: the rest may mean something else in another version.
#[derive(Deserialize)]
#[serde(rename = "Report")]
struct Head {
    version: u64,
}

/// Reads a report.
///
/// # Errors
/// When it cannot be read, is too long, or is no report of this version.
pub fn read(path: &Path) -> Result<Report, ReadError> {
    let bytes = bytes(path).map_err(|source| ReadError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let path = path.to_owned();
        return Err(ReadError::TooLong { path });
    }
    parse(path, &bytes)
}

fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte more than allowed tells a longer file from one of just this length.
    let file = File::open(path)?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Report, ReadError> {
    let no_report = |error: serde_json::Error| ReadError::NoReport {
        path: path.to_owned(),
        complaint: error
            .to_string()
            .chars()
            .take(COMPLAINT_CHARS_MAX)
            .collect(),
    };
    let Head { version } = serde_json::from_slice(bytes).map_err(no_report)?;
    if version != u64::from(VERSION) {
        let path = path.to_owned();
        return Err(ReadError::Version { path, version });
    }
    serde_json::from_slice(bytes).map_err(no_report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refused(text: &str) -> String {
        let read = parse(Path::new("a.json"), text.as_bytes());
        read.expect_err("no report").to_string()
    }

    /// Each names the file, what is wrong, and what to do.
    #[test]
    fn what_is_no_report_is_told() {
        let missing = read(Path::new("/nowhere/a.json")).expect_err("no file");
        assert!(
            missing
                .to_string()
                .starts_with("cannot read the report /nowhere/a.json: No such"),
            "{missing}"
        );
        for (text, complaint) in [
            ("", "EOF while parsing"),
            ("Invivo report of job melt", "expected value"),
            ("7", "invalid type: integer"),
            ("{\"version\": 1, \"jobs\": []}", "missing field `job`"),
            ("{\"version\": \"1\"}", "invalid type: string"),
        ] {
            let text = refused(text);
            let expected = format!("a.json is no report as JSON: {complaint}");
            assert!(text.starts_with(&expected), "{text}");
            assert!(text.ends_with("give the file that --report NAME.json has written"));
        }
        assert_eq!(
            refused("{\"version\": 2}"),
            "the report a.json has version 2, and this Invivo reads version 1; take the Invivo \
             that wrote it, or a newer one"
        );
        let long = format!("{{\"version\": \"{}\"}}", "x".repeat(10_000));
        assert!(refused(&long).len() < 400);
    }

    #[test]
    fn a_file_without_end_is_refused() {
        let error = read(Path::new("/dev/zero")).expect_err("no report");
        assert!(
            error.to_string().contains("is longer than 64 MiB"),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(Path::new("a.json"), &bytes);
        }
    }
}
