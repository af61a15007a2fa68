//! Takes the call paths of a rank's threads from outside.
//!
//! ```text
//! runs, or sleeps in a call that begins again   stopped for a moment: `tracer`
//! sleeps in a call that would notice            read without a stop: `blocked_thread`
//! may not be stopped                            read without a stop, or from its MPI call
//! ```
//!
//! Where it runs Python, the calls of its interpreter are copied in the same stop (`python`).
//!
//! The rank does nothing for it: there is no handler of ours in it that would unwind its stack.
//! Steps are files and addresses in them; the place requests the names of those that it has not had
//! yet from one of its supervisors (`names`).

mod steps;

use crate::apart;
use crate::blocked_thread::{BlockedThread, Sleep};
use crate::frames::{At, Frames, Go, Registers};
use crate::mapped::{self, MappedFile, is_shim};
use crate::memory::ProcessMemory;
use crate::python::calls::Run;
use crate::python::code::Codes;
use crate::python::merge::{Native, Own, merged};
use crate::python::pages::Pages;
use crate::python::{KnownPython, Python};
use crate::site::noted;
use crate::tracer::{self, Copied, Refused};
use invivo_jobdir::process_stat;
use invivo_proto::control::local::{Step, THREADS_MAX, UnwoundThread};
use invivo_proto::control::stacks::{NoPython, UnstoppedReason, Way};
use invivo_proto::control::{decode, encode};
use invivo_proto::shm::{Page, Status, inside};
use rustix::process::Pid;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Frames that a path is followed through: deeper ones are reported as paths with unknown callers.
const FRAMES_MAX: usize = 4096;
/// Attempts to read a sleeping thread that wakes and sleeps again.
const TRIES: usize = 3;
/// After this time no further thread is begun: the supervisor has other things to do, and its place
/// waits a little longer only.
pub const WITHIN: Duration = Duration::from_millis(300);
/// The longest time for following the paths of some threads, which takes milliseconds where
/// processors are free. A stop waits for it, and has a second itself.
const WALKED_WITHIN: Duration = Duration::from_millis(if cfg!(test) { 30_000 } else { 700 });
/// Bytes of stacks after which paths are followed before more threads are looked at.
const SEEN_BYTES_MAX: usize = 4 << 20;

/// The call paths of a process' threads, at least one entry: the first thread, and with `threads`
/// the others as far as `within` reaches.
pub fn unwind(
    pid: Pid,
    page: &Page,
    python: &mut KnownPython,
    threads: bool,
    within: Duration,
) -> Vec<UnwoundThread> {
    let since = Instant::now();
    let mut tids: Vec<Pid> = process_stat::threads(pid.as_raw_nonzero().get())
        .into_iter()
        .filter(|(_, state)| !matches!(state, 'Z' | 'X'))
        .filter_map(|(tid, _)| Pid::from_raw(tid as i32))
        .collect();
    tids.sort_unstable_by_key(|tid| tid.as_raw_nonzero());
    // The first thread has the process' number, and the others mostly higher ones.
    tids.retain(|tid| threads || *tid == pid);
    let found = tids.len();
    tids.truncate(THREADS_MAX);
    if tids.is_empty() {
        return vec![UnwoundThread::unknown(UnstoppedReason::Ended)];
    }
    let (memory, mappings) = (ProcessMemory::of(pid), mapped::mappings(pid));
    let (Some(memory), Some(mappings)) = (memory, mappings) else {
        return vec![UnwoundThread::unknown(why(pid, Refused::Forbidden))];
    };
    let files = mapped::files(&mappings);
    let python = python.of(pid, &memory, &files);
    let mut rank = Rank::new(pid, page, &memory, &files, python);
    let mut all: Vec<UnwoundThread> = Vec::new();
    let mut tids = tids.into_iter().peekable();
    while tids.peek().is_some() && (all.is_empty() || since.elapsed() < within) {
        let (mut seen, mut bytes) = (Vec::new(), 0);
        while bytes < SEEN_BYTES_MAX
            && (all.is_empty() && seen.is_empty() || since.elapsed() < within)
            && let Some(tid) = tids.next()
        {
            let thread = rank.look(tid);
            bytes += thread.bytes();
            seen.push(thread);
        }
        let threads = seen.len();
        let walk = || {
            let walked: Vec<UnwoundThread> = seen.into_iter().map(|one| rank.walk(one)).collect();
            encode(&walked).unwrap_or_default()
        };
        let walked = apart::once(WALKED_WITHIN, &[memory.descriptor()], walk)
            .and_then(|walked| decode::<Vec<UnwoundThread>>(&walked).ok())
            .filter(|walked| walked.len() == threads);
        let Some(walked) = walked else {
            // What is written in its files keeps us: the others would take as long.
            all.extend((0..threads).map(|_| UnwoundThread::unknown(UnstoppedReason::Silent)));
            break;
        };
        all.extend(walked);
    }

    let left_out = found - all.len();
    // Threads come and go.
    all.retain(|walked| walked.way != Way::Missing(UnstoppedReason::Ended));
    match all.first_mut() {
        Some(first) => first.left_out = left_out as u32,
        None => all.push(UnwoundThread::unknown(UnstoppedReason::Ended)),
    }
    all
}

/// The call path of a thread that waits for us, from registers that it has noted itself: it stands
/// still, so that its stack is read where it lies, however large its frames are.
pub fn waiting(
    pid: Pid,
    tid: Pid,
    page: &Page,
    python: &mut KnownPython,
    registers: Registers,
) -> UnwoundThread {
    let (memory, mappings) = (ProcessMemory::of(pid), mapped::mappings(pid));
    let (Some(memory), Some(mappings)) = (memory, mappings) else {
        return UnwoundThread::unknown(why(pid, Refused::Forbidden));
    };
    let files = mapped::files(&mappings);
    let python = python.of(pid, &memory, &files);
    let mut rank = Rank::new(pid, page, &memory, &files, python);
    rank.keeps_first = false;
    // A call of what is no function (a null pointer) has just left where it is to come back to.
    let is_code = files.values().any(|file| file.holds(registers.code));
    let came_from = (!is_code).then(|| memory.word(registers.stack)).flatten();
    let from = came_from.map_or(registers, |code| Registers {
        code,
        stack: registers.stack.wrapping_add(8),
        ..registers
    });
    let walk = || {
        let is_return = came_from.is_some();
        let runs = rank.calls_of(tid).read(&memory);
        let mut walked = rank.follow(Way::Asleep, from, is_return, runs, |at| memory.word(at));
        if is_return {
            walked.path.insert(0, Step::Nowhere);
        }
        encode(&walked).unwrap_or_default()
    };
    apart::once(WALKED_WITHIN, &[memory.descriptor()], walk)
        .and_then(|walked| decode(&walked).ok())
        .unwrap_or_else(|| UnwoundThread::unknown(UnstoppedReason::Silent))
}

/// Stops a child of ours as the threads of a rank are, to see whether that is allowed: for how long
/// it stood still.
pub fn trial(child: Pid) -> Result<Duration, UnstoppedReason> {
    let refused = |refused| why(child, refused);
    let memory = ProcessMemory::of(child).ok_or_else(|| refused(Refused::Forbidden))?;
    let copied = tracer::copy(child, child, &memory, || ());
    copied.map(|(copied, ())| copied.stopped).map_err(refused)
}

/// Why a thread was not stopped.
fn why(tid: Pid, refused: Refused) -> UnstoppedReason {
    let tid = tid.as_raw_nonzero();
    let status = std::fs::read_to_string(format!("/proc/{tid}/status")).unwrap_or_default();
    let mut tracer = status
        .lines()
        .filter_map(|line| line.strip_prefix("TracerPid:"));
    // One that is about to end has given its memory back before it says so.
    let has_memory = match std::fs::read(format!("/proc/{tid}/maps")) {
        Ok(mappings) => !mappings.is_empty(),
        Err(error) => error.kind() == std::io::ErrorKind::PermissionDenied,
    };
    let has_ended = !has_memory
        || process_stat::stat(tid.get()).is_none_or(|stat| matches!(stat.state, 'Z' | 'X'));
    match refused {
        _ if has_ended => UnstoppedReason::Ended,
        Refused::Gone => UnstoppedReason::Ended,
        Refused::InKernel => UnstoppedReason::InKernel,
        Refused::Forbidden if tracer.any(|tracer| tracer.trim() != "0") => UnstoppedReason::Traced,
        Refused::Forbidden => UnstoppedReason::Forbidden,
    }
}

struct Rank<'a> {
    pid: Pid,
    page: &'a Page,
    memory: &'a ProcessMemory,
    files: &'a BTreeMap<&'a str, MappedFile<'a>>,
    frames: Frames<'a>,
    python: &'a Python,
    /// Where the interpreter's states of threads are; nothing where that cannot be read.
    states: Option<BTreeMap<u32, u64>>,
    codes: Codes<'a>,
    /// A path that begins in our wrapper begins there.
    keeps_first: bool,
}

/// The Python calls of a thread, the newest first; nothing where there are some that cannot be
/// read.
type Runs = Option<Vec<Run>>;

/// What is to be read of a thread's Python calls, with room for it.
enum Calls<'a> {
    /// It has none.
    None,
    /// It may have some, and nobody can read them.
    Unreadable,
    State(&'a Python, u64, Pages),
}

impl Calls<'_> {
    /// Reads them. The room stays: to give it back takes time, in which a thread may be stopped.
    fn read(&mut self, memory: &ProcessMemory) -> Runs {
        match self {
            Calls::None => Some(Vec::new()),
            Calls::Unreadable => None,
            Calls::State(python, state, pages) => python.interpreter()?.runs(memory, *state, pages),
        }
    }
}

/// A thread as it was found, before its path is followed.
enum Seen {
    /// Its registers, the end of its stack, and its Python calls.
    Copied(Way, Copied, Runs),
    /// It could not be copied; it may be in an MPI call.
    InMpi(Pid, UnstoppedReason),
    Unknown(UnstoppedReason),
}

impl Seen {
    /// Bytes of its stack.
    fn bytes(&self) -> usize {
        match self {
            Seen::Copied(_, copied, _) => copied.stack.len(),
            Seen::InMpi(..) | Seen::Unknown(_) => 0,
        }
    }
}

impl<'a> Rank<'a> {
    fn new(
        pid: Pid,
        page: &'a Page,
        memory: &'a ProcessMemory,
        files: &'a BTreeMap<&'a str, MappedFile<'a>>,
        python: &'a Python,
    ) -> Rank<'a> {
        let interpreter = python.interpreter();
        Rank {
            pid,
            page,
            memory,
            files,
            frames: Frames::new(memory, files),
            python,
            states: interpreter.map_or(Some(BTreeMap::new()), |one| one.threads(memory)),
            codes: Codes::of(memory),
            keeps_first: true,
        }
    }

    fn calls_of(&self, tid: Pid) -> Calls<'a> {
        let tid = tid.as_raw_nonzero().get() as u32;
        match self.states.as_ref().map(|states| states.get(&tid)) {
            None => Calls::Unreadable,
            Some(None) => Calls::None,
            Some(Some(state)) => Calls::State(self.python, *state, Pages::room()),
        }
    }

    fn look(&self, tid: Pid) -> Seen {
        let mut thread = crate::blocked_thread::observe(self.pid, tid);
        for _ in 0..TRIES {
            match thread {
                BlockedThread::Sleeps(sleep) if !sleep.may_be_stopped(self.pid) => {
                    if let Some((copied, runs)) = self.asleep(tid, &sleep) {
                        return Seen::Copied(Way::Asleep, copied, runs);
                    }
                }
                _ => break,
            }
            thread = crate::blocked_thread::observe(self.pid, tid);
        }
        if let BlockedThread::Sleeps(sleep) = &thread
            && !sleep.may_be_stopped(self.pid)
        {
            return Seen::Unknown(UnstoppedReason::InKernel);
        }

        let (mut calls, memory) = (self.calls_of(tid), self.memory);
        let refused = match tracer::copy(self.pid, tid, memory, || calls.read(memory)) {
            Ok((copied, runs)) => return Seen::Copied(Way::Stopped, copied, runs),
            Err(refused) => refused,
        };
        let why = why(tid, refused);
        if why == UnstoppedReason::Ended {
            return Seen::Unknown(why);
        }

        // Another tracer, or a kernel that forbids it: what can be read without a stop is left.
        let asleep = match crate::blocked_thread::observe(self.pid, tid) {
            BlockedThread::Sleeps(sleep) => self.asleep(tid, &sleep),
            BlockedThread::Runs => None,
        };
        match asleep {
            Some((copied, runs)) => Seen::Copied(Way::Unstopped(why), copied, runs),
            None => Seen::InMpi(tid, why),
        }
    }

    /// Follows a thread's path: reads what is written in the rank's files.
    fn walk(&mut self, seen: Seen) -> UnwoundThread {
        match seen {
            Seen::Copied(way, copied, runs) => self.path(way, &copied, runs),
            Seen::InMpi(tid, why) => self
                .in_mpi(tid, why)
                .unwrap_or_else(|| UnwoundThread::unknown(why)),
            Seen::Unknown(why) => UnwoundThread::unknown(why),
        }
    }

    /// The registers and stack of a sleeping thread; nothing where it woke meanwhile.
    fn asleep(&self, tid: Pid, sleep: &Sleep) -> Option<(Copied, Runs)> {
        let mut stack = tracer::room();
        let runs = self.calls_of(tid).read(self.memory);
        let copied = self.memory.read_some(sleep.registers.stack, &mut stack);
        stack.truncate(copied);
        stack.shrink_to_fit();
        let is_same =
            crate::blocked_thread::observe(self.pid, tid) == BlockedThread::Sleeps(sleep.clone());
        let copied = Copied {
            registers: sleep.registers,
            stack,
            stopped: Default::default(),
        };
        is_same.then_some((copied, runs))
    }

    /// A thread's path to the MPI call that it is in, if it is in one and stays there.
    fn in_mpi(&mut self, tid: Pid, why: UnstoppedReason) -> Option<UnwoundThread> {
        let status = self.status(tid)?;
        let entered = status.entered.load(Ordering::Acquire);
        let registers = noted(self.memory, self.files, status)?;
        let memory = self.memory;
        let runs = self.calls_of(tid).read(memory);
        let way = Way::Unstopped(why);
        let walked = self.follow(way, registers, true, runs, |at| memory.word(at));
        let is_inside = status.inside.load(Ordering::Acquire) == inside::MPI;
        let is_same = is_inside && status.entered.load(Ordering::Acquire) == entered;
        is_same.then_some(walked)
    }

    fn status(&self, tid: Pid) -> Option<&'a Status> {
        let page = self.page;
        let locations = (page.locations.load(Ordering::Acquire) as usize).min(page.status.len());
        let mut own = page.status[..locations].iter();
        own.find(|status| status.tid.load(Ordering::Acquire) == tid.as_raw_nonzero().get() as u32)
    }

    fn path(&mut self, way: Way, copied: &Copied, runs: Runs) -> UnwoundThread {
        let mut walked = self.follow(way, copied.registers, false, runs, |at| copied.word(at));
        walked.stop_ns = u64::try_from(copied.stopped.as_nanos()).unwrap_or(u64::MAX);
        walked
    }

    fn follow(
        &mut self,
        way: Way,
        from: Registers,
        is_return: bool,
        runs: Runs,
        read: impl FnMut(u64) -> Option<u64>,
    ) -> UnwoundThread {
        let mut path: Vec<At<'a>> = Vec::new();
        let keeps_first = self.keeps_first;
        let is_whole = self.frames.unwind(from, is_return, FRAMES_MAX, read, |at| {
            // Our wrapper stands between the application and the library, and is neither.
            if path.is_empty() && keeps_first || !at.path.is_some_and(is_shim) {
                path.push(at);
            }
            Go::On
        });
        let mut walked = UnwoundThread {
            way,
            is_whole,
            no_python: self.no_python(&path, &runs),
            ..UnwoundThread::unknown(UnstoppedReason::Ended)
        };
        let interpreter = self.python.interpreter();
        let own = Own {
            is_own: &|path| self.python.owns(path),
            eval_loop: interpreter.map_or(&(0..0), |one| one.eval_loop()),
        };
        let native = Native {
            path: &path,
            is_whole,
        };
        let parts = merged(native, &runs.unwrap_or_default(), &own);
        let mut steps = steps::Steps {
            frames: &self.frames,
            interpreter,
            codes: &mut self.codes,
        };
        steps.add(&parts, &mut walked);
        walked
    }

    /// Why the Python functions of a path through an interpreter are not told.
    fn no_python(&self, path: &[At<'_>], runs: &Runs) -> Option<NoPython> {
        let through = || {
            let mut files = path.iter().filter_map(|at| at.path);
            files.any(|path| self.python.owns(path))
        };
        match self.python {
            Python::Unread { why, .. } if through() => Some(*why),
            Python::Read(_) if runs.is_none() && through() => Some(NoPython::Unreadable),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
