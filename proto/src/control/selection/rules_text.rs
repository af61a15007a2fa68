//! Reads rules from a text: one after the other, or a filter file of Score-P.
//!
//! ```text
//! exclude tiny_*; exclude group:coll      on a line each, or with semicolons between
//! include solve*                          # comments
//! ```
//!
//! Of a filter file the rules of source files come first, then those of regions.

use super::{Fits, InvalidRule, Rule, Selection};
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

/// Why a text is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidText {
    /// From 1.
    pub line: usize,
    pub why: String,
}

impl fmt::Display for InvalidText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl core::error::Error for InvalidText {}

/// A block of a filter file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Regions,
    Files,
}

impl Block {
    const ALL: [(Block, &'static str, &'static str); 2] = [
        (
            Block::Regions,
            "SCOREP_REGION_NAMES_BEGIN",
            "SCOREP_REGION_NAMES_END",
        ),
        (
            Block::Files,
            "SCOREP_FILE_NAMES_BEGIN",
            "SCOREP_FILE_NAMES_END",
        ),
    ];

    fn fits(self, pattern: &str) -> Result<Fits, InvalidRule> {
        match self {
            Block::Regions => Fits::Name(pattern.to_owned()).checked(),
            Block::Files => alloc::format!("source:{pattern}").parse(),
        }
    }
}

/// Rules that take the place of those in force.
impl FromStr for Selection {
    type Err = InvalidText;

    fn from_str(text: &str) -> Result<Selection, InvalidText> {
        let lines: Vec<(usize, &str)> = (1..).zip(text.lines().map(without_comment)).collect();
        let begins = |line: &str| {
            let first = line.split_whitespace().next();
            Block::ALL.iter().any(|(_, begin, _)| first == Some(begin))
        };
        let rules = match lines.iter().any(|(_, line)| begins(line)) {
            true => filter_file(&lines)?,
            false => plain(&lines)?,
        };
        let selection = Selection {
            replaces: true,
            rules,
        };
        let line = lines.len();
        let why = |why: InvalidRule| why.to_string();
        selection.checked().map_err(|error| InvalidText {
            line,
            why: why(error),
        })
    }
}

/// A line without its comment: names of C++ have `#` within.
fn without_comment(line: &str) -> &str {
    let comment = line.char_indices().find(|(at, character)| {
        let before = line[..*at].chars().next_back();
        *character == '#' && before.is_none_or(char::is_whitespace)
    });
    comment.map_or(line, |(at, _)| &line[..at]).trim()
}

fn plain(lines: &[(usize, &str)]) -> Result<Vec<Rule>, InvalidText> {
    let mut rules = Vec::new();
    for (line, text) in lines {
        let line = *line;
        for rule in text
            .split(';')
            .map(str::trim)
            .filter(|rule| !rule.is_empty())
        {
            let (word, fits) = rule.split_once(char::is_whitespace).unwrap_or((rule, ""));
            let include = match word.to_ascii_lowercase().as_str() {
                "include" => true,
                "exclude" => false,
                _ => {
                    let why = alloc::format!(
                        "{rule:?} is no rule; give include or exclude and what it fits, as in \
                         exclude tiny_*"
                    );
                    return Err(InvalidText { line, why });
                }
            };
            let fits: Result<Fits, InvalidRule> = fits.trim().parse();
            let fits = fits.map_err(|error| InvalidText {
                line,
                why: error.to_string(),
            })?;
            rules.push(Rule { include, fits });
        }
    }
    Ok(rules)
}

fn filter_file(lines: &[(usize, &str)]) -> Result<Vec<Rule>, InvalidText> {
    let (mut of_files, mut of_regions) = (Vec::new(), Vec::new());
    let mut block: Option<(Block, &str)> = None;
    let mut include = None;
    for (line, text) in lines {
        let line = *line;
        let fail = |why: &str| InvalidText {
            line,
            why: why.to_owned(),
        };
        for word in text.split_whitespace() {
            let Some((here, end)) = block else {
                let begun = Block::ALL.iter().find(|(_, begin, _)| *begin == word);
                let (here, _, end) = begun.ok_or_else(|| {
                    fail("only SCOREP_REGION_NAMES_BEGIN or SCOREP_FILE_NAMES_BEGIN may stand here")
                })?;
                (block, include) = (Some((*here, *end)), None);
                continue;
            };
            match (word, include) {
                (word, _) if word == end => block = None,
                ("INCLUDE", _) => include = Some(true),
                ("EXCLUDE", _) => include = Some(false),
                ("MANGLED", _) => {
                    return Err(fail("names are compared as they are shown, never MANGLED"));
                }
                (_, None) => return Err(fail("INCLUDE or EXCLUDE must stand before a name")),
                (pattern, Some(include)) => {
                    let fits = here.fits(pattern);
                    let fits = fits.map_err(|error| fail(&error.to_string()))?;
                    let rules = match here {
                        Block::Files => &mut of_files,
                        Block::Regions => &mut of_regions,
                    };
                    rules.push(Rule { include, fits });
                }
            }
        }
    }
    if let Some((_, end)) = block {
        return Err(InvalidText {
            line: lines.len(),
            why: alloc::format!("{end} is missing"),
        });
    }
    of_files.append(&mut of_regions);
    Ok(of_files)
}

impl Selection {
    /// All rules, as [`Selection::from_str`] reads them.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for rule in &self.rules {
            if !text.is_empty() {
                text.push_str("; ");
            }
            text.push_str(&rule.to_string());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_as_they_are_written() {
        let lambda = "exclude f::{lambda()#1}::operator()()";
        assert_eq!(lambda.parse::<Selection>().expect("a name").text(), lambda);
        let text = "exclude tiny_*; include solve*  # not those\n\n Exclude shorter:1us@500";
        let selection: Selection = text.parse().expect("rules");
        assert!(selection.replaces);
        let written = "exclude tiny_*; include solve*; exclude shorter:1us@500";
        assert_eq!(selection.text(), written);
        assert_eq!(written.parse(), Ok(selection));
        assert_eq!("".parse::<Selection>().expect("none").rules, []);
    }

    #[test]
    fn filter_files_of_score_p_are_read() {
        let text = [
            "# of an example",
            "SCOREP_REGION_NAMES_BEGIN",
            "  EXCLUDE",
            "    binvcrhs*",
            "    *_tiny",
            "  INCLUDE solve",
            "SCOREP_REGION_NAMES_END",
            "SCOREP_FILE_NAMES_BEGIN EXCLUDE */util*.c SCOREP_FILE_NAMES_END",
        ]
        .join("\n");
        let selection: Selection = text.parse().expect("a filter file");
        assert_eq!(
            selection.text(),
            "exclude source:util*.c; exclude binvcrhs*; exclude *_tiny; include solve"
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let begin = "SCOREP_REGION_NAMES_BEGIN\n";
        for (text, line, expected) in [
            ("exclude a\nskip b", 2, "\"skip b\" is no rule"),
            ("exclude", 1, "a pattern is empty"),
            ("SCOREP_REGION_NAMES_BEGIN EXCLUDE a;b", 1, "has a ;"),
            ("exclude group:all", 1, "there are p2p"),
            (&[begin, "a\n"].concat(), 2, "must stand before a name"),
            (&[begin, "EXCLUDE MANGLED _Z*"].concat(), 2, "never MANGLED"),
            (
                &[begin, "EXCLUDE a\n"].concat(),
                2,
                "SCOREP_REGION_NAMES_END is missing",
            ),
            ("exclude source:*/util/*", 1, "without folders"),
            (&["EXCLUDE b\n", begin].concat(), 1, "may stand here"),
        ] {
            let error = text.parse::<Selection>().expect_err(text);
            assert_eq!(error.line, line, "{text}");
            assert!(error.why.contains(expected), "{text}: {error}");
        }
        let many = "exclude a;".repeat(super::super::RULES_MAX + 1);
        assert!(many.parse::<Selection>().is_err());
    }
}
