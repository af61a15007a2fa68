//! What `otf2-print` says of an archive.

use std::path::Path;
use std::process::Command;

/// The archive of an observation, printed by `otf2-print` with these options.
pub fn printed(archive: &Path, option: &str) -> Vec<String> {
    let output = Command::new("otf2-print")
        .args(["-Werror", option])
        .arg(archive.join("traces.otf2"))
        .output()
        .expect("otf2-print");
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && wrong.is_empty(), "{wrong}");
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(str::to_owned).collect()
}

/// What stands behind a word in a line, up to a comma or the end: `Tag: 7` and `"MPI_COMM_WORLD"
/// <1>`.
pub fn behind<'a>(line: &'a str, word: &str) -> &'a str {
    let at = line
        .find(word)
        .unwrap_or_else(|| panic!("no {word} in {line}"));
    let rest = line[at + word.len()..].trim_start_matches(':').trim();
    rest.split(',').next().unwrap_or_default().trim()
}

/// The number of `"name" <number>`.
pub fn reference(text: &str) -> u32 {
    let number = text
        .rsplit_once('<')
        .and_then(|(_, rest)| rest.strip_suffix('>'));
    number
        .and_then(|number| number.parse().ok())
        .unwrap_or_else(|| panic!("no number in {text}"))
}

/// The first word.
pub fn leading(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}
