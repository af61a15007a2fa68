//! Makes `answers.d.ts` for the page: the type of every message that a gateway sends, as JSON has
//! it. Types alone; the page runs without them.

use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorProto};
use std::fmt::Write as _;

const HEAD: &str = "\
// What a gateway answers, as `--json` prints it. Fields are explained in gateway.proto. Numbers are
// exact up to 2^53; identities of commands may be beyond, and are only shown.
";

/// The text of the file, with `made` as its first line.
pub fn types(file: &FileDescriptorProto, made: &str) -> String {
    let mut text = format!("// {made}\n{HEAD}");
    let messages = file.message_type.iter();
    for message in messages.filter(|of| !of.name().ends_with("Request")) {
        interface(&mut text, message);
    }
    text
}

fn interface(text: &mut String, message: &DescriptorProto) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\nexport interface {} {{", message.name());
    for field in &message.field {
        let _ = writeln!(text, "  {}: {};", field.name(), type_of(field));
    }
    text.push_str("}\n");
}

fn type_of(field: &FieldDescriptorProto) -> String {
    let is_message = field.r#type() == Type::Message;
    let one = match field.r#type() {
        // The state of a rank is the only enumeration, and is given by name.
        Type::String | Type::Enum => "string",
        Type::Bool => "boolean",
        Type::Bytes => "number[]",
        Type::Message => field.type_name().rsplit('.').next().unwrap_or_default(),
        _ => "number",
    };
    match field.label() {
        Label::Repeated => format!("{one}[]"),
        // A message that was not sent is null, whether that means something or not.
        _ if field.proto3_optional() || is_message => format!("{one} | null"),
        _ => one.to_owned(),
    }
}
