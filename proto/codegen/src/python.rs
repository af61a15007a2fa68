//! Makes `answers.py` of the Python client: a class for every message that a gateway sends, with
//! the comments of the interface.

use crate::comments::{Comments, FIELD, MESSAGE_TYPE};
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorProto};
use std::fmt::Write as _;

/// Columns of a line, as in the sources.
const COLUMNS: usize = 100;
/// Words that cannot be names in Python; such a field gets a `_` behind its name.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];
const HEAD: &str = r#""""What a gateway answers, a class for each message, as `--json` prints them.

Units are part of the names: `_ns` is nanoseconds, `_bytes` is bytes; a plain number is a count.
Points in time are job time, those named `unix` are since 1970. `None` is what does not apply.
"""

from __future__ import annotations

from dataclasses import dataclass

from ._answer import Answer
"#;

/// The text of the file, with `made` as its first line.
pub fn answers(file: &FileDescriptorProto, made: &str) -> String {
    let comments = Comments::of(file);
    let mut text = format!("# {made}\n{HEAD}");
    for (at, message) in (0..).zip(&file.message_type) {
        if !message.name().ends_with("Request") {
            class(&mut text, message, at, &comments);
        }
    }
    text
}

fn class(text: &mut String, message: &DescriptorProto, at: i32, comments: &Comments) {
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "\n\n@dataclass(frozen=True)\nclass {}(Answer):\n",
        message.name()
    );
    docstring(text, comments.at(&[MESSAGE_TYPE, at]));
    text.push('\n');
    for (number, field) in (0..).zip(&message.field) {
        let _ = writeln!(text, "    {}: {}", name(field.name()), type_of(field));
        docstring(text, comments.at(&[MESSAGE_TYPE, at, FIELD, number]));
    }
}

fn name(field: &str) -> String {
    let end = if KEYWORDS.contains(&field) { "_" } else { "" };
    format!("{field}{end}")
}

fn type_of(field: &FieldDescriptorProto) -> String {
    let one = match field.r#type() {
        // The state of a rank is the only enumeration, and is given by name.
        Type::String | Type::Enum => "str",
        Type::Bool => "bool",
        Type::Bytes => "bytes",
        Type::Double | Type::Float => "float",
        Type::Message => field.type_name().rsplit('.').next().unwrap_or_default(),
        _ => "int",
    };
    match field.label() {
        Label::Repeated => format!("list[{one}]"),
        _ if field.proto3_optional() => format!("{one} | None"),
        _ => one.to_owned(),
    }
}

/// A comment as a docstring, in as many lines as it takes.
fn docstring(text: &mut String, comment: &str) {
    const INDENT: &str = "    ";
    // What Python would read as an escape is doubled.
    let comment = comment.replace('\\', "\\\\");
    // A quotation mark at the end would be one too many.
    let end = if comment.ends_with('"') { " " } else { "" };
    let mut line = format!("{INDENT}\"\"\"");
    let mut is_begun = false;
    for word in comment.split(' ') {
        if is_begun && line.len() + 1 + word.len() > COLUMNS {
            let _ = writeln!(text, "{line}");
            line = INDENT.to_owned();
            is_begun = false;
        }
        line.push_str(if is_begun { " " } else { "" });
        line.push_str(word);
        is_begun = true;
    }
    if line.len() + end.len() + 3 > COLUMNS {
        let _ = writeln!(text, "{line}");
        line = INDENT.to_owned();
    }
    let _ = writeln!(text, "{line}{end}\"\"\"");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_comments_are_python() {
        assert_eq!((name("from"), name("to")), ("from_".into(), "to".into()));
        let mut text = String::new();
        docstring(&mut text, "\"on\" or \"off\"");
        assert_eq!(text, "    \"\"\"\"on\" or \"off\" \"\"\"\n");
        text.clear();
        docstring(&mut text, &"word ".repeat(60));
        assert!(text.lines().all(|line| line.len() <= COLUMNS), "{text}");
        assert!(text.ends_with("\"\"\"\n"), "{text}");
    }
}
