//! Real processes in known functions, of which each way of standing is looked at from outside.

mod python;

use super::*;
use crate::names::Names;
use crate::test_memory;
use invivo_proto::shm::Region;
use nix::sys::ptrace;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;

/// Sleeps or computes in `inner`, called by `middle`, called by `main`, until it gets SIGUSR1; then
/// it says how often it was interrupted before. No call is the last thing that a function does, so
/// that each has a frame.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>
static volatile sig_atomic_t over;
static volatile long work, interrupted;
static void stop(int number) { over = number; }
static void *beside(void *nothing)
{
    for (;;)
        pause();
    return nothing;
}
__attribute__((noinline)) static int inner(const char *way)
{
    struct timespec time = {1000, 0};
    struct epoll_event event;
    int done = 0, ends[2];
    char byte;
    if (pipe(ends))
        return 1;
    if (!strcmp(way, "computes"))
        for (int i = 0; i < 1000000; i++)
            work++;
    if (!strcmp(way, "nanosleep"))
        done = nanosleep(&time, NULL);
    if (!strcmp(way, "poll"))
        done = poll(NULL, 0, 1000000);
    if (!strcmp(way, "read"))
        done = read(ends[0], &byte, 1);
    if (!strcmp(way, "pause"))
        done = pause();
    if (!strcmp(way, "epoll"))
        done = epoll_wait(epoll_create1(0), &event, 1, 1000000);
    interrupted += done < 0 && errno == EINTR && !over;
    close(ends[0]);
    close(ends[1]);
    return done;
}
__attribute__((noinline)) static int middle(const char *way)
{
    int done = inner(way);
    work++;
    return done;
}
int main(int argc, char **argv)
{
    /* Calls do not begin again after this one. */
    struct sigaction action = {.sa_handler = stop};
    sigaction(SIGUSR1, &action, NULL);
    pthread_t thread;
    for (int i = 0; argc > 2 && i < 5; i++)
        pthread_create(&thread, NULL, beside, NULL);
    puts("begun");
    fflush(stdout);
    while (!over)
        work += middle(argv[argc - 1]);
    printf("%ld\n", interrupted);
    return 3;
}
"#;

/// The ways that a stop does not disturb.
const RESTARTED: [&str; 4] = ["nanosleep", "poll", "read", "pause"];

struct Sleeper {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    memory: Region,
    _dir: tempfile::TempDir,
}

impl Sleeper {
    fn new(way: &str) -> Sleeper {
        let dir = tempfile::tempdir().expect("directory");
        let (source, program) = (dir.path().join("sleeper.c"), dir.path().join("sleeper"));
        std::fs::write(&source, PROGRAM).expect("a source");
        let mut compile = Command::new("cc");
        compile
            .args(["-O1", "-g", "-pthread", "-o"])
            .arg(&program)
            .arg(&source);
        assert!(compile.status().expect("a C compiler").success());
        let mut child = Command::new(&program)
            .args(way.split(' '))
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        output
            .read_line(&mut String::new())
            .expect("its first word");
        let sleeper = Sleeper {
            child,
            output,
            memory: test_memory::region(),
            _dir: dir,
        };
        // Until it stands where it is to stand.
        let since = Instant::now();
        while way != "computes"
            && sleeper.state() != 'S'
            && since.elapsed() < Duration::from_secs(10)
        {
            std::thread::yield_now();
        }
        sleeper
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn state(&self) -> char {
        process_stat::stat(self.child.id() as i32).map_or('X', |stat| stat.state)
    }

    fn unwind(&self) -> UnwoundThread {
        let mut all = unwind(
            self.pid(),
            self.memory.page(),
            &mut KnownPython::default(),
            false,
            WITHIN,
        );
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    /// Ends it: it has not been interrupted, and leaves with its own status. A signal that comes
    /// right before a system call does not end it, and a program that waits for one in this way
    /// must get another.
    fn end(&mut self) {
        let since = Instant::now();
        let status = loop {
            let _ = rustix::process::kill_process(self.pid(), rustix::process::Signal::USR1);
            std::thread::sleep(Duration::from_millis(2));
            match self.child.try_wait().expect("a child") {
                Some(status) => break status,
                None => assert!(since.elapsed() < Duration::from_secs(10), "it does not end"),
            }
        };
        let mut line = String::new();
        self.output.read_line(&mut line).expect("its last word");
        assert_eq!(line, "0\n", "interrupted");
        assert_eq!(status.code(), Some(3));
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The names of a path's functions, where it is first.
fn functions(walked: &UnwoundThread) -> Vec<String> {
    let mut names = Names::default();
    let steps = walked.path.iter().flat_map(|step| match step {
        Step::Code { module, offset } => {
            names.functions(&walked.modules[usize::from(*module)], *offset)
        }
        other => panic!("{other:?} in {walked:?}"),
    });
    steps.map(|named| named.function).collect()
}

/// The path is that of the program, and the last is what nobody calls.
fn is_right(walked: &UnwoundThread) {
    let functions = functions(walked);
    let own: Vec<&str> = functions
        .iter()
        .map(String::as_str)
        .filter(|name| ["inner", "middle", "main", "_start"].contains(name))
        .collect();
    assert!(
        own.ends_with(&["inner", "middle", "main", "_start"]) && walked.is_whole,
        "{functions:?} {walked:?}"
    );
}

#[test]
fn a_program_that_computes_is_stopped_for_a_moment() {
    let mut sleeper = Sleeper::new("computes");
    // It may be between two calls of its functions.
    let of_inner = (0..100).map(|_| sleeper.unwind()).find(|walked| {
        assert_eq!(walked.way, Way::Stopped);
        functions(walked)
            .first()
            .is_some_and(|name| name == "inner")
    });
    is_right(&of_inner.expect("it is there nearly all the time"));
    sleeper.end();
}

#[test]
fn sleeping_calls_go_on_sleeping() {
    for way in RESTARTED {
        let mut sleeper = Sleeper::new(way);
        for _ in 0..20 {
            let walked = sleeper.unwind();
            assert_eq!(walked.way, Way::Stopped, "{way}");
            assert!(walked.stop_ns > 0, "{way}");
            is_right(&walked);
        }
        sleeper.end();
    }
}

#[test]
fn a_call_that_a_stop_would_end_is_not_stopped() {
    let mut sleeper = Sleeper::new("epoll");
    for _ in 0..20 {
        let walked = sleeper.unwind();
        assert_eq!((walked.way, walked.stop_ns), (Way::Asleep, 0));
        is_right(&walked);
    }
    sleeper.end();
}

/// A stop takes its time, and there may be many threads: those that are not reached are counted.
#[test]
fn threads_that_take_too_long_are_left_out() {
    let mut sleeper = Sleeper::new("of-six nanosleep");
    let of = |within| {
        let mut python = KnownPython::default();
        unwind(
            sleeper.pid(),
            sleeper.memory.page(),
            &mut python,
            true,
            within,
        )
    };
    let all = of(Duration::from_secs(10));
    assert_eq!((all.len(), all[0].left_out), (6, 0));
    is_right(&all[0]);
    let first = of(Duration::ZERO);
    assert_eq!((first.len(), first[0].left_out), (1, 5));
    sleeper.end();
}

/// Signals that the program never sees do not end its calls either; the kernel keeps them for who
/// traces it.
#[test]
fn signals_that_nobody_takes_disturb_nobody() {
    let mut sleeper = Sleeper::new("epoll");
    let (pid, over) = (sleeper.pid(), AtomicBool::new(false));
    let memory = ProcessMemory::of(pid).expect("a child's memory");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::WINCH);
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::CHILD);
            }
        });
        for _ in 0..200 {
            assert!(tracer::copy(pid, pid, &memory, || ()).is_ok());
        }
        over.store(true, Ordering::Relaxed);
    });
    sleeper.end();
}

/// As when the thread fell asleep right before the stop.
#[test]
fn a_call_that_a_stop_has_ended_is_made_again() {
    let mut sleeper = Sleeper::new("epoll");
    let memory = ProcessMemory::of(sleeper.pid()).expect("a child's memory");
    for _ in 0..20 {
        assert!(tracer::copy(sleeper.pid(), sleeper.pid(), &memory, || ()).is_ok());
    }
    sleeper.end();
}

#[test]
fn a_process_that_was_stopped_stays_stopped() {
    let mut sleeper = Sleeper::new("computes");
    let until = |state: char| {
        let since = Instant::now();
        while sleeper.state() != state && since.elapsed() < Duration::from_secs(10) {
            std::thread::yield_now();
        }
        assert_eq!(sleeper.state(), state);
    };
    rustix::process::kill_process(sleeper.pid(), rustix::process::Signal::STOP)
        .expect("it is there");
    until('T');
    let walked = sleeper.unwind();
    assert_eq!(walked.way, Way::Stopped);
    until('T');
    rustix::process::kill_process(sleeper.pid(), rustix::process::Signal::CONT)
        .expect("it is there");
    sleeper.end();
}

/// Another program, a debugger say, traces the process while `look` looks.
fn traced<T>(sleeper: &Sleeper, observe: impl FnOnce() -> T) -> T {
    let pid = nix::unistd::Pid::from_raw(sleeper.child.id() as i32);
    let (seized, is_seized) = mpsc::channel();
    let (over, is_over) = mpsc::channel::<()>();
    let seen = std::thread::scope(|scope| {
        scope.spawn(move || {
            ptrace::seize(pid, ptrace::Options::empty()).expect("nobody else traces it");
            seized.send(()).expect("somebody waits");
            // The end of this thread lets go of it.
            let _ = is_over.recv();
        });
        is_seized.recv().expect("it is traced");
        let seen = observe();
        drop(over);
        seen
    });
    // The kernel lets go when the thread is gone, which is a moment after it is waited for.
    let since = Instant::now();
    while why(sleeper.pid(), Refused::Forbidden) == UnstoppedReason::Traced
        && since.elapsed() < Duration::from_secs(10)
    {
        std::thread::yield_now();
    }
    seen
}

#[test]
fn what_another_program_traces_is_not_stopped() {
    let mut sleeper = Sleeper::new("computes");
    let walked = traced(&sleeper, || sleeper.unwind());
    assert_eq!(walked, UnwoundThread::unknown(UnstoppedReason::Traced));
    assert_eq!(sleeper.unwind().way, Way::Stopped, "it traces it no more");
    sleeper.end();
    let mut sleeper = Sleeper::new("nanosleep");
    let walked = traced(&sleeper, || sleeper.unwind());
    assert_eq!(walked.way, Way::Unstopped(UnstoppedReason::Traced));
    is_right(&walked);
    sleeper.end();
}

/// Looks from a thread that may not call ptrace, as in a container that forbids it.
fn without_ptrace<T: Send>(observe: impl FnOnce() -> T + Send) -> T {
    let statement = |code: u32, k: u32| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    };
    let returns = |value: u32| statement(libc::BPF_RET | libc::BPF_K, value);
    let mut filter = [
        // The system call's number: the first word.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        libc::sock_filter {
            jf: 1,
            ..statement(
                libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
                libc::SYS_ptrace as u32,
            )
        },
        returns(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        returns(libc::SECCOMP_RET_ALLOW),
    ];
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let program = libc::sock_fprog {
                len: filter.len() as u16,
                filter: filter.as_mut_ptr(),
            };
            // SAFETY: the kernel reads the filter, which outlives the call, and this thread alone
            // is bound by it.
            let forbidden = unsafe {
                libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
                libc::prctl(
                    libc::PR_SET_SECCOMP,
                    libc::SECCOMP_MODE_FILTER,
                    &raw const program,
                )
            };
            assert_eq!(forbidden, 0, "a filter");
            observe()
        });
        thread.join().expect("it does not panic")
    })
}

#[test]
fn where_ptrace_is_forbidden_sleepers_are_still_read() {
    let mut sleeper = Sleeper::new("nanosleep");
    let (pid, page) = (sleeper.pid(), sleeper.memory.page());
    let walked =
        without_ptrace(|| unwind(pid, page, &mut KnownPython::default(), false, WITHIN)).remove(0);
    assert_eq!(walked.way, Way::Unstopped(UnstoppedReason::Forbidden));
    is_right(&walked);
    let refused = Err(UnstoppedReason::Forbidden);
    assert_eq!(without_ptrace(|| trial(pid)), refused);
    assert!(trial(pid).is_ok_and(|stopped| !stopped.is_zero()));
    sleeper.end();
    let mut sleeper = Sleeper::new("computes");
    let (pid, page) = (sleeper.pid(), sleeper.memory.page());
    assert_eq!(
        without_ptrace(|| unwind(pid, page, &mut KnownPython::default(), false, WITHIN)),
        [UnwoundThread::unknown(UnstoppedReason::Forbidden)]
    );
    sleeper.end();
}

/// It is told to leave, and leaves, while somebody looks all the time: the signal arrives, and its
/// status is its own.
#[test]
fn a_process_that_ends_meanwhile_ends_as_it_would() {
    for way in ["computes", "computes", "computes", "nanosleep", "epoll"] {
        let mut sleeper = Sleeper::new(way);
        let pid = sleeper.pid();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            // Until it is gone, or dead and not waited for.
            while process_stat::stat(pid.as_raw_nonzero().get())
                .is_some_and(|stat| stat.state != 'Z')
            {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::USR1);
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        let since = Instant::now();
        loop {
            let walked = sleeper.unwind();
            match walked.way {
                Way::Missing(UnstoppedReason::Ended) => break,
                Way::Stopped | Way::Asleep => {}
                other => panic!("{other:?}"),
            }
            assert!(
                since.elapsed() < Duration::from_secs(10),
                "{way}: it did not leave"
            );
        }
        killer.join().expect("it does not panic");
        assert_eq!(
            sleeper.child.wait().expect("its end").code(),
            Some(3),
            "{way}"
        );
    }
}

#[test]
fn a_process_that_is_gone_has_ended() {
    let mut sleeper = Sleeper::new("pause");
    let pid = sleeper.pid();
    sleeper.child.kill().expect("ours");
    // Dead, and not waited for.
    let since = Instant::now();
    while sleeper.state() != 'Z' && since.elapsed() < Duration::from_secs(10) {
        std::thread::yield_now();
    }
    assert_eq!(
        sleeper.unwind(),
        UnwoundThread::unknown(UnstoppedReason::Ended)
    );
    sleeper.child.wait().expect("its end");
    let page = sleeper.memory.page();
    assert_eq!(
        unwind(pid, page, &mut KnownPython::default(), true, WITHIN),
        [UnwoundThread::unknown(UnstoppedReason::Ended)]
    );
}
