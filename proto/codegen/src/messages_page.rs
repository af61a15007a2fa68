//! Makes the manual's tables of the interface's messages: name, type and comment of every field.

use crate::comments::{Comments, FIELD, MESSAGE_TYPE};
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{FieldDescriptorProto, FileDescriptorProto};
use std::fmt::Write as _;

const BEGIN: &str = "<!-- made by cargo xtask generate: messages -->\n";
const END: &str = "<!-- end -->";

/// The page with its tables made anew; nothing where it has no marks.
pub fn renewed(page: &str, file: &FileDescriptorProto) -> Option<String> {
    let (head, rest) = page.split_once(BEGIN)?;
    let (_, tail) = rest.split_once(END)?;
    Some(format!("{head}{BEGIN}{}{END}{tail}", tables(file)))
}

/// A section for every message but those that only ask.
fn tables(file: &FileDescriptorProto) -> String {
    let comments = Comments::of(file);
    let mut text = String::new();
    for (at, message) in (0..).zip(&file.message_type) {
        if message.name().ends_with("Request") {
            continue;
        }
        let about = untagged(comments.at(&[MESSAGE_TYPE, at]));
        let _ = write!(text, "### {}\n\n{about}\n\n", message.name());
        text.push_str("| field | type | meaning |\n|---|---|---|\n");
        for (number, field) in (0..).zip(&message.field) {
            let meaning = untagged(comments.at(&[MESSAGE_TYPE, at, FIELD, number]));
            let _ = writeln!(
                text,
                "| `{}` | {} | {} |",
                field.name(),
                type_of(field),
                meaning.replace('|', "\\|")
            );
        }
        text.push('\n');
    }
    text
}

/// What looks like a tag is none: `<rank>`.
fn untagged(comment: &str) -> String {
    comment.replace('<', "&lt;")
}

/// The type as JSON has it.
fn type_of(field: &FieldDescriptorProto) -> String {
    let one = match field.r#type() {
        Type::String => "text".to_owned(),
        Type::Bool => "bool".to_owned(),
        // The state of a rank is the only one.
        Type::Enum => "text".to_owned(),
        Type::Bytes => "list of bytes".to_owned(),
        Type::Message => {
            let name = field.type_name().rsplit('.').next().unwrap_or_default();
            format!("[{name}](#{})", name.to_lowercase())
        }
        _ => "number".to_owned(),
    };
    let is_absent_at_times = field.proto3_optional() || field.r#type() == Type::Message;
    match field.label() {
        Label::Repeated => format!("list of {one}"),
        _ if is_absent_at_times => format!("{one} or null"),
        _ => one,
    }
}
