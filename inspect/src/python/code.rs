//! What Python's code objects say of themselves: function, file and line.

use super::calls::Call;
use super::layout::{BYTES_FIRST, BYTES_LENGTH, Layout, TEXT_LENGTH, TEXT_STATE};
use super::lines::line;
use crate::memory::ProcessMemory;
use invivo_proto::control::local::PythonFunction;
use invivo_proto::control::stacks::{FUNCTION_BYTES_MAX, MODULE_BYTES_MAX};
use std::collections::BTreeMap;

/// Characters of a name or a path that is read: what the system allows for a path.
const TEXT_CHARS_MAX: u64 = 4096;
/// Bytes of a table of lines: one or two per line of source, with room for generated code.
const TABLE_BYTES_MAX: u64 = 1 << 20;
/// Files that are named alike everywhere: their directory says which one it is.
const NAMED_ALIKE: [&str; 2] = ["__init__.py", "__main__.py"];
/// The name and the file of what the interpreter runs around an object's `__init__`.
const AROUND_INIT: &str = "__init__";

/// What is known of a call.
pub enum Told {
    Function(PythonFunction),
    /// It is none of a program: the interpreter pushes it for itself.
    Internal,
    /// What stands there is no code object.
    Garbage,
}

/// Code objects of a process, each read once.
pub struct Codes<'a> {
    memory: &'a ProcessMemory,
    known: BTreeMap<u64, Option<Code>>,
}

struct Code {
    name: String,
    file: String,
    first_line: i32,
    lines: Vec<u8>,
}

impl<'a> Codes<'a> {
    pub fn of(memory: &'a ProcessMemory) -> Codes<'a> {
        Codes {
            memory,
            known: BTreeMap::new(),
        }
    }

    /// Which function a call is of, and in which line it is.
    pub fn function(&mut self, layout: &Layout, call: Call) -> Told {
        let memory = self.memory;
        let code = self.known.entry(call.code);
        let code = code.or_insert_with(|| Code::read(memory, layout, call.code));
        let Some(code) = code else {
            return Told::Garbage;
        };
        if code.name == AROUND_INIT && code.file == AROUND_INIT {
            return Told::Internal;
        }
        let line = line(layout.lines, &code.lines, code.first_line, call.position);
        Told::Function(PythonFunction {
            name: code.name.clone(),
            file: code.file.clone(),
            line: line.unwrap_or(0),
        })
    }
}

impl Code {
    fn read(memory: &ProcessMemory, layout: &Layout, at: u64) -> Option<Code> {
        let word = |offset: u64| memory.word(at.checked_add(offset)?);
        let mut name = text(memory, layout, word(layout.code_name)?)?;
        let path = text(memory, layout, word(layout.code_file)?)?;
        let mut file = short(&path).to_owned();
        name.truncate(name.floor_char_boundary(FUNCTION_BYTES_MAX));
        file.truncate(file.floor_char_boundary(MODULE_BYTES_MAX));
        let first_line = memory.read(at.checked_add(layout.code_first_line)?, 4)?;
        Some(Code {
            name,
            file,
            first_line: i32::from_ne_bytes(first_line.try_into().ok()?),
            // Without lines a function still has its name.
            lines: word(layout.code_lines)
                .and_then(|table| bytes(memory, table))
                .unwrap_or_default(),
        })
    }
}

/// A path's last part, with its directory where all packages have a file of this name.
fn short(path: &str) -> &str {
    let parts = path
        .rsplit('/')
        .next()
        .map_or(1, |file| 1 + usize::from(NAMED_ALIKE.contains(&file)));
    let begin = path.rmatch_indices('/').nth(parts - 1);
    begin.map_or(path, |(at, _)| &path[at + 1..])
}

/// A string of bytes.
fn bytes(memory: &ProcessMemory, at: u64) -> Option<Vec<u8>> {
    let length = memory.word(at.checked_add(BYTES_LENGTH)?)?;
    let length = Some(length).filter(|length| *length <= TABLE_BYTES_MAX)?;
    memory.read(at.checked_add(BYTES_FIRST)?, length as usize)
}

/// A text. Its characters have one, two or four bytes each, and stand behind its head: nobody
/// makes others of names.
fn text(memory: &ProcessMemory, layout: &Layout, at: u64) -> Option<String> {
    let length = memory.word(at.checked_add(TEXT_LENGTH)?)?;
    let length = Some(length).filter(|length| *length <= TEXT_CHARS_MAX)? as usize;
    let state = memory.read(at.checked_add(TEXT_STATE)?, 1)?;
    let (kind, is_compact, is_ascii) = kind(state[0]);
    if !is_compact {
        return None;
    }
    let (ascii, others) = layout.text;
    let first = at.checked_add(if is_ascii { ascii } else { others })?;
    let read = memory.read(first, length * kind)?;
    let characters: Option<String> = match kind {
        1 => read.iter().map(|byte| Some(char::from(*byte))).collect(),
        2 => {
            let (units, _) = read.as_chunks();
            let units = units
                .iter()
                .map(|unit| u32::from(u16::from_ne_bytes(*unit)));
            units.map(char::from_u32).collect()
        }
        4 => {
            let (units, _) = read.as_chunks();
            units
                .iter()
                .map(|unit| char::from_u32(u32::from_ne_bytes(*unit)))
                .collect()
        }
        _ => None,
    };
    characters
}

/// How a text's characters are kept: bytes of each, whether they stand behind the head, and whether
/// all are ASCII's. The lowest two bits say whether there is one copy of it.
fn kind(state: u8) -> (usize, bool, bool) {
    (
        usize::from(state >> 2 & 7),
        state & 1 << 5 != 0,
        state & 1 << 6 != 0,
    )
}

#[cfg(test)]
mod tests {
    use super::super::layout;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn files_of_packages_keep_their_directory() {
        for (path, expected) in [
            ("/home/user/solve.py", "solve.py"),
            ("solve.py", "solve.py"),
            ("/lib/python3/json/__init__.py", "json/__init__.py"),
            ("__main__.py", "__main__.py"),
            ("<frozen runpy>", "<frozen runpy>"),
            ("", ""),
            ("/", ""),
        ] {
            assert_eq!(short(path), expected, "{path}");
        }
    }

    /// A text as the interpreter of 3.11 keeps it.
    fn kept(kind: u8, is_ascii: bool, length: u64, characters: &[u8]) -> Vec<u8> {
        let mut kept = vec![0; if is_ascii { 48 } else { 72 }];
        kept[16..24].copy_from_slice(&length.to_ne_bytes());
        kept[32] = kind << 2 | 1 << 5 | u8::from(is_ascii) << 6;
        kept.extend(characters);
        kept
    }

    #[test]
    fn texts_of_all_widths_are_read() {
        let us = ProcessMemory::of(rustix::process::getpid()).expect("we may read ourselves");
        let layout = layout::of((3, 11)).expect("a known version");
        let read = |kept: Vec<u8>| text(&us, &layout, kept.as_ptr() as u64);
        let wide = |text: &str| -> Vec<u8> {
            let units = text.chars().map(|character| character as u32);
            units.flat_map(u32::to_ne_bytes).collect()
        };
        let two =
            |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_ne_bytes).collect() };
        assert_eq!(read(kept(1, true, 5, b"solve")).as_deref(), Some("solve"));
        assert_eq!(read(kept(1, false, 3, b"l\xf6s")).as_deref(), Some("lös"));
        assert_eq!(read(kept(2, false, 3, &two("λ12"))).as_deref(), Some("λ12"));
        assert_eq!(read(kept(4, false, 2, &wide("𝜆x"))).as_deref(), Some("𝜆x"));
        assert_eq!(read(kept(4, false, 1, &[0xff; 4])), None, "no character");
        assert_eq!(read(kept(3, false, 1, &[1; 4])), None, "no width");
        assert_eq!(read(kept(1, true, u64::MAX, b"long")), None, "no length");
    }

    proptest! {
        /// Garbage is no function, or one with short names.
        #[test]
        fn garbage_has_short_names(
            mut words in prop::collection::vec(any::<u64>(), 64..256),
            wild in prop::collection::vec((any::<usize>(), any::<usize>()), 0..300),
            position in any::<i64>(),
        ) {
            let base = words.as_ptr() as u64;
            for (at, to) in wild {
                let (at, to) = (at % words.len(), to % words.len());
                words[at] = base + to as u64 * 8;
            }
            let us = ProcessMemory::of(rustix::process::getpid()).expect("we may read ourselves");
            for minor in 9..=12 {
                let mut codes = Codes::of(&us);
                let layout = layout::of((3, minor)).expect("a known version");
                let call = Call { code: base, position };
                if let Told::Function(told) = codes.function(&layout, call) {
                    prop_assert!(told.name.len() <= FUNCTION_BYTES_MAX);
                    prop_assert!(told.file.len() <= MODULE_BYTES_MAX);
                }
            }
        }
    }
}
