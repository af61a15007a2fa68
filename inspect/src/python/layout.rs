//! Where CPython keeps what a call path needs, on x86-64: a row of offsets for each version.
//!
//! Up to 3.12 the offsets are those of the version's headers, which do not change within a minor
//! version. From 3.13 on the interpreter has a table of them itself (`_Py_DebugOffsets`), of which
//! only the order is known here.

use super::lines::Lines;

/// Offsets in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// In the runtime: its first interpreter.
    pub interpreters: u64,
    pub interpreter_next: u64,
    /// Its first thread.
    pub interpreter_threads: u64,
    pub thread_next: u64,
    pub thread_id: ThreadId,
    /// In a thread: where its newest call is found, see [`Chain`].
    pub thread_newest: u64,
    pub chain: Chain,
    /// In a call: who called.
    pub call_previous: u64,
    pub call_code: u64,
    pub call_position: u64,
    pub position: Position,
    pub code_file: u64,
    pub code_name: u64,
    pub code_first_line: u64,
    pub code_lines: u64,
    pub lines: Lines,
    /// Where the characters of a text begin, in one that has no others than ASCII's, and in others.
    pub text: (u64, u64),
}

/// By which number a thread is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadId {
    /// By the C library's `pthread_t`.
    Library(u64),
    /// By the kernel's.
    Kernel(u64),
}

/// How calls hang together, and which of them one run of the interpreter's loop
/// (`_PyEval_EvalFrameDefault`) serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chain {
    /// Each call has a run of its own.
    Single,
    /// Each call has a run of its own, and each run a mark on the stack: where a thread has the
    /// newest mark, and a mark the one before.
    Marked { newest: u64, previous: u64 },
    /// A thread has the newest mark, a mark the newest call of its run and the mark before; a call
    /// says that it is its run's first.
    MarkedRuns {
        call: u64,
        previous: u64,
        is_first: u64,
    },
    /// A call of nothing stands on the stack before each run's first; a call says what it is. The
    /// newest is where the thread, or (`Some`) the mark that the thread has, says.
    Between { mark: Option<u64>, owner: u64 },
}

/// What a call says of the instruction that it is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// How many bytes behind its code's first, in four bytes.
    Bytes,
    /// How many instructions.
    Instructions,
    /// Its address; the first one is so far behind the code object's beginning.
    Address(u64),
}

/// Of a call of nothing: what [`Chain::Between`] says of it, or more. What the interpreter pushes
/// for itself (3.12, 3.13: 3; from 3.14 on 3 and 4).
pub const OWNED_BY_NOBODY: u8 = 3;
/// In every object: bytes before what is its own.
pub const OBJECT_BYTES: u64 = 16;
/// In a text: its length in characters, and how they are kept.
pub const TEXT_LENGTH: u64 = OBJECT_BYTES;
pub const TEXT_STATE: u64 = 32;
/// In a string of bytes: how many, and the first.
pub const BYTES_LENGTH: u64 = OBJECT_BYTES;
pub const BYTES_FIRST: u64 = 32;

const V3_9: Layout = Layout {
    interpreters: 32,
    interpreter_next: 0,
    interpreter_threads: 8,
    thread_next: 8,
    thread_id: ThreadId::Library(176),
    thread_newest: 24,
    chain: Chain::Single,
    call_previous: 24,
    call_code: 32,
    call_position: 104,
    position: Position::Bytes,
    code_file: 104,
    code_name: 112,
    code_first_line: 40,
    code_lines: 120,
    lines: Lines::Pairs,
    text: (48, 72),
};

const V3_10: Layout = Layout {
    chain: Chain::Marked {
        newest: 48,
        previous: 8,
    },
    call_position: 96,
    position: Position::Instructions,
    lines: Lines::Ranges,
    ..V3_9
};

const V3_11: Layout = Layout {
    interpreters: 40,
    interpreter_next: 0,
    interpreter_threads: 16,
    thread_next: 8,
    thread_id: ThreadId::Kernel(160),
    thread_newest: 56,
    chain: Chain::MarkedRuns {
        call: 8,
        previous: 16,
        is_first: 68,
    },
    call_previous: 48,
    call_code: 32,
    call_position: 56,
    position: Position::Address(184),
    code_file: 112,
    code_name: 128,
    code_first_line: 72,
    code_lines: 136,
    lines: Lines::Locations,
    text: (48, 72),
};

const V3_12: Layout = Layout {
    interpreter_threads: 72,
    thread_id: ThreadId::Kernel(144),
    chain: Chain::Between {
        mark: Some(0),
        owner: 70,
    },
    call_previous: 8,
    call_code: 0,
    position: Position::Address(192),
    code_first_line: 68,
    text: (40, 56),
    ..V3_11
};

/// The layout of a version, where it does not describe itself.
pub fn of(version: (u8, u8)) -> Option<Layout> {
    match version {
        (3, 9) => Some(V3_9),
        (3, 10) => Some(V3_10),
        (3, 11) => Some(V3_11),
        (3, 12) => Some(V3_12),
        _ => None,
    }
}

/// How the table begins by which an interpreter describes itself.
const COOKIE: [u8; 8] = *b"xdebugpy";
/// Words of the table that are read; the last of which we know is the 81st.
pub const DESCRIPTION_WORDS: usize = 88;
/// An offset that is larger is garbage: the largest structure has some hundred KiB.
const OFFSET_MAX: u64 = 1 << 20;

/// Which words of the table say what, in the versions that have one.
struct Words {
    interpreter_next: usize,
    interpreter_threads: usize,
    thread_next: usize,
    thread_call: usize,
    thread_kernel_id: usize,
    call_previous: usize,
    call_code: usize,
    call_position: usize,
    call_owner: usize,
    code_file: usize,
    code_name: usize,
    code_lines: usize,
    code_first_line: usize,
    code_instructions: usize,
    text_bytes: usize,
    /// Words that have to be these: what is taken for granted of objects.
    known: [(usize, u64); 6],
}

/// The table's version, whether threads run at the same time, the first interpreter: in all
/// versions.
const VERSION: usize = 1;
const FREE_THREADED: usize = 2;
const INTERPRETERS: usize = 5;

const WORDS_3_13: Words = Words {
    interpreter_next: 8,
    interpreter_threads: 9,
    thread_next: 21,
    thread_call: 23,
    thread_kernel_id: 25,
    call_previous: 29,
    call_code: 30,
    call_position: 31,
    call_owner: 33,
    code_file: 35,
    code_name: 37,
    code_lines: 38,
    code_first_line: 39,
    code_instructions: 43,
    text_bytes: 70,
    known: [
        (44, OBJECT_BYTES),
        (45, 8),
        (65, BYTES_LENGTH),
        (66, BYTES_FIRST),
        (68, TEXT_STATE),
        (69, TEXT_LENGTH),
    ],
};

const WORDS_3_14: Words = Words {
    interpreter_next: 8,
    interpreter_threads: 9,
    thread_next: 24,
    thread_call: 26,
    thread_kernel_id: 28,
    call_previous: 32,
    call_code: 33,
    call_position: 34,
    call_owner: 36,
    code_file: 40,
    code_name: 42,
    code_lines: 43,
    code_first_line: 44,
    code_instructions: 48,
    text_bytes: 80,
    known: [
        (50, OBJECT_BYTES),
        (51, 8),
        (75, BYTES_LENGTH),
        (76, BYTES_FIRST),
        (78, TEXT_STATE),
        (79, TEXT_LENGTH),
    ],
};

/// What an interpreter says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Described {
    Layout(Layout),
    /// Of a version that is not known, or not laid out as its version is.
    Version(u8, u8),
    /// Its threads run at the same time, and what is read here is laid out otherwise.
    FreeThreaded,
}

/// The layout that an interpreter describes; nothing where these words are no description.
pub fn described(words: &[u64]) -> Option<Described> {
    if words.first()?.to_ne_bytes() != COOKIE {
        return None;
    }
    let word = |at: usize| words.get(at).copied();
    let (major, minor) = version(word(VERSION)?);
    if word(FREE_THREADED)? != 0 {
        return Some(Described::FreeThreaded);
    }
    let places = match (major, minor) {
        (3, 13) => WORDS_3_13,
        (3, 14) => WORDS_3_14,
        _ => return Some(Described::Version(major, minor)),
    };
    let is_as_known = |(at, value): &(usize, u64)| word(*at) == Some(*value);
    let layout = places.known.iter().all(is_as_known);
    let layout = layout.then(|| by(words, &places)).flatten();
    Some(layout.map_or(Described::Version(major, minor), Described::Layout))
}

fn by(words: &[u64], places: &Words) -> Option<Layout> {
    let offset = |at: usize| words.get(at).copied().filter(|offset| *offset < OFFSET_MAX);
    let text = offset(places.text_bytes)?;
    Some(Layout {
        interpreters: offset(INTERPRETERS)?,
        interpreter_next: offset(places.interpreter_next)?,
        interpreter_threads: offset(places.interpreter_threads)?,
        thread_next: offset(places.thread_next)?,
        thread_id: ThreadId::Kernel(offset(places.thread_kernel_id)?),
        thread_newest: offset(places.thread_call)?,
        chain: Chain::Between {
            mark: None,
            owner: offset(places.call_owner)?,
        },
        call_previous: offset(places.call_previous)?,
        call_code: offset(places.call_code)?,
        call_position: offset(places.call_position)?,
        position: Position::Address(offset(places.code_instructions)?),
        code_file: offset(places.code_file)?,
        code_name: offset(places.code_name)?,
        code_first_line: offset(places.code_first_line)?,
        code_lines: offset(places.code_lines)?,
        lines: Lines::Locations,
        // Behind the smaller head stand a length and a pointer.
        text: (text, text + 16),
    })
}

/// Major and minor of a version as CPython writes it (`PY_VERSION_HEX`).
pub fn version(hex: u64) -> (u8, u8) {
    ((hex >> 24) as u8, (hex >> 16) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn description(version: u64, places: &Words) -> Vec<u64> {
        let mut words: Vec<u64> = (0..DESCRIPTION_WORDS as u64).map(|at| at * 8).collect();
        words[0] = u64::from_ne_bytes(COOKIE);
        words[VERSION] = version;
        words[FREE_THREADED] = 0;
        for (at, value) in places.known {
            words[at] = value;
        }
        words
    }

    #[test]
    fn interpreters_describe_themselves() {
        for (hex, places) in [(0x030d_00f0, WORDS_3_13), (0x030e_00f0, WORDS_3_14)] {
            let mut words = description(hex, &places);
            let Some(Described::Layout(layout)) = described(&words) else {
                panic!("{hex:x}: {:?}", described(&words));
            };
            assert_eq!(layout.code_name, places.code_name as u64 * 8);
            words[FREE_THREADED] = 1;
            assert_eq!(described(&words), Some(Described::FreeThreaded));
            words[FREE_THREADED] = 0;
            words[places.known[0].0] = 32;
            let other = Some(Described::Version(3, (hex >> 16) as u8));
            assert_eq!(described(&words), other, "objects of another size");
            words[places.known[0].0] = OBJECT_BYTES;
            words[places.code_name] = u64::MAX;
            assert_eq!(described(&words), other, "an offset that is none");
        }
        let newer = description(0x0310_00f0, &WORDS_3_14);
        assert_eq!(described(&newer), Some(Described::Version(3, 16)));
        assert_eq!(described(&[1; DESCRIPTION_WORDS]), None);
        assert_eq!(described(&newer[..3]), Some(Described::Version(3, 16)));
        assert_eq!(described(&newer[..2]), None);
    }

    #[test]
    fn only_versions_that_were_read_are_known() {
        let known: Vec<u8> = (0..32).filter(|minor| of((3, *minor)).is_some()).collect();
        assert_eq!(known, [9, 10, 11, 12]);
        assert_eq!(of((2, 7)), None);
        assert_eq!(version(0x030b_07f0), (3, 11));
    }

    proptest! {
        /// Garbage with a right beginning gives offsets in reach, or nothing.
        #[test]
        fn garbage_describes_nothing_far_away(
            mut words in prop::collection::vec(any::<u64>(), 0..DESCRIPTION_WORDS),
            minor in 13_u64..16,
        ) {
            if words.len() > FREE_THREADED {
                words[0] = u64::from_ne_bytes(COOKIE);
                words[VERSION] = 3 << 24 | minor << 16;
                words[FREE_THREADED] = 0;
            }
            if let Some(Described::Layout(layout)) = described(&words) {
                prop_assert!(layout.code_lines < OFFSET_MAX && layout.text.1 < 2 * OFFSET_MAX);
            }
        }
    }
}
