//! The first line of a bridge: which job it leads to, or why there is none.
//!
//! ```text
//! invivo-bridge 1 {"job":{...}}          the job's connect.json
//! invivo-bridge 1 {"refused":"..."}      a sentence
//! ```
//!
//! What a login's shell prints before it is passed over, within limits.

use invivo_jobdir::Connect;
use serde::{Deserialize, Serialize};
use std::io::{self, Read};

/// Begins the line; the number is that of the bridge's own language, which any version of the
/// gateway can be behind.
const BEGIN: &[u8] = b"invivo-bridge 1 ";
/// The longest line that is taken, in bytes: a `connect.json` in one line.
const LINE_BYTES_MAX: usize = 4 * 1024 * 1024 + 64;
/// The most that may come before it, in bytes.
const NOISE_BYTES_MAX: usize = 64 * 1024;

/// What the far side says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Greeting {
    /// This job; the gateway's bytes follow.
    Job(Box<Connect>),
    /// Why not.
    Refused(String),
}

impl Greeting {
    /// The line, with its end.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn line(&self) -> serde_json::Result<Vec<u8>> {
        let mut line = BEGIN.to_vec();
        serde_json::to_writer(&mut line, self)?;
        line.push(b'\n');
        Ok(line)
    }

    /// Reads up to the end of the line and not a byte further: what follows is the gateway's.
    ///
    /// # Errors
    /// When the other side prints something else, or ends.
    pub fn read(from: &mut impl Read) -> io::Result<Greeting> {
        let mut noise = 0;
        loop {
            let line = line(from)?;
            if let Some(text) = line.strip_prefix(BEGIN) {
                return serde_json::from_slice(text).map_err(io::Error::from);
            }
            noise += line.len() + 1;
            if noise > NOISE_BYTES_MAX {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "something else is printed there, and no bridge answers",
                ));
            }
        }
    }
}

/// A line without its end.
fn line(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        if from.read(&mut byte)? == 0 {
            let why = "it ended without saying which job it leads to";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
        }
        if byte == *b"\n" {
            return Ok(line);
        }
        // Noise is given up early: without an end of line it would be read for ever.
        let most = if line.starts_with(BEGIN) || line.len() < BEGIN.len() {
            LINE_BYTES_MAX
        } else {
            NOISE_BYTES_MAX
        };
        if line.len() >= most {
            let why = "a line without an end is printed there, and no bridge answers";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        line.push(byte[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;

    fn job() -> Connect {
        Connect::new("node17-4711", Path::new("/s"), vec!["./a\nb".into()]).expect("random numbers")
    }

    #[test]
    fn what_is_printed_before_and_behind_stays_apart() {
        let mut bytes = b"Welcome!\n\ninvivo-bridge is here\n".to_vec();
        bytes.extend(Greeting::Job(Box::new(job())).line().expect("JSON"));
        bytes.extend(b"PRI * HTTP/2.0");
        let mut from = &bytes[..];
        let Greeting::Job(found) = Greeting::read(&mut from).expect("a greeting") else {
            panic!("refused");
        };
        assert_eq!(
            (found.job.as_str(), from),
            ("node17-4711", &b"PRI * HTTP/2.0"[..])
        );
    }

    #[test]
    fn what_is_no_bridge_is_given_up() {
        for (text, says) in [
            (b"sh: invivo: not found\n".to_vec(), "it ended"),
            (vec![b'x'; 2 * NOISE_BYTES_MAX], "without an end"),
            (b"y\n".repeat(NOISE_BYTES_MAX), "something else"),
            (b"invivo-bridge 1 {\"job\":3}\n".to_vec(), "invalid type"),
        ] {
            let error = Greeting::read(&mut &text[..]).expect_err("no greeting");
            assert!(error.to_string().contains(says), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_end(bytes: Vec<u8>) {
            let _ = Greeting::read(&mut &bytes[..]);
        }
    }
}
