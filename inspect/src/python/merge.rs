//! Puts Python's calls into the native path that runs them.
//!
//! ```text
//! poll, MPI_Recv, mpi4py's own functions        as they are
//! functions of the interpreter                  left out, but those in which the thread is
//! _PyEval_EvalFrameDefault                      the Python functions that it runs
//! ```
//!
//! Which run of the loop a native frame is tells its place on the stack, where the interpreter
//! keeps something of the run; in versions that keep nothing there, the loop's code.

use super::calls::{Call, Run};
use crate::frames::At;
use std::ops::Range;

/// A step of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    Native(At<'a>),
    Python(Call),
}

/// A native path, where the thread is first.
#[derive(Clone, Copy, Debug)]
pub struct Native<'p, 'a> {
    pub path: &'p [At<'a>],
    /// The last one has no caller.
    pub is_whole: bool,
}

/// Where the interpreter's code is.
#[derive(Clone, Copy)]
pub struct Own<'i> {
    /// Whether a file's functions are the interpreter's.
    pub is_own: &'i dyn Fn(&str) -> bool,
    /// Of the loop, as it is mapped.
    pub eval_loop: &'i Range<u64>,
}

/// The path with Python's functions. Calls that fit to no native frame come last: what is between
/// is not known.
pub fn merged<'a>(native: Native<'_, 'a>, runs: &[Run], own: &Own<'_>) -> Vec<Part<'a>> {
    if runs.is_empty() {
        return native.path.iter().copied().map(Part::Native).collect();
    }
    let mut parts = Vec::new();
    let mut runs = runs;
    let mut early = not_begun(native, runs, own);
    // Outside of these are only functions of which a Python function says more.
    let mut is_inside = true;
    for (at, frame) in native.path.iter().enumerate() {
        // From where its callee returned to up to where it returns to itself.
        let end = native
            .path
            .get(at + 1)
            .map_or(frame.stack, |next| next.stack);
        let stack = frame.stack..end;
        let mut is_loop = false;
        if early > 0 && is_in_loop(frame, own) {
            early -= 1;
            is_inside = false;
            continue;
        }
        while let Some(fits) = runs.iter().position(|run| is_run(run, frame, &stack, own)) {
            // Those before it fit nowhere, and were called from here.
            let (here, outer) = runs.split_at(fits + 1);
            let calls = here.iter().flat_map(|run| &run.calls);
            parts.extend(calls.map(|call| Part::Python(*call)));
            runs = outer;
            is_loop = true;
            if here[fits].mark.is_none() {
                break;
            }
        }
        let is_own = frame.path.is_some_and(own.is_own);
        is_inside &= is_own && !is_loop;
        if !is_loop && (!is_own || is_inside) {
            parts.push(Part::Native(*frame));
        }
    }
    let rest = runs.iter().flat_map(|run| &run.calls);
    parts.extend(rest.map(|call| Part::Python(*call)));
    parts
}

/// Native frames of the loop, the newest, whose call the interpreter does not know yet. Where runs
/// have places on the stack these tell.
fn not_begun(native: Native<'_, '_>, runs: &[Run], own: &Own<'_>) -> usize {
    let has_marks = runs.iter().any(|run| run.mark.is_some());
    if has_marks || !native.is_whole {
        return 0;
    }
    let loops = native.path.iter().filter(|frame| is_in_loop(frame, own));
    loops.count().saturating_sub(runs.len())
}

fn is_run(run: &Run, frame: &At<'_>, stack: &Range<u64>, own: &Own<'_>) -> bool {
    match run.mark {
        Some(mark) => stack.contains(&mark),
        None => is_in_loop(frame, own),
    }
}

fn is_in_loop(frame: &At<'_>, own: &Own<'_>) -> bool {
    own.eval_loop.contains(&frame.address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LOOP: Range<u64> = 0x1000..0x2000;

    fn frame(path: &'static str, address: u64, stack: u64) -> At<'static> {
        At {
            path: Some(path),
            address,
            stack,
        }
    }

    fn run(mark: Option<u64>, codes: &[u64]) -> Run {
        let call = |code: &u64| Call {
            code: *code,
            position: 0,
        };
        Run {
            mark,
            calls: codes.iter().map(call).collect(),
        }
    }

    /// Python's calls as numbers, native frames as the addresses' last digits after the file.
    fn told(parts: &[Part<'_>]) -> Vec<String> {
        let one = |part: &Part<'_>| match part {
            Part::Native(at) => format!("{}+{:x}", at.path.unwrap_or("-"), at.address),
            Part::Python(call) => format!("{}", call.code),
        };
        parts.iter().map(one).collect()
    }

    fn merge(path: &[At<'_>], is_whole: bool, runs: &[Run]) -> Vec<String> {
        let own = Own {
            is_own: &|path| path == "python",
            eval_loop: &LOOP,
        };
        told(&merged(Native { path, is_whole }, runs, &own))
    }

    /// A thread in MPI, called by an extension, called by two Python functions in one run of the
    /// loop, which an extension called, which another Python function called.
    const BLOCKED: [(&str, u64, u64); 9] = [
        ("libc", 0x9001, 0x100),
        ("libmpi", 0x9002, 0x200),
        ("MPI.so", 0x9003, 0x300),
        ("python", 0x3001, 0x400),
        ("python", 0x1801, 0x500),
        ("ext.so", 0x9004, 0x600),
        ("python", 0x1001, 0x700),
        ("python", 0x3002, 0x800),
        ("libc", 0x9005, 0x900),
    ];

    fn blocked() -> Vec<At<'static>> {
        BLOCKED
            .map(|(path, address, stack)| frame(path, address, stack))
            .to_vec()
    }

    #[test]
    fn calls_stand_where_their_loop_runs() {
        let marked = [run(Some(0x520), &[1, 2]), run(Some(0x7f8), &[3])];
        let expected = [
            "libc+9001",
            "libmpi+9002",
            "MPI.so+9003",
            "1",
            "2",
            "ext.so+9004",
            "3",
            "libc+9005",
        ];
        assert_eq!(merge(&blocked(), true, &marked), expected);
        let unmarked = [run(None, &[1]), run(None, &[3])];
        let expected = [
            "libc+9001",
            "libmpi+9002",
            "MPI.so+9003",
            "1",
            "ext.so+9004",
            "3",
            "libc+9005",
        ];
        assert_eq!(merge(&blocked(), true, &unmarked), expected);
        // The newest loop has not begun its call.
        let expected = [
            "libc+9001",
            "libmpi+9002",
            "MPI.so+9003",
            "ext.so+9004",
            "3",
            "libc+9005",
        ];
        assert_eq!(merge(&blocked(), true, &[run(None, &[3])]), expected);
    }

    #[test]
    fn interpreter_functions_are_told_where_the_thread_is() {
        let path = &blocked()[3..];
        let found = merge(path, true, &[run(Some(0x520), &[1])]);
        assert_eq!(found, ["python+3001", "1", "ext.so+9004", "libc+9005"]);
    }

    /// The native path ends early: what Python knows is still told.
    #[test]
    fn calls_outlive_a_native_path_that_is_lost() {
        let path = &blocked()[..3];
        let found = merge(
            path,
            false,
            &[run(Some(0x520), &[1]), run(Some(0x720), &[2])],
        );
        assert_eq!(found, ["libc+9001", "libmpi+9002", "MPI.so+9003", "1", "2"]);
    }

    proptest! {
        /// Whatever is in the stack and in the interpreter: each call stands once, in its order,
        /// and no native frame is made up.
        #[test]
        fn calls_are_neither_lost_nor_doubled(
            frames in prop::collection::vec((0..3usize, 0x0800_u64..0x2800, any::<u64>()), 0..12),
            marks in prop::collection::vec(prop::option::of(any::<u64>()), 0..8),
            is_whole in any::<bool>(),
        ) {
            let files = ["libc", "python", "ext.so"];
            let path: Vec<At<'_>> = frames
                .iter()
                .map(|(file, address, stack)| frame(files[*file], *address, *stack))
                .collect();
            let runs: Vec<Run> = marks
                .iter()
                .enumerate()
                .map(|(at, mark)| run(*mark, &[at as u64 * 2, at as u64 * 2 + 1]))
                .collect();
            let found = merge(&path, is_whole, &runs);
            let calls: Vec<&String> = found.iter().filter(|one| !one.contains('+')).collect();
            let all: Vec<String> = (0..runs.len() * 2).map(|call| call.to_string()).collect();
            prop_assert_eq!(calls, all.iter().collect::<Vec<_>>());
            let natives = told(&path.iter().copied().map(Part::Native).collect::<Vec<_>>());
            prop_assert!(found.iter().all(|one| !one.contains('+') || natives.contains(one)));
        }
    }
}
