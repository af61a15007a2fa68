//! Reads TOML written by hand: every error has its file and line, and suggests the likely name.

use std::fmt::Display;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The longest file that is read, in bytes: a thousand times what people write.
pub const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {what}", path.display())]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong and what would be right.
    pub what: String,
}

/// A file's name and text.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// As the user calls it.
    pub path: &'a Path,
    /// All of it.
    pub text: &'a str,
}

impl<'a> Source<'a> {
    /// The file's top-level table.
    ///
    /// # Errors
    /// Where it is no TOML.
    pub fn table(&self) -> Result<DeTable<'a>, FileError> {
        let table = DeTable::parse(self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            self.error(at, error.message().trim())
        })?;
        Ok(table.into_inner())
    }

    /// The line of a position, counted from 1.
    pub fn line(&self, at: usize) -> usize {
        // `at` may lie behind the end, where the file ends too early.
        let before = self.text.as_bytes().iter().take(at);
        1 + before.filter(|byte| **byte == b'\n').count()
    }

    /// An error at a position.
    pub fn error(&self, at: usize, what: impl Display) -> FileError {
        FileError {
            path: self.path.to_owned(),
            line: self.line(at),
            what: what.to_string(),
        }
    }

    /// An error at a value or key.
    pub fn error_at(&self, span: &Range<usize>, what: impl Display) -> FileError {
        self.error(span.start, what)
    }
}

/// Reads a file that people wrote.
///
/// # Errors
/// When it cannot be read, is no text, or too long.
pub fn read(path: &Path) -> std::io::Result<String> {
    text(&std::fs::File::open(path)?)
}

/// As [`read`], of a file that the calling user or root has written: what somebody else leaves in
/// a directory is not obeyed by whoever works there.
///
/// # Errors
/// As [`read`], and where somebody else owns the file or anybody may write to it.
pub fn read_own(path: &Path) -> std::io::Result<String> {
    let file = std::fs::File::open(path)?;
    // Of the open file: the name may lead to another one meanwhile.
    let meta = file.metadata()?;
    let me = rustix::process::geteuid().as_raw();
    if meta.is_file() && meta.uid() != me && meta.uid() != 0 {
        return Err(std::io::Error::other(format!(
            "it belongs to user {}; copy it to a file of your own, or go on without any \
             configuration file by --no-config",
            meta.uid()
        )));
    }
    if meta.is_file() && meta.mode() & 0o002 != 0 {
        return Err(std::io::Error::other(
            "anybody may write to it; chmod o-w, or go on without any configuration file by \
             --no-config",
        ));
    }
    text(&file)
}

fn text(file: &std::fs::File) -> std::io::Result<String> {
    use std::io::{Error, ErrorKind, Read};
    let mut text = String::new();
    // One byte more than allowed tells a longer file from one of just this length.
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        let what = format!("it is longer than {FILE_BYTES_MAX} bytes");
        return Err(Error::new(ErrorKind::FileTooLarge, what));
    }
    Ok(text)
}

/// A plain value as the text that stands for it elsewhere, on a command line for example: a list of
/// numbers has commas. Nothing for tables and dates.
pub fn plain(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        // TOML allows underscores between digits.
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().replace('_', "")),
        // Hexadecimal, octal and binary become decimal, because options read decimal text.
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .map(|number| number.to_string()),
        DeValue::Float(number) => Some(number.as_str().replace('_', "")),
        DeValue::Boolean(value) => Some(value.to_string()),
        DeValue::Array(values) => {
            let parts: Option<Vec<String>> =
                values.iter().map(|value| plain(value.as_ref())).collect();
            // `fan-in = [4, 16]` says the same as `--fan-in 4,16`.
            parts.map(|parts| parts.join(","))
        }
        DeValue::Table(_) | DeValue::Datetime(_) => None,
    }
}

/// "no key `fanin`; did you mean `fan-in`?", or the whole list where nothing is near.
pub fn unknown(noun: &str, name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(near) => format!("no {noun} `{name}`; did you mean `{near}`?"),
        None => format!("no {noun} `{name}`; there are: {}", known.join(", ")),
    }
}

/// As [`unknown`], where there are too many names to list.
pub fn unknown_of_many(noun: &str, name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(near) => format!("no {noun} `{name}`; did you mean `{near}`?"),
        None => format!("no {noun} `{name}`"),
    }
}

/// The known name that a mistyped one is likely to mean.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    /// Similarity above which a name is suggested: one or two slips in a short word.
    // By Jaro and Winkler: one slip in a word of six letters is well above.
    const NEAR: f64 = 0.8;
    let plain = |name: &str| name.to_lowercase().replace('_', "-");
    let alike = |other: &&str| strsim::jaro_winkler(&plain(name), &plain(other));
    let best = known.iter().max_by(|a, b| alike(a).total_cmp(&alike(b)))?;
    (alike(best) >= NEAR).then_some(*best)
}

/// The span and value of a key in a table.
pub fn get<'t, 'i>(table: &'t DeTable<'i>, key: &str) -> Option<&'t Spanned<DeValue<'i>>> {
    table
        .iter()
        .find(|(name, _)| name.get_ref() == key)
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn source(text: &str) -> Source<'_> {
        Source {
            path: Path::new("a.toml"),
            text,
        }
    }

    #[test]
    fn errors_name_file_and_line() {
        let error = source("a = 1\nb = = 2\n").table().expect_err("malformed");
        assert!(error.to_string().starts_with("a.toml:2: "), "{error}");
        let at_end = source("a = 1\nb = \"open").table().expect_err("malformed");
        assert_eq!(at_end.line, 2, "{at_end}");
    }

    #[test]
    fn values_are_plain_text() {
        let source = source("a = 1_000\nb = [2, 4]\nc = true\nd = 0x10\ne = 1.5\nf = {}\n");
        let table = source.table().expect("a table");
        let text = |key| plain(get(&table, key).expect("there").get_ref());
        let all = ["a", "b", "c", "d", "e", "f"].map(text);
        let expected = ["1000", "2,4", "true", "16", "1.5"].map(|text| Some(text.to_owned()));
        assert_eq!((&all[..5], &all[5]), (&expected[..], &None));
    }

    #[test]
    fn a_slip_is_named_and_a_stranger_gets_the_list() {
        let known = ["fan-in", "buffer", "budget"];
        assert_eq!(
            unknown("key", "fan_in", &known),
            "no key `fan_in`; did you mean `fan-in`?"
        );
        assert_eq!(
            unknown("key", "bufer", &known),
            "no key `bufer`; did you mean `buffer`?"
        );
        assert_eq!(
            unknown("key", "colour", &known),
            "no key `colour`; there are: fan-in, buffer, budget"
        );
    }

    /// What a stranger leaves in a directory does not rule the jobs that are started there.
    #[test]
    fn files_of_strangers_are_not_obeyed() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("invivo.toml");
        std::fs::write(&path, "quiet = true").expect("written");
        assert_eq!(read_own(&path).expect("our own"), "quiet = true");

        let anybodys = std::fs::Permissions::from_mode(0o666);
        std::fs::set_permissions(&path, anybodys).expect("changed");
        let why = read_own(&path).expect_err("refused").to_string();
        assert!(why.contains("anybody may write"), "{why}");

        if rustix::process::geteuid().is_root() {
            let own = std::fs::Permissions::from_mode(0o644);
            std::fs::set_permissions(&path, own).expect("changed");
            std::os::unix::fs::chown(&path, Some(12345), None).expect("given away");
            let why = read_own(&path).expect_err("refused").to_string();
            let told = why.contains("user 12345") && why.contains("--no-config");
            assert!(told, "{why}");
        }
    }
}
