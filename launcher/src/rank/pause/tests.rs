//! The decision alone, and real processes with threads that compute and sleep.

use super::*;
use crate::rank::shared_memory::{RankIdentity, SharedMemory, StartState};
use proptest::prelude::*;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

fn thread(state: char, inside: Option<u32>) -> Thread {
    Thread { state, inside }
}

#[test]
fn no_process_is_stopped_in_mpi_and_every_other_is() {
    use Judgement::{MayStop, MustRun};
    let (own, in_mpi, held) = (
        Some(inside::APPLICATION),
        Some(inside::MPI),
        [Some(inside::HELD_AT_ENTER), Some(inside::HELD_AT_LEAVE)],
    );
    for (in_phase, threads, expected) in [
        (phase::RUNNING, vec![thread('R', own)], MayStop),
        (
            phase::RUNNING,
            vec![thread('S', own), thread('R', None)],
            MayStop,
        ),
        (
            phase::RUNNING,
            vec![thread('S', held[0]), thread('R', None)],
            MayStop,
        ),
        (phase::RUNNING, vec![thread('S', held[1])], MayStop),
        (phase::DRAINED, vec![thread('R', own)], MayStop),
        (
            phase::DRAINED,
            vec![thread('S', in_mpi)],
            MustRun(Outcome::HeldInMpi),
        ),
        (
            phase::RUNNING,
            vec![thread('R', in_mpi)],
            MustRun(Outcome::HeldInMpi),
        ),
        (
            phase::RUNNING,
            vec![thread('R', in_mpi), thread('S', None)],
            MustRun(Outcome::HeldInMpi),
        ),
        (
            phase::RUNNING,
            vec![thread('R', in_mpi), thread('R', None)],
            MustRun(Outcome::Partly { running: 1 }),
        ),
        (
            phase::RUNNING,
            vec![thread('R', in_mpi), thread('R', own)],
            MustRun(Outcome::Partly { running: 1 }),
        ),
        (
            phase::STARTING,
            vec![thread('R', own)],
            MustRun(Outcome::Partly { running: 1 }),
        ),
        (
            phase::ABORTING,
            vec![thread('S', own)],
            MustRun(Outcome::HeldInMpi),
        ),
        (
            phase::SILENT,
            vec![thread('R', own)],
            MustRun(Outcome::Running),
        ),
    ] {
        assert_eq!(
            judge(in_phase, &threads),
            expected,
            "{in_phase} {threads:?}"
        );
    }
}

fn any_thread() -> impl Strategy<Value = Thread> {
    let states = proptest::sample::select(vec!['R', 'S', 'D', 'T', 't', 'Z', 'X', 'I']);
    (states, prop::option::of(0u32..4)).prop_map(|(state, inside)| Thread { state, inside })
}

proptest! {
    /// Whatever the threads do a thread in mpi keeps its process running.
    #[test]
    fn a_thread_in_mpi_keeps_its_process_running(
        in_phase in 0u32..5,
        mut threads in prop::collection::vec(any_thread(), 0..8),
        at in any::<prop::sample::Index>(),
    ) {
        threads.push(thread('R', Some(inside::APPLICATION)));
        let at = at.index(threads.len());
        threads[at].inside = Some(inside::MPI);
        prop_assert_ne!(judge(in_phase, &threads), Judgement::MayStop);
        // And the other way round: nobody in MPI, and MPI in use, may be stopped.
        threads.retain(|thread| thread.inside != Some(inside::MPI));
        let in_use = matches!(in_phase, phase::RUNNING | phase::DRAINED);
        prop_assert_eq!(judge(in_phase, &threads) == Judgement::MayStop, in_use);
    }
}

/// A process with two threads that compute and one that sleeps, and its memory.
struct Rank {
    process: Child,
    memory: SharedMemory,
}

const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *compute(void *x) { for (volatile unsigned long i = 0;; i++) ; return x; }
static void *rest(void *x) { for (;;) usleep(10000); return x; }
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, compute, 0);
    pthread_create(&b, 0, rest, 0);
    puts("ready"); fflush(stdout);
    compute(0);
}
"#;

impl Rank {
    fn start(dir: &std::path::Path) -> Rank {
        let (source, program) = (dir.join("threads.c"), dir.join("threads"));
        std::fs::write(&source, PROGRAM).expect("written");
        let compiled = Command::new("cc")
            .args(["-pthread", "-o"])
            .arg(&program)
            .arg(&source)
            .status();
        assert!(compiled.expect("a C compiler").success());
        let mut process = Command::new(program)
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("piped"))
            .read_line(&mut line)
            .expect("a line");
        let identity = RankIdentity {
            rank: 0,
            ranks: 1,
            place: 1,
        };
        let memory = SharedMemory::create(identity, &StartState::default()).expect("memory");
        let rank = Rank { process, memory };
        let page = rank.region().page();
        page.phase.store(phase::RUNNING, Ordering::Release);
        page.status[0]
            .tid
            .store(rank.process.id(), Ordering::Release);
        page.locations.store(1, Ordering::Release);
        rank
    }

    fn region(&self) -> Region {
        self.memory.region()
    }

    fn pause(&self) -> Pause {
        Pause::of(Pid::from_child(&self.process))
    }

    fn enter(&self, value: u32) {
        self.region().page().status[0]
            .inside
            .store(value, Ordering::Release);
    }

    /// Closes the gate for a time.
    fn close_gate(&self, generation: u32, time: Duration) {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let until = Duration::new(now.tv_sec as u64, now.tv_nsec as u32) + time;
        let control = &self.region().page().control;
        control
            .gate_until_ns
            .store(until.as_nanos() as u64, Ordering::Release);
        control.gate.store(generation, Ordering::Release);
    }

    fn open_gate(&self) {
        self.region()
            .page()
            .control
            .gate
            .store(0, Ordering::Release);
    }

    /// Processor time used so far, in clock ticks.
    fn cpu(&self) -> u64 {
        let stat =
            std::fs::read_to_string(format!("/proc/{}/stat", self.process.id())).expect("alive");
        let fields: Vec<&str> = stat[stat.rfind(')').expect("a name") + 1..]
            .split_whitespace()
            .collect();
        fields[11].parse::<u64>().expect("a number") + fields[12].parse::<u64>().expect("a number")
    }

    fn stands(&self) -> bool {
        let before = self.cpu();
        std::thread::sleep(Duration::from_millis(100));
        self.cpu() == before
            && process_stat::threads(self.process.id() as i32)
                .iter()
                .all(|(_, state)| *state == 'T')
    }

    /// Within two seconds it uses the processor again: others may use it, too.
    fn runs(&self) -> bool {
        let before = self.cpu();
        (0..200).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            self.cpu() > before
        })
    }
}

impl Drop for Rank {
    fn drop(&mut self) {
        self.process.kill().expect("killed");
        self.process.wait().expect("waited for");
    }
}

#[test]
fn a_computing_process_stands_still_and_goes_on() {
    let dir = tempfile::tempdir().expect("directory");
    let rank = Rank::start(dir.path());
    let mut pause = rank.pause();
    rank.close_gate(1, Duration::from_secs(60));
    assert_eq!(pause.begin(&rank.region(), 1), Outcome::Stopped);
    assert!(rank.stands());
    // Somebody else lets it go on: the pause still holds.
    rustix::process::kill_process(pause.pid, Signal::CONT).expect("continued");
    assert!(rank.runs());
    pause.tick(&rank.region());
    assert!(rank.stands());
    rank.open_gate();
    pause.end();
    assert!(rank.runs() && !pause.in_force());
}

#[test]
fn a_thread_without_a_page_is_not_stopped_in_mpi() {
    let dir = tempfile::tempdir().expect("directory");
    let rank = Rank::start(dir.path());
    let in_mpi = |threads: u32| {
        let region = rank.region();
        let last = region.page().status.last().expect("pages");
        last.inside.store(threads, Ordering::Release);
    };
    let mut pause = rank.pause();
    in_mpi(2);
    rank.close_gate(1, Duration::from_secs(60));
    assert_ne!(pause.begin(&rank.region(), 1), Outcome::Stopped);
    assert!(rank.runs());
    in_mpi(0);
    pause.tick(&rank.region());
    assert!(rank.stands());
    pause.end();
}

#[test]
fn a_process_in_mpi_is_left_alone_until_it_leaves() {
    let dir = tempfile::tempdir().expect("directory");
    let rank = Rank::start(dir.path());
    let mut pause = rank.pause();
    rank.enter(inside::MPI);
    rank.close_gate(1, Duration::from_secs(60));
    // The main thread is in MPI, the second computes, and the third may just have woken up.
    assert!(matches!(
        pause.begin(&rank.region(), 1),
        Outcome::Partly { running: 1 | 2 }
    ));
    pause.tick(&rank.region());
    assert!(pause.in_force() && rank.runs());
    rank.enter(inside::HELD_AT_LEAVE);
    pause.tick(&rank.region());
    assert!(rank.stands());
    pause.end();
    assert!(rank.runs());
}

/// A pause ends by itself with the gates time and with the gate.
#[test]
fn a_pause_ends_with_the_gate_or_its_time() {
    let dir = tempfile::tempdir().expect("directory");
    let rank = Rank::start(dir.path());
    let mut pause = rank.pause();
    rank.close_gate(1, Duration::from_secs(3));
    assert_eq!(pause.begin(&rank.region(), 1), Outcome::Stopped);
    std::thread::sleep(Duration::from_millis(3_050));
    pause.tick(&rank.region());
    assert!(!pause.in_force() && rank.runs(), "its time is over");
    assert_eq!(pause.begin(&rank.region(), 1), Outcome::Running, "too late");
    rank.close_gate(2, Duration::from_secs(60));
    assert_eq!(pause.begin(&rank.region(), 2), Outcome::Stopped);
    rank.open_gate();
    pause.tick(&rank.region());
    assert!(!pause.in_force() && rank.runs(), "the gate is open");
}

#[test]
fn who_was_stopped_by_others_stays_stopped() {
    let dir = tempfile::tempdir().expect("directory");
    let rank = Rank::start(dir.path());
    let mut pause = rank.pause();
    rustix::process::kill_process(pause.pid, Signal::STOP).expect("stopped");
    while !rank.stands() {}
    rank.close_gate(1, Duration::from_secs(60));
    assert_eq!(pause.begin(&rank.region(), 1), Outcome::Stopped);
    pause.end();
    assert!(rank.stands());
}

#[test]
fn an_ended_process_is_gone() {
    let dir = tempfile::tempdir().expect("directory");
    let mut rank = Rank::start(dir.path());
    let mut pause = rank.pause();
    rank.process.kill().expect("killed");
    while process_stat::threads(rank.process.id() as i32)
        .iter()
        .any(|(_, state)| *state != 'Z')
    {
        std::thread::sleep(Duration::from_millis(1));
    }
    rank.close_gate(1, Duration::from_secs(60));
    assert_eq!(pause.begin(&rank.region(), 1), Outcome::Gone);
    rank.process.wait().expect("waited for");
    pause.tick(&rank.region());
    pause.end();
}
