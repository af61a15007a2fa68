//! Names and options of the launchers that are read: what differs between them, as data.

use crate::job::environment::Family;

/// Whose command line it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// Open MPI: ORTE (4.x) and PRRTE (5.x).
    OpenMpi,
    /// Hydra: MPICH, Intel MPI, MVAPICH.
    Hydra,
    /// `srun`: Slurm.
    Slurm,
    /// `mpiexec` or `mpirun` that does not tell: the options of both are known.
    Either,
}

impl Flavour {
    /// Whether the options of `other` are to be read on this command line.
    pub fn knows(self, other: Flavour) -> bool {
        self == other || self == Flavour::Either || other == Flavour::Either
    }

    /// The family of the processes that it can start. Nothing of `srun`, which starts those of any,
    /// nor of a launcher that does not tell.
    pub fn family(self) -> Option<Family> {
        match self {
            Flavour::OpenMpi => Some(Family::Ompi),
            Flavour::Hydra => Some(Family::Mpich),
            Flavour::Either | Flavour::Slurm => None,
        }
    }
}

/// Launchers by name.
pub const NAMES: &[(&str, Flavour)] = &[
    ("mpiexec", Flavour::Either),
    ("mpirun", Flavour::Either),
    ("mpiexec.openmpi", Flavour::OpenMpi),
    ("mpirun.openmpi", Flavour::OpenMpi),
    ("orterun", Flavour::OpenMpi),
    ("prterun", Flavour::OpenMpi),
    ("mpiexec.hydra", Flavour::Hydra),
    ("mpiexec.mpich", Flavour::Hydra),
    ("mpirun.mpich", Flavour::Hydra),
    ("srun", Flavour::Slurm),
];

/// Launchers that exist and are not read: told apart from programs, so that the advice fits.
pub const OTHERS: &[&str] = &[
    "aprun",
    "jsrun",
    "flux",
    "mpirun_rsh",
    "mpiexec.slurm",
    "ibrun",
    "prun",
];

/// Options that say how many processes to start. Their value stands in the next argument or behind
/// `=`.
pub const COUNTS: &[(Flavour, &[&str])] =
    &[(Flavour::Either, &["n", "np"]), (Flavour::OpenMpi, &["c"])];

/// Options without the leading dashes, with the number of arguments that follow each.
#[rustfmt::skip]
pub const OPTIONS: &[(Flavour, usize, &[&str])] = &[
    (Flavour::OpenMpi, 0, &[
        "allow-run-as-root", "bind-to-core", "bind-to-socket", "bycore", "bynode", "byslot",
        "continuous", "d", "debug", "debug-daemons", "debug-daemons-file", "debug-devel",
        "disable-recovery", "display-allocation", "display-devel-allocation", "display-devel-map",
        "display-diffable-map", "display-map", "display-topo", "do-not-launch", "do-not-resolve",
        "dvm", "enable-instant-on-support", "enable-recovery", "fwd-mpirun-port",
        "get-stack-traces", "index-argv-by-rank", "leave-session-attached",
        "merge-stderr-to-stdout", "nolocal", "nooversubscribe", "noprefix", "novm",
        "output-proctable", "oversubscribe", "pernode", "preload-binary", "q", "quiet",
        "report-bindings", "report-child-jobs-separately", "report-state-on-timeout", "s",
        "set-cwd-to-session-dir", "show-progress", "tag-output", "timestamp-output", "tv",
        "use-hwthread-cpus", "use-regexp", "v", "verbose", "xml",
    ]),
    (Flavour::OpenMpi, 1, &[
        "H", "N", "am", "amca", "bind-to", "cartofile", "cf", "cpu-list", "cpu-set",
        "cpus-per-proc", "cpus-per-rank", "debugger", "default-hostfile", "display",
        "forward-signals", "hnp", "host", "hostfile", "launch-agent", "machinefile", "map-by",
        "max-restarts", "max-vm-size", "npernode", "npersocket", "ompi-server", "output",
        "output-filename", "path", "personality", "ppr", "prefix", "preload-files", "rank-by",
        "rankfile", "report-events", "report-pid", "report-uri", "rf", "runtime-options", "stdin",
        "stream-buffering", "timeout", "tune", "wd", "wdir", "x", "xml-file", "xterm",
    ]),
    (Flavour::OpenMpi, 2, &[
        "gmca", "gomca", "gpmixmca", "gprtemca", "mca", "omca", "pmixmca", "prtemca",
    ]),
    (Flavour::Hydra, 0, &[
        "dac", "debug", "disable-auto-cleanup", "disable-hostname-propagation", "disable-x",
        "enable-auto-cleanup", "enable-hostname-propagation", "enable-x", "envall", "envnone",
        "genvall", "genvnone", "l", "pmi-port", "prepend-rank", "print-all-exitcodes", "profile",
        "skip-launch-node", "v", "verbose",
    ]),
    (Flavour::Hydra, 1, &[
        "bind-to", "binding", "bootstrap", "bootstrap-exec", "demux", "envlist", "errfile",
        "errfile-pattern", "f", "genvlist", "gpus-per-proc", "host", "hostfile", "hostlist",
        "hosts", "iface", "launcher", "launcher-exec", "localhost", "machine", "machinefile",
        "machinelist", "machines", "map-by", "membind", "nameserver", "order-nodes", "outfile",
        "outfile-pattern", "output-from", "perhost", "ppn", "prepend-pattern", "rmk", "topolib",
        "umask", "usize", "wdir",
    ]),
    (Flavour::Hydra, 2, &[
        "env", "genv",
    ]),
];

/// Options that name a file in which programs stand: nothing to insert into on the command line.
pub const PROGRAM_FILES: &[&str] = &["app", "configfile"];

/// The option that allows more processes than slots, and leaves the slots as they are.
pub const OVERSUBSCRIBE: &str = "oversubscribe";

/// Options that decide where processes may run, so that the machine's own number of cores says
/// nothing.
pub const PLACEMENTS: &[&str] = &[
    OVERSUBSCRIBE,
    "H",
    "host",
    "hostfile",
    "machinefile",
    "default-hostfile",
    "map-by",
    "N",
    "npernode",
    "pernode",
    "npersocket",
    "ppr",
    "rankfile",
    "rf",
    "hnp",
    "dvm",
    "use-hwthread-cpus",
    "mca",
    "gmca",
    "prtemca",
    "tune",
    "am",
    "amca",
];

/// Options that decide, or may decide, to which processors processes are bound.
pub const BINDINGS: &[&str] = &[
    "bind-to",
    "bind-to-core",
    "bind-to-socket",
    "bycore",
    "bynode",
    "byslot",
    "map-by",
    "rank-by",
    "cpu-list",
    "cpu-set",
    "cpus-per-proc",
    "cpus-per-rank",
    "npernode",
    "pernode",
    "npersocket",
    "N",
    "ppr",
    "rankfile",
    "rf",
    "use-hwthread-cpus",
    "mca",
    "gmca",
    "am",
    "amca",
    "tune",
];
