//! Reading a launcher's command line: how many processes it asks for, and where the program begins.
//! Pure; what differs between launchers is data.
//!
//! An option that is in no table ends the reading with an error: nobody can know whether a value
//! follows it, and a guess would start something else than what was asked for.

mod slurm;

use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::path::Path;

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
    fn knows(self, other: Flavour) -> bool {
        self == other || self == Flavour::Either || other == Flavour::Either
    }
}

/// Launchers by name.
const NAMES: &[(&str, Flavour)] = &[
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
const OTHERS: &[&str] = &[
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
const COUNTS: &[(Flavour, &[&str])] =
    &[(Flavour::Either, &["n", "np"]), (Flavour::OpenMpi, &["c"])];

/// Options without the leading dashes, with the number of arguments that follow each.
#[rustfmt::skip]
const OPTIONS: &[(Flavour, usize, &[&str])] = &[
    (Flavour::OpenMpi, 0, &[
        "allow-run-as-root", "bind-to-core", "bind-to-socket", "bycore", "bynode", "byslot", "continuous", "d",
        "debug", "debug-daemons", "debug-daemons-file", "debug-devel", "disable-recovery", "display-allocation",
        "display-devel-allocation", "display-devel-map", "display-diffable-map", "display-map", "display-topo",
        "do-not-launch", "do-not-resolve", "dvm", "enable-instant-on-support", "enable-recovery",
        "fwd-mpirun-port", "get-stack-traces", "index-argv-by-rank", "leave-session-attached",
        "merge-stderr-to-stdout", "nolocal", "nooversubscribe", "noprefix", "novm", "output-proctable",
        "oversubscribe", "pernode", "preload-binary", "q", "quiet", "report-bindings",
        "report-child-jobs-separately", "report-state-on-timeout", "s", "set-cwd-to-session-dir",
        "show-progress", "tag-output", "timestamp-output", "tv", "use-hwthread-cpus", "use-regexp", "v",
        "verbose", "xml",
    ]),
    (Flavour::OpenMpi, 1, &[
        "H", "N", "am", "amca", "bind-to", "cartofile", "cf", "cpu-list", "cpu-set", "cpus-per-proc",
        "cpus-per-rank", "debugger", "default-hostfile", "display", "forward-signals", "hnp", "host", "hostfile", "launch-agent",
        "machinefile", "map-by", "max-restarts", "max-vm-size", "npernode", "npersocket", "ompi-server", "output",
        "output-filename", "path", "personality", "ppr", "prefix", "preload-files", "rank-by", "rankfile",
        "report-events", "report-pid", "report-uri", "rf", "runtime-options", "stdin", "stream-buffering",
        "timeout", "tune", "wd", "wdir", "x", "xml-file", "xterm",
    ]),
    (Flavour::OpenMpi, 2, &["gmca", "gomca", "gpmixmca", "gprtemca", "mca", "omca", "pmixmca", "prtemca"]),
    (Flavour::Hydra, 0, &[
        "dac", "debug", "disable-auto-cleanup", "disable-hostname-propagation", "disable-x",
        "enable-auto-cleanup", "enable-hostname-propagation", "enable-x", "envall", "envnone", "genvall",
        "genvnone", "l", "pmi-port", "prepend-rank", "print-all-exitcodes", "profile", "skip-launch-node", "v",
        "verbose",
    ]),
    (Flavour::Hydra, 1, &[
        "bind-to", "binding", "bootstrap", "bootstrap-exec", "demux", "envlist", "errfile", "errfile-pattern",
        "f", "genvlist", "gpus-per-proc", "host", "hostfile", "hostlist", "hosts", "iface", "launcher",
        "launcher-exec", "localhost", "machine", "machinefile", "machinelist", "machines", "map-by", "membind",
        "nameserver", "order-nodes", "outfile", "outfile-pattern", "output-from", "perhost", "ppn",
        "prepend-pattern", "rmk", "topolib", "umask", "usize", "wdir",
    ]),
    (Flavour::Hydra, 2, &["env", "genv"]),
];

/// Options that name a file in which programs stand: nothing to insert into on the command line.
const PROGRAM_FILES: &[&str] = &["app", "configfile"];

/// Options that decide where processes may run, so that the machine's own number of cores says
/// nothing.
pub(super) const PLACEMENTS: &[&str] = &[
    "oversubscribe",
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
const BINDINGS: &[&str] = &[
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

/// What stands on a launcher's command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Whose line it is.
    pub flavour: Flavour,
    /// The programs, one at least: several are separated by colons.
    pub parts: Vec<Part>,
    /// The user decides about placement and oversubscription.
    pub placed: bool,
    /// The user decides about binding, or may.
    pub bound: bool,
}

/// One program of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Processes asked for.
    pub count: u32,
    /// The argument that says so: replaced by `count_prefix` and the new number.
    pub count_at: usize,
    /// What stands before the number in its argument (`-np=`), or nothing.
    pub count_prefix: String,
    /// The arguments that are the program and its own.
    pub program: Range<usize>,
}

/// Why a command line cannot be extended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineError {
    /// The first word is no launcher that is known.
    NotALauncher {
        /// It is one that exists, though.
        launcher: bool,
    },
    /// Nothing says how many processes to start.
    NoCount,
    /// What says it is no number above 0.
    BadCount(String),
    /// It is said twice.
    TwoCounts,
    /// An option that is in no table.
    UnknownOption(String),
    /// The line ends where a value should follow.
    NoValue(String),
    /// The line ends before a program.
    NoProgram,
    /// The programs stand in a file.
    ProgramFile(String),
    /// Several programs where there can be one only.
    SeveralPrograms,
}

/// The flavour of a launcher by its name and, where that says little, by the file that it leads to.
pub fn flavour(command: &OsStr, resolved: Option<&Path>) -> Option<Flavour> {
    let by_name = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, flavour)| *flavour)
    };
    match by_name(Path::new(command))? {
        Flavour::Either => resolved.and_then(by_name).or(Some(Flavour::Either)),
        known => Some(known),
    }
}

/// Whether a command is a launcher of any kind.
pub fn is_launcher(command: &OsStr) -> bool {
    let name = Path::new(command)
        .file_name()
        .and_then(OsStr::to_str)
        .unwrap_or_default();
    flavour(command, None).is_some() || OTHERS.contains(&name)
}

/// Reads `args`, of which the first is the launcher.
///
/// # Errors
/// Why the line cannot be extended.
pub fn read(args: &[OsString], resolved: Option<&Path>) -> Result<Line, LineError> {
    let command = args.first().ok_or(LineError::NoProgram)?;
    let flavour = flavour(command, resolved).ok_or(LineError::NotALauncher {
        launcher: is_launcher(command),
    })?;
    if flavour == Flavour::Slurm {
        return slurm::read(args);
    }
    let mut line = Line {
        flavour,
        parts: Vec::new(),
        placed: false,
        bound: false,
    };
    let mut at = 1;
    loop {
        let colon = args[at..].iter().position(|arg| arg == ":");
        let end = colon.map_or(args.len(), |colon| at + colon);
        let part = part(&args[..end], at, &mut line)?;
        line.parts.push(part);
        if colon.is_none() {
            return Ok(line);
        }
        at = end + 1;
    }
}

/// Reads one program with the options before it, from `at` to the end of `args`.
fn part(args: &[OsString], mut at: usize, line: &mut Line) -> Result<Part, LineError> {
    let flavour = line.flavour;
    let mut count = None;
    loop {
        let Some(arg) = args.get(at) else {
            return Err(LineError::NoProgram);
        };
        // What is not valid text is no option of any launcher; a lone dash is an operand.
        let Some(option) = arg.to_str().and_then(stem) else {
            break;
        };
        let shown = || arg.to_string_lossy().into_owned();
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        line.placed |= PLACEMENTS.contains(&name);
        line.bound |= BINDINGS.contains(&name);
        if PROGRAM_FILES.contains(&name) {
            return Err(LineError::ProgramFile(shown()));
        }
        if COUNTS
            .iter()
            .any(|(whose, names)| flavour.knows(*whose) && names.contains(&name))
        {
            let number_at = if value.is_some() { at } else { at + 1 };
            set_count(&mut count, args, number_at, value, &shown())?;
            at = number_at + 1;
            continue;
        }
        let known = OPTIONS
            .iter()
            .find(|(whose, _, names)| flavour.knows(*whose) && names.contains(&name));
        let values = known.ok_or_else(|| LineError::UnknownOption(shown()))?.1;
        let follow = values.saturating_sub(usize::from(value.is_some()));
        if at + follow >= args.len() {
            return Err(LineError::NoValue(shown()));
        }
        at += 1 + follow;
    }
    let (count, count_at, count_prefix) = count.ok_or(LineError::NoCount)?;
    Ok(Part {
        count,
        count_at,
        count_prefix,
        program: at..args.len(),
    })
}

/// Processes, the argument that says so, and what stands before the number there.
type Count = (u32, usize, String);

/// Takes note of the number in the argument at `number_at`, of which `value` is the number's text
/// where it is not all of it.
fn set_count(
    count: &mut Option<Count>,
    args: &[OsString],
    number_at: usize,
    value: Option<&str>,
    option: &str,
) -> Result<(), LineError> {
    let argument = args
        .get(number_at)
        .ok_or_else(|| LineError::NoValue(option.to_owned()))?
        .to_string_lossy();
    let number = value.unwrap_or(&argument);
    let processes: u32 = number
        .parse()
        .map_err(|_| LineError::BadCount(number.to_owned()))?;
    if processes == 0 {
        return Err(LineError::BadCount(number.to_owned()));
    }
    let prefix = argument.strip_suffix(number).unwrap_or_default().to_owned();
    match count.replace((processes, number_at, prefix)) {
        Some(_) => Err(LineError::TwoCounts),
        None => Ok(()),
    }
}

/// An option without its one or two dashes.
pub(super) fn stem(arg: &str) -> Option<&str> {
    let stem = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-'))?;
    (!stem.is_empty()).then_some(stem)
}

impl Line {
    /// Ranks of all programs together.
    pub fn ranks(&self) -> u32 {
        self.parts
            .iter()
            .fold(0, |sum, part| sum.saturating_add(part.count))
    }

    /// The same line with `tools` more processes and `inserted` before every program. Where there
    /// are several programs, the tool processes are one more: they are the last ones of the world.
    pub fn extended(&self, args: &[OsString], tools: u32, inserted: &[OsString]) -> Vec<OsString> {
        let mut line = Vec::new();
        let mut from = 0;
        let several = self.parts.len() > 1;
        for part in &self.parts {
            let count = if several {
                part.count
            } else {
                part.count + tools
            };
            line.extend_from_slice(&args[from..part.program.start]);
            let count_at = line.len() - (part.program.start - part.count_at);
            line[count_at] = format!("{}{count}", part.count_prefix).into();
            line.extend_from_slice(inserted);
            line.extend_from_slice(&args[part.program.clone()]);
            from = part.program.end;
        }
        if several {
            line.extend([":".into(), "-n".into(), tools.to_string().into()]);
            line.extend_from_slice(inserted);
            line.extend_from_slice(self.program(args));
        }
        line
    }

    /// The first program with its arguments.
    pub fn program<'a>(&self, args: &'a [OsString]) -> &'a [OsString] {
        self.programs(args).next().unwrap_or_default()
    }

    /// The programs with their arguments.
    pub fn programs<'a>(&self, args: &'a [OsString]) -> impl Iterator<Item = &'a [OsString]> {
        self.parts.iter().map(|part| &args[part.program.clone()])
    }
}

#[cfg(test)]
mod tests;
