//! Limits of size and naming: lines per file, columns per line, words per test name.

use super::modules::is_for_tests;
use super::tokens::{Token, tokens};
use super::tree::Tree;
use std::path::Path;

pub const FILE_LINES_MAX: usize = 500;
pub const COLUMNS_MAX: usize = 100;
pub const TEST_NAME_WORDS_MAX: usize = 10;

/// Files that may be long, with the reason.
const LONG_FILES: [(&str, &str); 3] = [
    ("proto/gateway.proto", "the public interface is one file"),
    ("proto/src/functions.rs", "a generated table"),
    ("app-shim/src/wrappers/generated.rs", "generated"),
];

/// What breaks a limit, and in which file.
pub struct Excess {
    pub file: String,
    pub text: String,
}

/// Files over [`FILE_LINES_MAX`]; documents are free.
pub fn long_files(tree: &Tree) -> Vec<Excess> {
    let code = tree.files.iter().filter(|(path, text)| {
        path.extension().is_none_or(|end| end != "md") && !is_generated(text)
    });
    code.filter_map(|(path, text)| {
        let lines = text.lines().count();
        let named = LONG_FILES.iter().any(|(name, _)| path == Path::new(name));
        (lines > FILE_LINES_MAX && !named)
            .then(|| excess(path, format!("{lines} lines, {FILE_LINES_MAX} are allowed")))
    })
    .collect()
}

/// Lines of Rust over [`COLUMNS_MAX`].
pub fn wide_lines(tree: &Tree) -> Vec<Excess> {
    let mut found = Vec::new();
    for (path, text) in tree.rust().filter(|(_, text)| !is_generated(text)) {
        for (index, line) in text.lines().enumerate() {
            let columns = line.chars().count();
            if columns > COLUMNS_MAX {
                found.push(excess(
                    path,
                    format!("line {}: {columns} columns", index + 1),
                ));
            }
        }
    }
    found
}

/// Test functions with names over [`TEST_NAME_WORDS_MAX`].
pub fn long_test_names(tree: &Tree) -> Vec<Excess> {
    let mut found = Vec::new();
    for (path, text) in tree.rust() {
        for name in test_names(text) {
            let words = name.split('_').filter(|word| !word.is_empty()).count();
            if words > TEST_NAME_WORDS_MAX {
                found.push(excess(path, format!("{name}: {words} words")));
            }
        }
    }
    found
}

fn excess(path: &Path, text: String) -> Excess {
    Excess {
        file: path.display().to_string(),
        text,
    }
}

/// Whether a generator made the file: generators put a line at the top.
pub fn is_generated(text: &str) -> bool {
    let first = text.lines().next();
    first.is_some_and(|line| line.contains("cargo xtask generate") && line.contains("Do not edit"))
}

/// Names of functions behind `#[test]` and `#[RUNTIME::test]`.
fn test_names(source: &str) -> Vec<&str> {
    // Most files have no tests: this is faster than splitting them into tokens.
    if !source.contains("test") {
        return Vec::new();
    }
    let tokens = tokens(source);
    let mut found = Vec::new();
    let mut marked = false;

    for window in tokens.windows(4) {
        let [first, second, third, fourth] = [0, 1, 2, 3].map(|index| window[index].text);
        let direct = first == "#" && second == "[" && third == "test" && fourth == "]";
        let of_runtime = second == "::" && third == "test" && ["]", "("].contains(&fourth);
        if direct || of_runtime {
            marked = true;
        // Other attributes may stand between the mark and the function.
        } else if marked && first == "fn" {
            found.push(second);
            marked = false;
        }
    }
    found
}

/// The first line (counted from 0) of a `#[cfg(test)] mod` with its text in this file.
pub fn first_test_line(source: &str) -> Option<usize> {
    let tokens = tokens(source);
    let is = |at: usize, text: &str| {
        tokens
            .get(at)
            .is_some_and(|token: &Token| token.text == text)
    };

    let at = (0..tokens.len()).find(|at| {
        is(*at, "#")
            && is(at + 2, "cfg")
            && is_for_tests(&tokens[*at..tokens.len().min(at + 6)])
            && is(at + 7, "mod")
            && is(at + 9, "{")
    })?;
    Some(tokens[at].line - 1)
}
