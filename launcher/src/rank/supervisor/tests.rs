//! A supervisor with a real child; the test plays the place, and a shell script the shim.

mod measuring;

use super::*;
use crate::job::environment::Family;
use crate::job::environment::{Environment, Numbers, World};
use crate::mpi::preload::Preload;
use crate::rank::place_socket::tests::{Place, hear, tell};
use crate::rank::shared_memory::map;
use crate::rank::shared_memory::{RankIdentity, StartState};
use crate::tool::startup_barrier::StartupBarrier;
use invivo_proto::control::local::Outcome;
use invivo_proto::control::stacks::UnstoppedReason;
use invivo_proto::control::stacks::Way;
use invivo_proto::ids::Rank;
use invivo_proto::shm::{Region, recording};
use rustix::net::SendFlags;
use std::path::Path;
use std::thread::JoinHandle;

/// A job of one rank whose application is a script. `$socket` is where the place listens, and
/// `welcome` does what the shim does in `MPI_Init`.
struct Job {
    dir: tempfile::TempDir,
    place: Place,
}

impl Job {
    fn new() -> Job {
        let dir = tempfile::tempdir().expect("directory");
        let place = Place::listen(&dir.path().join("place.sock"));
        let mut compile = std::process::Command::new("cc");
        compile
            .args(["-shared", "-x", "c", "/dev/null", "-o"])
            .arg(dir.path().join("shim.so"));
        assert!(compile.status().expect("a C compiler").success());
        Job { dir, place }
    }

    fn run(&self, script: &str) -> JoinHandle<Ended> {
        let socket = self.dir.path().join("place.sock");
        let prelude = format!(
            "socket={}; both=${{INVIVO_FDS%,*,*}}; welcome() {{ printf %s \"$socket\" \
             >&${{both#*,}}; }}; cd {}",
            socket.display(),
            self.dir.path().display(),
        );
        let program = [
            "bash".into(),
            "-c".into(),
            format!("{prelude}; {script}").into(),
        ]
        .to_vec();
        let world = World {
            family: Family::Ompi,
            rank: 0,
            size: 3,
            local: Some((0, 3)),
            nodes: None,
            by_srun: false,
        };
        let assignment = RankAssignment {
            identity: RankIdentity {
                rank: 0,
                ranks: 1,
                place: 1,
            },
            start_state: StartState::default(),
            numbers: Numbers {
                rank: 0,
                ranks: 1,
                on_host: 1,
                hosts: 1,
            },
            world,
            launcher: 1,
            environment: Environment::new(),
            program,
            preload: Some(Preload {
                shim: self.dir.path().join("shim.so"),
                first: None,
            }),
            barrier: Some(StartupBarrier::new(self.dir.path(), 1)),
        };
        std::thread::spawn(move || supervise(&assignment, || ()))
    }

    fn attached(&self) -> (OwnedFd, i32, Region) {
        let (connection, message, memory) = self.place.accept();
        let FromSupervisor::Attach { rank: Rank(0), pid } = message else {
            panic!("{message:?}")
        };
        let region = map(memory.as_fd());
        region.page().phase.store(phase::RUNNING, Ordering::Release);
        (connection, pid as i32, region)
    }
}

fn close_gate(region: &Region, generation: u32, time: Duration) {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let until = Duration::new(now.tv_sec as u64, now.tv_nsec as u32) + time;
    let control = &region.page().control;
    control
        .gate_until_ns
        .store(until.as_nanos() as u64, Ordering::Release);
    control.gate.store(generation, Ordering::Release);
}

#[test]
fn an_application_without_mpi_ends_as_without_us() {
    let job = Job::new();
    for (script, expected) in [
        ("exit 0", Ended::Code(0)),
        ("exit 41", Ended::Code(41)),
        ("kill -ABRT $$", Ended::Signal(libc::SIGABRT)),
        // Closes what the shim was given.
        (
            "exec 2>&-; for fd in ${both/,/ }; do eval \"exec $fd>&-\"; done; exit 7",
            Ended::Code(7),
        ),
    ] {
        let start = Instant::now();
        assert_eq!(job.run(script).join().expect("ended"), expected, "{script}");
        assert!(start.elapsed() < LINGER, "nobody is waited for");
    }
}

/// Its CPU time counts as its launcher's children's only then.
#[test]
fn an_application_that_has_ended_is_waited_for() {
    let job = Job::new();
    let ended = job.run("echo $$ > number").join().expect("ended");
    assert_eq!(ended, Ended::Code(0));
    let number = std::fs::read_to_string(job.dir.path().join("number")).expect("a number");
    let process = Path::new("/proc").join(number.trim());
    assert!(!process.exists(), "{process:?} is still there");
}

/// A drained rank leaves at once and its place is told.
#[test]
fn a_drained_rank_leaves_and_tells_its_place() {
    let job = Job::new();
    let supervisor = job.run("welcome; until [ -e go ]; do sleep 0.02; done; exit 3");
    let (connection, _, region) = job.attached();
    region.page().phase.store(phase::DRAINED, Ordering::Release);
    std::fs::write(job.dir.path().join("go"), "").expect("written");
    assert_eq!(supervisor.join().expect("ended"), Ended::Code(3));
    assert_eq!(
        hear(&connection),
        Some(FromSupervisor::Ended(Ended::Code(3)))
    );
    assert_eq!(hear(&connection), None);
}

/// A rank that died is held back until its place lets it go.
#[test]
fn a_dead_rank_waits_for_its_places_leave() {
    let job = Job::new();
    let supervisor = job.run("welcome; kill -SEGV $$");
    let (connection, ..) = job.attached();
    assert_eq!(
        hear(&connection),
        Some(FromSupervisor::Ended(Ended::Signal(libc::SIGSEGV)))
    );
    std::thread::sleep(Duration::from_millis(200));
    // The phase was set after the death may have been seen: both orders are right, but only one
    // lingers.
    if !supervisor.is_finished() {
        tell(&connection, &ToSupervisor::Leave);
    }
    assert_eq!(
        supervisor.join().expect("ended"),
        Ended::Signal(libc::SIGSEGV)
    );
}

#[test]
fn a_place_that_dies_holds_nobody_back() {
    let job = Job::new();
    let supervisor = job.run("welcome; until [ -e go ]; do sleep 0.02; done; exit 5");
    let (connection, ..) = job.attached();
    drop((connection, job.place));
    std::fs::write(job.dir.path().join("go"), "").expect("written");
    let start = Instant::now();
    assert_eq!(supervisor.join().expect("ended"), Ended::Code(5));
    assert!(start.elapsed() < LINGER);
}

/// Its rank records no more, and whoever comes to its socket gets the rank's memory.
#[test]
fn a_killed_place_is_followed_by_its_salvager() {
    let job = Job::new();
    let supervisor = job.run("welcome; until [ -e go ]; do sleep 0.02; done; exit 5");
    let (connection, _, region) = job.attached();
    let word = &region.page().control.recording;
    word.store(recording::word(3, true), Ordering::Release);
    drop((connection, job.place));
    // Without the socket's file the place would have left in order: it has looked for that first.
    let is_off = || word.load(Ordering::Acquire) == recording::word(3, false);
    while !is_off() {
        std::thread::sleep(Duration::from_millis(1));
    }

    let path = job.dir.path().join("place.sock");
    std::fs::remove_file(&path).expect("removed");
    let salvager = Place::listen(&path);
    let (connection, message, memory) = salvager.accept();
    assert!(matches!(
        message,
        FromSupervisor::Attach { rank: Rank(0), .. }
    ));
    let seen = map(memory.as_fd());
    assert_eq!(seen.page().phase.load(Ordering::Acquire), phase::RUNNING);
    // It goes, and nobody is looked for any more.
    drop((connection, salvager));
    std::fs::write(job.dir.path().join("go"), "").expect("written");
    let start = Instant::now();
    assert_eq!(supervisor.join().expect("ended"), Ended::Code(5));
    assert!(start.elapsed() < LINGER);
}

#[test]
fn a_place_that_leaves_in_order_is_not_followed() {
    let job = Job::new();
    let supervisor = job.run("welcome; until [ -e go ]; do sleep 0.02; done; exit 5");
    let (connection, _, region) = job.attached();
    std::fs::remove_file(job.dir.path().join("place.sock")).expect("removed");
    drop(connection);
    std::fs::write(job.dir.path().join("go"), "").expect("written");
    assert_eq!(supervisor.join().expect("ended"), Ended::Code(5));
    let word = region.page().control.recording.load(Ordering::Acquire);
    assert!(recording::is_on(word), "it drains by itself");
}

#[test]
fn the_place_pauses_and_resumes_the_application() {
    let job = Job::new();
    let supervisor = job.run("welcome; until [ -e go ]; do :; done");
    let (connection, pid, region) = job.attached();
    let state = || invivo_jobdir::process_stat::stat(pid).map(|stat| stat.state);
    close_gate(&region, 4, Duration::from_secs(60));
    tell(&connection, &ToSupervisor::Stop { generation: 4 });
    assert_eq!(
        hear(&connection),
        Some(FromSupervisor::Acted {
            generation: 4,
            outcome: Outcome::Stopped
        })
    );
    assert_eq!(state(), Some('T'));
    region.page().control.gate.store(0, Ordering::Release);
    tell(&connection, &ToSupervisor::Continue { generation: 4 });
    assert_eq!(
        hear(&connection),
        Some(FromSupervisor::Acted {
            generation: 4,
            outcome: Outcome::Running
        })
    );
    assert_ne!(state(), Some('T'));

    // The place dies in the middle of a pause: the gate's time ends it.
    close_gate(&region, 5, Duration::from_secs(3));
    tell(&connection, &ToSupervisor::Stop { generation: 5 });
    assert_eq!(
        hear(&connection),
        Some(FromSupervisor::Acted {
            generation: 5,
            outcome: Outcome::Stopped
        })
    );
    drop((connection, job.place));
    std::fs::write(job.dir.path().join("go"), "").expect("written");
    assert_eq!(supervisor.join().expect("ended"), Ended::Code(0));
}

#[test]
fn only_the_rank_itself_is_looked_at() {
    let job = Job::new();
    let supervisor = job.run("welcome; until [ -e go ]; do :; done");
    let (connection, pid, region) = job.attached();
    region.page().phase.store(phase::DRAINED, Ordering::Release);
    let ask = |walk| {
        tell(
            &connection,
            &ToSupervisor::Unwind {
                unwinding: walk,
                threads: false,
            },
        );
        match hear(&connection) {
            Some(FromSupervisor::Unwound {
                thread, rest: 0, ..
            }) => thread.way,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(ask(1), Way::Stopped);
    region.page().pid.store(pid as u32, Ordering::Release);
    assert_eq!(ask(2), Way::Stopped);
    // A process of the same user, which has the number that the rank has in a namespace of its own,
    // or had before it ended.
    let mut other = std::process::Command::new("sleep")
        .arg("20")
        .spawn()
        .expect("sleep");
    region.page().pid.store(other.id(), Ordering::Release);
    assert_eq!(ask(3), Way::Missing(UnstoppedReason::Ended));
    other.kill().expect("ours");
    other.wait().expect("its end");
    std::fs::write(job.dir.path().join("go"), "").expect("written");
    assert_eq!(supervisor.join().expect("ended"), Ended::Code(0));
}

/// The shim is heard in between, and signals and the end are seen.
/// Who asks all the time is not the only one who is heard.
#[test]
fn constant_requests_do_not_starve_the_childs_end() {
    let job = Job::new();
    let supervisor = job.run(
        "welcome; until [ -e go ]; do :; done; printf aborting >&${both#*,}; until [ -e on ]; do \
         :; done; exit 4",
    );
    let (connection, _, region) = job.attached();
    region.page().phase.store(phase::DRAINED, Ordering::Release);
    let since = Instant::now();
    let patience = Duration::from_secs(10);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let walk = ToSupervisor::Unwind {
                unwinding: 1,
                threads: false,
            };
            let walk = invivo_proto::control::encode(&walk).expect("encoded");
            // Until the supervisor is gone.
            let ask = || rustix::net::send(&connection, &walk, SendFlags::NOSIGNAL);
            while since.elapsed() < patience && ask().is_ok() {}
        });
        for _ in 0..20 {
            assert!(matches!(
                hear(&connection),
                Some(FromSupervisor::Unwound { .. })
            ));
        }
        std::fs::write(job.dir.path().join("go"), "").expect("written");
        while hear(&connection) != Some(FromSupervisor::Ended(Ended::Code(0))) {}
        assert!(since.elapsed() < patience, "the shim is heard");
        std::fs::write(job.dir.path().join("on"), "").expect("written");
        while hear(&connection) != Some(FromSupervisor::Ended(Ended::Code(4))) {}
        assert_eq!(supervisor.join().expect("ended"), Ended::Code(4));
    });
}

#[test]
fn a_missing_program_is_answered_as_by_a_shell() {
    let assignment = RankAssignment {
        identity: RankIdentity {
            rank: 1,
            ranks: 2,
            place: 2,
        },
        world: World {
            family: Family::Mpich,
            rank: 1,
            size: 4,
            local: Some((1, 4)),
            nodes: None,
            by_srun: false,
        },
        start_state: StartState::default(),
        numbers: Numbers {
            rank: 1,
            ranks: 2,
            on_host: 2,
            hosts: 1,
        },
        launcher: 1,
        environment: Environment::new(),
        program: vec!["/nonexistent/app".into()],
        preload: None,
        barrier: None,
    };
    assert_eq!(supervise(&assignment, || ()), Ended::Code(127));
}
