//! The machine: directories, memory, kernel, cores.

use super::bounded;
use super::finding::Finding;
use super::sampling;
use crate::command_line::machine::{cores, is_managed};
use crate::job::environment::Environment;
use crate::rank::shared_memory::{RankIdentity, SharedMemory, StartState};
use invivo_inspect::unwind;
use invivo_jobdir::PlaceError;
use invivo_proto::control::stacks::UnstoppedReason;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use rustix::process::Pid;
use rustix::thread::{MembarrierCommand, membarrier_query};
use std::io::IoSliceMut;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What MPI itself keeps in /dev/shm for a few ranks, in bytes: containers that give less (64 MiB
/// is usual) make it fail with a bus error.
const SHM_ENOUGH: u64 = 128 << 20;
/// Yama's setting of which processes may read each other's memory.
const PTRACE_SCOPE: &str = "/proc/sys/kernel/yama/ptrace_scope";

/// Runs all checks of the machine.
pub fn check(environment: &Environment) -> Vec<Finding> {
    vec![
        directory("sockets", "XDG_RUNTIME_DIR", |id| {
            let dir = invivo_jobdir::runtime_dir(id)?;
            invivo_jobdir::remove_runtime_dir(&dir)?;
            Ok(dir.with_file_name(""))
        }),
        directory("state", "XDG_STATE_HOME", |id| {
            let dir = invivo_jobdir::job_dir(id)?;
            invivo_jobdir::remove_runtime_dir(&dir)?;
            Ok(dir.with_file_name(""))
        }),
        memory(),
        shared_memory(),
        barrier(),
        single_copy(
            std::fs::read_to_string(PTRACE_SCOPE).ok().as_deref(),
            can_copy(),
        ),
        stacks(
            std::fs::read_to_string(PTRACE_SCOPE).ok().as_deref(),
            stopped_child(),
        ),
        sampling::check(),
        c_library(),
        slots(cores(), is_managed(environment)),
    ]
}

/// Makes and removes a directory as a job does: it must be ours, private, and short enough for
/// sockets.
fn directory(
    check: &'static str,
    variable: &str,
    make: impl FnOnce(&str) -> Result<std::path::PathBuf, PlaceError>,
) -> Finding {
    let id = invivo_jobdir::job_id(&format!("doctor-{}", std::process::id()));
    match make(&id) {
        Ok(parent) => Finding::good(
            check,
            format!(
                "{} is ours alone, and paths in it are short enough",
                parent.display()
            ),
        ),
        Err(error) => Finding::failed(
            check,
            error.to_string(),
            format!("set {variable} to a directory of your own with mode 0700"),
        ),
    }
}

/// The memory that a rank shares with its supervisor and its place.
fn memory() -> Finding {
    let identity = RankIdentity {
        rank: 0,
        ranks: 1,
        place: 1,
    };
    match SharedMemory::create(identity, &StartState::default()) {
        Ok(memory) => Finding::good(
            "memory",
            format!(
                "ranks can share memory, {} packets each (memfd, sealed)",
                memory.region().packets()
            ),
        ),
        Err(error) => Finding::failed(
            "memory",
            format!("a rank's shared memory cannot be made: {error}"),
            "ask for more memory, or for a kernel with memfd_create (3.17)",
        ),
    }
}

/// Whether `/dev/shm` has room for MPI; Invivo does not use it.
fn shared_memory() -> Finding {
    let check = "dev-shm";
    match rustix::fs::statvfs("/dev/shm") {
        Ok(stat) if stat.f_bavail * stat.f_frsize >= SHM_ENOUGH => Finding::good(
            check,
            format!(
                "{} MiB are free for MPI",
                (stat.f_bavail * stat.f_frsize) >> 20
            ),
        ),
        Ok(stat) => Finding::note(
            check,
            format!(
                "only {} MiB of /dev/shm are free: MPI itself may die of a bus error (Invivo does \
                 not use it)",
                (stat.f_bavail * stat.f_frsize) >> 20
            ),
            "give the container more, as with docker run --shm-size=1g",
        ),
        Err(error) => Finding::note(
            check,
            format!("/dev/shm: {error}: MPI itself may not start (Invivo does not use it)"),
            "mount a tmpfs there",
        ),
    }
}

/// Whether the kernel has the expedited membarrier, by which a gate costs ranks nothing while it is
/// open.
fn barrier() -> Finding {
    let query = membarrier_query();
    let has = [
        MembarrierCommand::GlobalExpedited,
        MembarrierCommand::RegisterGlobalExpedited,
    ];
    if has
        .into_iter()
        .all(|command| query.contains_command(command))
    {
        Finding::good("membarrier", "a pause reaches every processor at once")
    } else {
        Finding::note(
            "membarrier",
            "the kernel has no expedited membarrier (4.16): a pause may catch a rank one MPI call \
             later",
            "nothing; or a newer kernel, or a container that does not forbid the call",
        )
    }
}

/// Whether processes may copy from each other's memory, as MPI does between ranks of a node. What
/// we read of a rank is a child's, see [`stacks`].
fn single_copy(scope: Option<&str>, can_copy: bool) -> Finding {
    let check = "single-copy";
    let scope = scope.map(str::trim);
    if !can_copy {
        return Finding::note(
            check,
            "the container forbids process_vm_readv: MPI copies large messages twice, and full \
             packets of events move \
             only while a rank is in MPI",
            "nothing; or allow it, as with docker run --cap-add=SYS_PTRACE",
        );
    }
    match scope {
        None | Some("0") => Finding::good(check, "MPI may copy between ranks of this node"),
        Some(scope) => Finding::note(
            check,
            format!(
                "{PTRACE_SCOPE} is {scope}: MPI may fall back to copying large messages twice, and \
                 full packets of events \
                 move only while a rank is in MPI"
            ),
            "nothing; or sysctl kernel.yama.ptrace_scope=0 where that is allowed",
        ),
    }
}

/// Reads a byte of our own memory the way MPI reads another rank's.
fn can_copy() -> bool {
    let source = [42_u8];
    let mut target = [0_u8];
    let remote = RemoteIoVec {
        base: source.as_ptr() as usize,
        len: source.len(),
    };
    let copied = process_vm_readv(
        nix::unistd::Pid::this(),
        &mut [IoSliceMut::new(&mut target)],
        &[remote],
    );
    copied == Ok(1) && target == source
}

/// Whether call paths can be taken: a supervisor traces its child, and reads its memory.
fn stacks(scope: Option<&str>, stopped: Result<Duration, UnstoppedReason>) -> Finding {
    let check = "stacks";
    let why = match stopped {
        Ok(stopped) => {
            let us = stopped.as_micros();
            return Finding::good(
                check,
                format!("call paths can be taken: a child stood still for {us} us for it"),
            );
        }
        Err(UnstoppedReason::Traced) => "another program traces our children".to_owned(),
        Err(UnstoppedReason::Forbidden) => match scope.map(str::trim) {
            Some(scope @ ("2" | "3")) => format!("{PTRACE_SCOPE} is {scope}"),
            _ => "the container forbids ptrace".to_owned(),
        },
        Err(reason) => format!("a child could not be stopped ({reason:?})"),
    };
    Finding::note(
        check,
        format!(
            "{why}: invivo stacks has no paths of running ranks, a crash leaves none, and invivo \
             hang may lack source lines"
        ),
        "nothing; or sysctl kernel.yama.ptrace_scope=1, or docker run --cap-add=SYS_PTRACE",
    )
}

/// Stops a child for a moment, as a supervisor does.
fn stopped_child() -> Result<Duration, UnstoppedReason> {
    let mut sleep = Command::new("sleep");
    let child = sleep.arg("60").stdin(Stdio::null()).spawn();
    let mut child = child.map_err(|_| UnstoppedReason::Ended)?;
    let stopped = unwind::trial(Pid::from_child(&child));
    let _ = child.kill();
    let _ = child.wait();
    stopped
}

/// Which C library it is. Whether it is new enough shows when the shim is preloaded.
fn c_library() -> Finding {
    let output = bounded::run(
        Command::new("getconf").arg("GNU_LIBC_VERSION"),
        Duration::from_secs(5),
    );
    match output {
        Ok(done) if done.well() && !done.stdout.trim().is_empty() => {
            Finding::good("c-library", done.stdout.trim().to_owned())
        }
        _ => Finding::note(
            "c-library",
            "this is no GNU C library: programs of another one cannot be preloaded with ours",
            "run programs that are linked with the GNU C library",
        ),
    }
}

/// How many processes fit.
fn slots(cores: Option<u32>, managed: bool) -> Finding {
    let check = "slots";
    let Some(cores) = cores.filter(|_| !managed) else {
        return Finding::good(check, "a resource manager says how many processes fit");
    };
    match cores {
        0..=2 => Finding::note(
            check,
            format!("{cores} core: 1 rank and its tool process are more processes than that"),
            "with Open MPI type --oversubscribe behind mpiexec; expect waiting ranks and tools to \
             slow each other down",
        ),
        cores => Finding::good(
            check,
            format!(
                "{cores} cores: up to {} ranks beside their tool processes; `invivo plan -n N` has \
                 the numbers",
                fitting(cores)
            ),
        ),
    }
}

/// The most ranks whose whole tree has a core for every process.
fn fitting(cores: u32) -> u32 {
    use invivo_tbon::layout::{FanIn, Layout, Policy};
    let fits = |ranks: &u32| {
        Layout::for_app(*ranks, FanIn::default(), Policy::Tail)
            .is_ok_and(|layout| layout.total() <= cores)
    };
    (1..cores).rev().find(fits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    #[test]
    fn this_machine_can_do_what_tests_need() {
        assert!(can_copy(), "process_vm_readv of ourselves");
        assert_eq!(memory().level, Level::Good);
        assert_eq!(stacks(None, stopped_child()).level, Level::Good);
    }

    /// What forbids stacks is named: the system's setting, or else the container.
    #[test]
    fn what_forbids_stacks_is_named() {
        let of = |scope| stacks(scope, Err(UnstoppedReason::Forbidden));
        assert!(of(Some("2\n")).what.contains("ptrace_scope is 2"));
        assert!(of(Some("1\n")).what.contains("the container forbids"));
        assert!(of(None).what.contains("the container forbids"));
        assert_eq!(of(None).level, Level::Note, "jobs run all the same");
    }

    #[test]
    fn what_only_costs_is_no_failure() {
        assert_eq!(single_copy(Some("0\n"), true).level, Level::Good);
        assert_eq!(single_copy(None, true).level, Level::Good);
        assert_eq!(single_copy(Some("1\n"), true).level, Level::Note);
        assert_eq!(single_copy(Some("0"), false).level, Level::Note);
        assert_eq!(slots(Some(2), false).level, Level::Note);
        assert_eq!(slots(Some(2), true).level, Level::Good);
        assert!(slots(Some(16), false).what.contains("up to 15 ranks"));
    }

    /// A directory that is not ours alone is a failure with a way out.
    #[test]
    fn a_shared_directory_fails_and_says_what_to_do() {
        let finding = directory("state", "XDG_STATE_HOME", |_| Err(PlaceError::NoHome));
        assert_eq!(finding.level, Level::Failed);
        assert!(
            finding
                .next
                .is_some_and(|next| next.contains("XDG_STATE_HOME"))
        );
    }
}
