//! The Python calls of a thread, from the interpreter's structures in the process' memory.
//!
//! The thread may be stopped for this, so that nothing but the chain of calls is read here; what
//! they are called is read later ([`super::code`]). Nothing that stands in the memory is trusted:
//! chains may lead anywhere, or in a circle.

use super::layout::{Chain, Layout, OWNED_BY_NOBODY, Position, ThreadId};
use super::pages::Pages;
use crate::memory::ProcessMemory;
use std::collections::BTreeMap;

/// Calls of a thread that are followed, the newest first: the interpreter's own limit, and some
/// that stand between them.
const CALLS_MAX: usize = 1200;
/// Interpreters of a process.
const INTERPRETERS_MAX: usize = 64;
/// Threads of a process that its interpreters know.
const THREADS_MAX: usize = 1024;
/// Where the C library keeps the kernel's id of a thread, behind its `pthread_t`: glibc's debugging
/// interface (`libthread_db`) has it there since 2.4. One that is wrong is no thread's.
const TID_IN_PTHREAD: u64 = 720;

/// A Python function that was called, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its code object.
    pub code: u64,
    /// Bytes of instructions before the one that it is at; below 0 before the first.
    pub position: i64,
}

/// Calls that one run of the interpreter's loop serves, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Something that lies in the loop's frame on the native stack; nothing where the version has
    /// nothing there.
    pub mark: Option<u64>,
    pub calls: Vec<Call>,
}

/// Where the states of a process' threads lie, by the kernel's ids of the threads. Nothing where
/// the chain of interpreters is garbage.
pub fn threads(
    memory: &ProcessMemory,
    layout: &Layout,
    runtime: u64,
) -> Option<BTreeMap<u32, u64>> {
    let word = |at: u64, offset: u64| memory.word(at.checked_add(offset)?);
    let mut found = BTreeMap::new();
    let mut left = THREADS_MAX;
    let mut interpreter = word(runtime, layout.interpreters)?;
    for _ in 0..INTERPRETERS_MAX {
        if interpreter == 0 {
            break;
        }
        let mut thread = word(interpreter, layout.interpreter_threads)?;
        while thread != 0 && left > 0 {
            left -= 1;
            if let Some(tid) = tid(memory, layout.thread_id, thread) {
                // Of several the newest: they stand first.
                found.entry(tid).or_insert(thread);
            }
            thread = word(thread, layout.thread_next)?;
        }
        interpreter = word(interpreter, layout.interpreter_next)?;
    }
    Some(found)
}

fn tid(memory: &ProcessMemory, id: ThreadId, thread: u64) -> Option<u32> {
    match id {
        ThreadId::Kernel(offset) => memory.word(thread.checked_add(offset)?)?.try_into().ok(),
        ThreadId::Library(offset) => {
            let library = memory.word(thread.checked_add(offset)?)?;
            let tid = memory.read(library.checked_add(TID_IN_PTHREAD)?, 4)?;
            Some(u32::from_ne_bytes(tid.try_into().ok()?))
        }
    }
}

/// The calls of a thread, the newest run first; nothing where its state is garbage.
pub fn runs(
    memory: &ProcessMemory,
    layout: &Layout,
    thread: u64,
    pages: &mut Pages,
) -> Option<Vec<Run>> {
    let mut reader = Reader {
        memory,
        layout,
        pages,
    };
    let newest = reader.word(thread, layout.thread_newest)?;
    let mut runs = vec![Run::default()];
    match layout.chain {
        Chain::Single => reader.single(newest, None, &mut runs),
        Chain::Marked {
            newest: mark,
            previous,
        } => {
            let mark = reader.word(thread, mark)?;
            reader.single(newest, Some((mark, previous)), &mut runs)
        }
        Chain::MarkedRuns {
            call,
            previous,
            is_first,
        } => reader.marked_runs(newest, (call, previous, is_first), &mut runs),
        Chain::Between { mark, owner } => {
            let call = match mark {
                Some(call) => reader.word(newest, call)?,
                None => newest,
            };
            reader.between(call, owner, &mut runs)
        }
    };
    runs.retain(|run| !run.calls.is_empty());
    Some(runs)
}

struct Reader<'a> {
    memory: &'a ProcessMemory,
    layout: &'a Layout,
    pages: &'a mut Pages,
}

/// Each of these follows a chain as far as it makes sense, and adds what it finds; what is
/// returned tells only that it came to no end.
impl Reader<'_> {
    fn word(&mut self, at: u64, offset: u64) -> Option<u64> {
        self.pages.word(self.memory, at.checked_add(offset)?)
    }

    fn byte(&mut self, at: u64, offset: u64) -> Option<u8> {
        self.pages.byte(self.memory, at.checked_add(offset)?)
    }

    fn single(
        &mut self,
        mut at: u64,
        mut mark: Option<(u64, u64)>,
        runs: &mut Vec<Run>,
    ) -> Option<()> {
        for _ in 0..CALLS_MAX {
            if at == 0 {
                break;
            }
            let calls = vec![self.call(at)?];
            let run = Run {
                mark: mark.map(|(mark, _)| mark),
                calls,
            };
            runs.push(run);
            if let Some((mark, previous)) = &mut mark {
                *mark = self.word(*mark, *previous)?;
            }
            at = self.word(at, self.layout.call_previous)?;
        }
        Some(())
    }

    fn marked_runs(
        &mut self,
        mut mark: u64,
        (call, previous, is_first): (u64, u64, u64),
        runs: &mut Vec<Run>,
    ) -> Option<()> {
        let mut at = self.word(mark, call)?;
        for _ in 0..CALLS_MAX {
            if at == 0 {
                break;
            }
            let one = self.call(at)?;
            let run = runs.last_mut()?;
            run.calls.push(one);
            run.mark = Some(mark);
            if self.byte(at, is_first)? != 0 {
                mark = self.word(mark, previous)?;
                runs.push(Run::default());
            }
            at = self.word(at, self.layout.call_previous)?;
        }
        Some(())
    }

    fn between(&mut self, mut at: u64, owner: u64, runs: &mut Vec<Run>) -> Option<()> {
        for _ in 0..CALLS_MAX {
            if at == 0 {
                break;
            }
            if self.byte(at, owner)? >= OWNED_BY_NOBODY {
                runs.last_mut()?.mark = Some(at);
                runs.push(Run::default());
            } else {
                let one = self.call(at)?;
                runs.last_mut()?.calls.push(one);
            }
            at = self.word(at, self.layout.call_previous)?;
        }
        Some(())
    }

    fn call(&mut self, at: u64) -> Option<Call> {
        // Newer versions mark references by their lowest bits, in which no address has anything.
        let code = self.word(at, self.layout.call_code)? & !7;
        let offset = self.layout.call_position;
        let position = match self.layout.position {
            Position::Bytes => self.number(at, offset)?,
            Position::Instructions => self.number(at, offset)?.saturating_mul(2),
            Position::Address(first) => {
                let first = code.checked_add(first)?;
                self.word(at, offset)?.wrapping_sub(first).cast_signed()
            }
        };
        Some(Call { code, position })
    }

    fn number(&mut self, at: u64, offset: u64) -> Option<i64> {
        let number = self.pages.number(self.memory, at.checked_add(offset)?)?;
        Some(i64::from(number))
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout;
    use super::*;
    use proptest::prelude::*;

    /// Words of garbage, of which many are addresses of others of them: chains that lead on, and
    /// circles. Whatever stands there, reading has an end, and what is found has a bound.
    fn is_bounded(words: &mut [u64], wild: &[(usize, usize)]) -> Result<(), TestCaseError> {
        let base = words.as_ptr() as u64;
        for (at, to) in wild {
            let (at, to) = (at % words.len(), to % words.len());
            words[at] = base + to as u64 * 8;
        }
        let us = ProcessMemory::of(rustix::process::getpid()).expect("we may read ourselves");
        for minor in 9..=12 {
            let layout = layout::of((3, minor)).expect("a known version");
            for at in [0, words.len() / 2] {
                let at = base + at as u64 * 8;
                let known = threads(&us, &layout, at).unwrap_or_default();
                prop_assert!(known.len() <= THREADS_MAX);
                let runs = runs(&us, &layout, at, &mut Pages::room()).unwrap_or_default();
                let calls: usize = runs.iter().map(|run| run.calls.len()).sum();
                prop_assert!(calls <= CALLS_MAX);
            }
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn garbage_has_an_end(
            mut words in prop::collection::vec(prop_oneof![Just(0), any::<u64>()], 64..512),
            wild in prop::collection::vec((any::<usize>(), any::<usize>()), 0..800),
        ) {
            is_bounded(&mut words, &wild)?;
        }
    }

    /// Every word leads to the beginning.
    #[test]
    fn a_circle_has_an_end() {
        let mut words = vec![0; 256];
        let wild: Vec<(usize, usize)> = (0..256).map(|at| (at, 0)).collect();
        is_bounded(&mut words, &wild).expect("bounded");
    }
}
