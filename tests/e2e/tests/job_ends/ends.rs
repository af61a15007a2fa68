//! The ends of jobs, by the names that the manual's table gives them.

use invivo_e2e::job::Running;
use invivo_e2e::processes::kill;
use rustix::process::Signal;
use std::time::Duration;

/// Ranks of the jobs.
pub const RANKS: u32 = 2;

/// An action from outside that ends the job, once all ranks are ready for it.
pub type Action = fn(&Running, observed: bool);

/// One end of a job.
pub struct End {
    /// The name in the manual's table.
    pub title: &'static str,
    /// Arguments of the program.
    pub way: &'static [&'static str],
    /// What ends the job, where the program does not end by itself.
    pub action: Option<Action>,
    /// Tested by the long tests only: another one is much like it.
    pub long: bool,
    /// Tested on the newer MPIs, too.
    pub usual: bool,
}

const fn by_itself(title: &'static str, way: &'static [&'static str]) -> End {
    End {
        title,
        way,
        action: None,
        long: false,
        usual: false,
    }
}

const fn from_outside(title: &'static str, way: &'static [&'static str], action: Action) -> End {
    End {
        action: Some(action),
        ..by_itself(title, way)
    }
}

impl End {
    const fn long(self) -> End {
        End { long: true, ..self }
    }

    const fn usual(self) -> End {
        End {
            usual: true,
            ..self
        }
    }
}

pub const SIGTERM: &str = "SIGTERM to the launcher";
/// As batch systems send it, for example at a time limit.
pub const SIGTERM_TO_ALL: &str =
    "SIGTERM to all processes, whose program saves for 3 s and ends normally";
pub const CTRL_C: &str = "Ctrl-C";
pub const SIGUSR2: &str = "SIGUSR2, then SIGTERM, to the launcher";
pub const SUPERVISOR_KILLED: &str = "SIGKILL of a rank's supervisor";

/// The kernel kills the process that has most of the group's memory, which is that rank.
pub const OUT_OF_MEMORY: &str = "out of memory in a control group";

/// Bare jobs have no such process, so that there is nothing to compare with.
pub const PLACE_KILLED: &str = "SIGKILL of a tool place";

pub const ENDS: &[End] = &[
    by_itself("normal, status 0", &["normal"]).long(),
    by_itself("normal, status 3", &["normal", "3"]).usual(),
    by_itself("`exit(3)` behind `MPI_Finalize`", &["exit", "3"]).long(),
    by_itself(
        "`exit(3)` of one rank without `MPI_Finalize`",
        &["exit-early", "3"],
    ),
    by_itself("return without `MPI_Finalize`, status 0", &["return"]).long(),
    by_itself("return without `MPI_Finalize`, status 3", &["return", "3"]),
    by_itself("`MPI_Abort(7)`", &["abort", "7"]).usual(),
    by_itself(
        "`MPI_Abort(7)`, the others in `MPI_Finalize`",
        &["abort-late", "7"],
    ),
    by_itself("SIGSEGV in a rank", &["fault"]),
    by_itself("SIGKILL of a rank", &["kill"]).long().usual(),
    by_itself(OUT_OF_MEMORY, &["exhaust"]).long(),
    from_outside(SUPERVISOR_KILLED, &["stay"], |job, observed| {
        let name = if observed {
            "invivo"
        } else {
            job.program_name()
        };
        kill(&job.member(name, 1));
    }),
    from_outside(PLACE_KILLED, &["stay"], |job, _| {
        kill(&job.member("tool-place", RANKS));
    }),
    from_outside(SIGTERM, &["stay"], |job, _| {
        job.signal_launcher(Signal::TERM);
    })
    .usual(),
    from_outside(SIGTERM_TO_ALL, &["save"], |job, _| {
        job.signal_members(Signal::TERM);
    })
    .usual(),
    from_outside(CTRL_C, &["stay"], |job, _| {
        job.signal_from_terminal(Signal::INT)
    }),
    from_outside(SIGUSR2, &["stay"], |job, _| {
        job.signal_launcher(Signal::USR2);
        std::thread::sleep(Duration::from_secs(1));
        job.signal_launcher(Signal::TERM);
    }),
    from_outside(
        "a rank that hangs in `MPI_Finalize`, SIGTERM to the launcher",
        &["hang"],
        |job, _| job.signal_launcher(Signal::TERM),
    ),
];
