//! Metrics: what values over time are about, with name, unit and kind of each.
//!
//! Some are made of the calls that a rank records. Others are measured of its process at even
//! intervals by its supervisor, from outside, where people want them: what the system counts, and
//! what the program keeps itself. The system's are named as perf names its events, or after the
//! field of /proc that they are read from.

use super::analyses::Analysis;
use crate::shm::PROGRAM_NAME_BYTES;
use bincode::{Decode, Encode};
use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;

/// What values are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Metric {
    /// What is made of the calls that a rank records.
    OfCalls(CallMetric),
    /// What the system counts of a rank's process.
    System(SystemMetric),
    /// What the program adds up itself.
    Counter(ProgramName),
    /// What the program sets itself.
    Value(ProgramName),
}

impl Default for Metric {
    fn default() -> Metric {
        Metric::OfCalls(CallMetric::MpiTime)
    }
}

/// What is made of recorded calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum CallMetric {
    /// Time in MPI calls, in ns: of each thread, pauses subtracted.
    MpiTime,
    /// Time outside of MPI calls, in ns: recorded time without the time in MPI.
    Compute,
    /// Calls that ended.
    Calls,
    /// Bytes that calls sent, as in the function table.
    BytesSent,
    /// Time that ranks waited for another one, in ns: in all wait states in which somebody is
    /// waited for.
    Waiting,
}

impl CallMetric {
    /// All of them.
    pub const ALL: [CallMetric; 5] = [
        CallMetric::MpiTime,
        CallMetric::Compute,
        CallMetric::Calls,
        CallMetric::BytesSent,
        CallMetric::Waiting,
    ];

    /// As users spell it.
    pub fn name(self) -> &'static str {
        match self {
            CallMetric::MpiTime => "mpi",
            CallMetric::Compute => "compute",
            CallMetric::Calls => "calls",
            CallMetric::BytesSent => "bytes",
            CallMetric::Waiting => "waiting",
        }
    }

    /// The analysis that tells it.
    pub fn analysis(self) -> Analysis {
        match self {
            CallMetric::Waiting => Analysis::WaitStates,
            _ => Analysis::Grid,
        }
    }

    /// The unit of its values.
    pub fn unit(self) -> &'static str {
        match self {
            CallMetric::MpiTime | CallMetric::Compute | CallMetric::Waiting => "ns",
            CallMetric::Calls => "calls",
            CallMetric::BytesSent => "bytes",
        }
    }
}

/// Before the names of what programs add up, and of what they set.
const COUNTER: &str = "counter:";
const VALUE: &str = "value:";

/// How values of a metric are to be read (OTF2's accumulated and absolute).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Kind {
    /// It grows, and an interval has what was added in it.
    Accumulated,
    /// It is what it is at each time, and an interval has its mean.
    Absolute,
}

impl Metric {
    /// How its values are to be read.
    pub fn kind(self) -> Kind {
        match self {
            Metric::System(metric) => metric.facts().kind,
            Metric::Value(_) => Kind::Absolute,
            Metric::OfCalls(_) | Metric::Counter(_) => Kind::Accumulated,
        }
    }

    /// The unit of its values; empty where only the program knows it.
    pub fn unit(self) -> &'static str {
        match self {
            Metric::OfCalls(metric) => metric.unit(),
            Metric::System(metric) => metric.facts().unit,
            Metric::Counter(_) | Metric::Value(_) => "",
        }
    }

    /// Whether a reading tells of the time since the one before, and not of its own moment.
    pub fn is_of_time_before(self) -> bool {
        self == Metric::System(SystemMetric::ActiveThreads)
    }

    /// Whether it is made of calls, and not measured beside them.
    pub fn is_of_calls(self) -> bool {
        matches!(self, Metric::OfCalls(_))
    }
}

/// As users spell it.
impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Metric::OfCalls(metric) => f.write_str(metric.name()),
            Metric::System(metric) => f.write_str(metric.facts().name),
            Metric::Counter(name) => write!(f, "{COUNTER}{name}"),
            Metric::Value(name) => write!(f, "{VALUE}{name}"),
        }
    }
}

/// A word that names no metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownMetric;

impl fmt::Display for UnknownMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no such metric; there are ")?;
        for metric in CallMetric::ALL {
            write!(f, "{}, ", metric.name())?;
        }
        for metric in SystemMetric::ALL {
            write!(f, "{}, ", metric.facts().name)?;
        }
        write!(
            f,
            "and {COUNTER}NAME and {VALUE}NAME for what the program keeps"
        )
    }
}

impl core::error::Error for UnknownMetric {}

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(text: &str) -> Result<Metric, UnknownMetric> {
        let kept = |prefix| text.strip_prefix(prefix).map(str::as_bytes);
        let named = match (kept(COUNTER), kept(VALUE)) {
            (Some(name), _) => ProgramName::new(name).map(Metric::Counter),
            (_, Some(name)) => ProgramName::new(name).map(Metric::Value),
            (None, None) => {
                let of_calls = CallMetric::ALL.into_iter();
                let of_calls = of_calls.map(Metric::OfCalls);
                let system = SystemMetric::ALL.into_iter().map(Metric::System);
                let is_it = |metric: &Metric| match metric {
                    Metric::OfCalls(metric) => metric.name() == text,
                    Metric::System(metric) => metric.facts().name == text,
                    Metric::Counter(_) | Metric::Value(_) => false,
                };
                of_calls.chain(system).find(is_it)
            }
        };
        named.ok_or(UnknownMetric)
    }
}

/// Where a metric of the system is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The clock of the process' CPU time.
    Clock,
    /// A field of a file in the process' directory of /proc.
    Proc,
    /// A field of such a file of each of its threads.
    Threads,
    /// A perf event of each of its threads.
    Event,
}

/// What there is to say of a metric of the system.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub name: &'static str,
    pub unit: &'static str,
    pub kind: Kind,
    pub source: Source,
    /// What it tells, in a sentence without a full stop.
    pub tells: &'static str,
}

/// Makes the enum and its table of one list, so that neither lacks a line of the other.
macro_rules! system_metrics {
    ($(
        $metric:ident, $name:literal, $unit:literal, $kind:ident, $source:ident, $tells:literal;
    )*) => {
        /// What the system counts of a process, summed over its threads.
        ///
        /// The order of the variants is part of the wire format: append.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
        #[repr(u8)]
        pub enum SystemMetric {
            $(#[doc = $tells] $metric,)*
        }

        impl SystemMetric {
            /// All of them, in the order of their numbers.
            pub const ALL: [SystemMetric; SYSTEM_METRICS] = [$(SystemMetric::$metric),*];
        }

        /// By number.
        const FACTS: [Facts; SYSTEM_METRICS] = [$(Facts {
            name: $name,
            unit: $unit,
            kind: Kind::$kind,
            source: Source::$source,
            tells: $tells,
        }),*];
    };
}

/// Number of the system's metrics.
pub const SYSTEM_METRICS: usize = 18;

system_metrics! {
    CpuTime, "cpu-time", "ns", Accumulated, Clock, "Time on a processor";
    RunDelay, "run-delay", "ns", Accumulated, Threads,
        "Time in which a thread could run and had to wait for a processor";
    ContextSwitches, "context-switches", "switches", Accumulated, Threads,
        "How often a thread was taken from its processor, or left it to wait";
    InvoluntarySwitches, "involuntary-switches", "switches", Accumulated, Threads,
        "How often a thread was taken from its processor for something else to run there";
    CpuMigrations, "cpu-migrations", "migrations", Accumulated, Event,
        "How often a thread went to another processor";
    PageFaults, "page-faults", "faults", Accumulated, Proc,
        "How often memory was touched that had no page yet";
    MajorFaults, "major-faults", "faults", Accumulated, Proc,
        "Page faults for which something had to be read from a disk";
    ResidentMemory, "resident-memory", "bytes", Absolute, Proc,
        "Memory of the process that lies in RAM";
    ReadBytes, "read-bytes", "bytes", Accumulated, Proc,
        "Bytes that were fetched from storage for it";
    WrittenBytes, "written-bytes", "bytes", Accumulated, Proc,
        "Bytes that it caused to be sent to storage";
    Cycles, "cycles", "cycles", Accumulated, Event, "Cycles of the processor";
    Instructions, "instructions", "instructions", Accumulated, Event, "Instructions that retired";
    CacheReferences, "cache-references", "accesses", Accumulated, Event,
        "Accesses to the last level of the cache, as a rule";
    CacheMisses, "cache-misses", "misses", Accumulated, Event,
        "Accesses that missed the last level of the cache, as a rule";
    Branches, "branches", "branches", Accumulated, Event, "Branches that retired";
    BranchMisses, "branch-misses", "misses", Accumulated, Event, "Branches that were mispredicted";
    ActiveThreads, "active-threads", "threads", Absolute, Threads,
        "Threads that ran for a twentieth of the time or more since the reading before";
    Processors, "processors", "processors", Absolute, Threads,
        "Processors that its active threads may run on";
}

impl SystemMetric {
    /// Name, unit and the like.
    pub fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<SystemMetric> {
        SystemMetric::ALL
            .into_iter()
            .find(|metric| metric.facts().name == name)
    }
}

/// The name of a counter or a value that a program keeps: printable, and not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct ProgramName([u8; PROGRAM_NAME_BYTES]);

impl ProgramName {
    /// Of bytes up to the first that is 0, [`PROGRAM_NAME_BYTES`] at most; each byte that is not of
    /// UTF-8, as of a character that was cut, and each character that is not printable becomes a
    /// question mark. Nothing where there is no byte.
    pub fn new(bytes: &[u8]) -> Option<ProgramName> {
        let end = bytes.iter().position(|&byte| byte == 0);
        let bytes = &bytes[..end.unwrap_or(bytes.len()).min(PROGRAM_NAME_BYTES)];
        let mut name = [0; PROGRAM_NAME_BYTES];
        let mut used = 0;
        // Nothing becomes longer than it was, so that it fits.
        let mut put = |character: char| {
            if let Some(room) = name.get_mut(used..used + character.len_utf8()) {
                character.encode_utf8(room);
                used += character.len_utf8();
            }
        };
        for chunk in bytes.utf8_chunks() {
            let printable = |character| {
                if is_printable(character) {
                    character
                } else {
                    '?'
                }
            };
            chunk.valid().chars().map(printable).for_each(&mut put);
            chunk.invalid().iter().for_each(|_| put('?'));
        }
        (name[0] != 0).then_some(ProgramName(name))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|&byte| byte == 0);
        let bytes = &self.0[..end.unwrap_or(PROGRAM_NAME_BYTES)];
        // What came over a wire may be anything.
        core::str::from_utf8(bytes).unwrap_or("?")
    }
}

/// Neither moves a terminal's cursor nor changes the direction of a text.
fn is_printable(character: char) -> bool {
    // Marks of direction, joiners and separators.
    const HIDDEN: [RangeInclusive<char>; 5] = [
        '\u{61c}'..='\u{61c}',
        '\u{200b}'..='\u{200f}',
        '\u{2028}'..='\u{202e}',
        '\u{2060}'..='\u{206f}',
        '\u{feff}'..='\u{feff}',
    ];
    let is_hidden = HIDDEN.iter().any(|range| range.contains(&character));
    !character.is_control() && !is_hidden
}

impl fmt::Display for ProgramName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;
    use alloc::vec::Vec;

    #[test]
    fn names_are_read_back() {
        let own = ProgramName::new(b"time steps").expect("a name");
        let mut all: Vec<Metric> = CallMetric::ALL.map(Metric::OfCalls).into();
        all.extend(SystemMetric::ALL.map(Metric::System));
        all.extend([Metric::Counter(own), Metric::Value(own)]);
        for metric in &all {
            assert_eq!(metric.to_string().parse(), Ok(*metric));
        }
        let mut names: Vec<_> = all.iter().map(Metric::to_string).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all.len(), "{names:?}");
        for unknown in ["", "page-fault", "counter:", "value:", "usual"] {
            assert_eq!(unknown.parse::<Metric>(), Err(UnknownMetric), "{unknown}");
        }
        assert!(
            UnknownMetric
                .to_string()
                .contains("bytes, waiting, cpu-time, ")
        );
    }

    #[test]
    fn programs_names_are_short_and_printable() {
        let name = |bytes| ProgramName::new(bytes).map(|name| name.to_string());
        assert_eq!(name(b"a\x1b[2J\xff\0b").as_deref(), Some("a?[2J?"));
        assert_eq!(name("L\u{e4}nge".as_bytes()).as_deref(), Some("L\u{e4}nge"));
        assert_eq!(name("\u{202e}x\u{9b}".as_bytes()).as_deref(), Some("?x?"));
        // Cut within its last character.
        let long = format!("{}\u{e4}", "x".repeat(31));
        assert_eq!(name(long.as_bytes()), Some("x".repeat(31) + "?"));
        assert_eq!(name(&[b'x'; 40]), Some("x".repeat(32)));
        assert_eq!(name(b""), None);
        assert_eq!(name(b"\0x"), None);
    }
}
