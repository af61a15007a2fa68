//! The comments of the interface, by what they stand above.

use prost_types::FileDescriptorProto;
use std::collections::HashMap;

/// Numbers of `FileDescriptorProto.message_type` and `DescriptorProto.field` in descriptor.proto:
/// comments are found by a path of such numbers and positions.
pub const MESSAGE_TYPE: i32 = 4;
pub const FIELD: i32 = 2;

/// The comments of a file, each as one line.
pub struct Comments(HashMap<Vec<i32>, String>);

impl Comments {
    pub fn of(file: &FileDescriptorProto) -> Comments {
        let locations = file.source_code_info.iter().flat_map(|info| &info.location);
        let lines = locations.map(|location| {
            let words = location.leading_comments().split_whitespace();
            (location.path.clone(), words.collect::<Vec<_>>().join(" "))
        });
        Comments(lines.collect())
    }

    /// The comment there; empty where there is none.
    pub fn at(&self, path: &[i32]) -> &str {
        self.0.get(path).map_or("", String::as_str)
    }
}
