//! The keys of the configuration with their types, and where a value came from.

use super::back_pressure::BackPressure;
use super::overhead::Overhead;
use super::value::{Address, Bytes, Hold, Time, Value};
use invivo_proto::control::analyses::AnalysisSet;
use invivo_proto::control::metrics::Measured;
use invivo_proto::control::sampling::Sampling;
use invivo_proto::control::selection::Selection;
use invivo_proto::control::strategy::Strategy;
use invivo_tbon::layout::FanIn;
use std::fmt::{Display, Formatter};
use std::marker::PhantomData;
use std::ops::Deref;
use std::path::PathBuf;

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody said anything.
    Default,
    /// A file: of the working directory, the user or the site.
    File {
        /// Which.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
    },
    /// A variable.
    Environment(String),
    /// The command line.
    Flag(&'static str),
}

impl Display for Origin {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File { path, line } => write!(f, "{}:{line}", path.display()),
            Origin::Environment(name) => f.write_str(name),
            Origin::Flag(name) => write!(f, "--{name}"),
        }
    }
}

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Where it came from.
    pub origin: Origin,
}

impl<T> Deref for Setting<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// A key with its type.
pub struct Key<T> {
    /// As flags and files spell it.
    pub name: &'static str,
    kind: PhantomData<fn() -> T>,
}

impl<T: Value> Key<T> {
    const fn new(name: &'static str) -> Key<T> {
        Key {
            name,
            kind: PhantomData,
        }
    }
}

/// What all keys have, whatever their type.
pub trait AnyKey: Sync {
    /// As flags and files spell it.
    fn name(&self) -> &'static str;
    /// Whether a text is a value of it.
    ///
    /// # Errors
    /// What is wrong with it.
    fn check(&self, text: &str) -> Result<(), String>;
}

impl<T: Value> AnyKey for Key<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn check(&self, text: &str) -> Result<(), String> {
        T::parse(text).map(drop)
    }
}

/// The variable of a key: `fan-in` is `INVIVO_FAN_IN`.
pub fn variable(name: &str) -> String {
    format!("INVIVO_{}", name.to_uppercase().replace('-', "_"))
}

/// Where the report goes.
pub const REPORT: Key<Option<PathBuf>> = Key::new("report");
/// Where what the buffers hold is saved at the end.
pub const SAVE: Key<Option<PathBuf>> = Key::new("save");
/// Whether nothing is printed.
pub const QUIET: Key<bool> = Key::new("quiet");
/// Ranks below a tool place, and members below an analysis node.
pub const FAN_IN: Key<FanIn> = Key::new("fan-in");
/// Memory of a location.
pub const BUFFER: Key<Bytes> = Key::new("buffer");
/// Memory of a place.
pub const BUDGET: Key<Option<Bytes>> = Key::new("budget");
/// What buffers keep when not everything fits.
pub const STRATEGY: Key<Strategy> = Key::new("strategy");
/// The analyses that are on from the start.
pub const ANALYSES: Key<AnalysisSet> = Key::new("analyses");
/// How often ranks are sampled from the start.
pub const SAMPLING: Key<Sampling> = Key::new("sampling");
pub const SELECTION: Key<Selection> = Key::new("selection");
/// What is measured of each rank from the start.
pub const METRICS: Key<Measured> = Key::new("metrics");
/// The most that the measurement takes of the ranks' time.
pub const OVERHEAD: Key<Overhead> = Key::new("overhead");
/// What a rank does when its records are not taken as fast as they come.
pub const BACK_PRESSURE: Key<BackPressure> = Key::new("back-pressure");
/// Whether ranks are held behind initialisation.
pub const HOLD: Key<Hold> = Key::new("hold");
/// How long a job stands still before that is reported.
pub const WATCHDOG: Key<Option<Time>> = Key::new("watchdog");
/// Where the gateway listens beside its Unix socket.
pub const LISTEN: Key<Option<Address>> = Key::new("listen");
/// Time between two screens of a client.
pub const INTERVAL: Key<Time> = Key::new("interval");

/// All keys.
pub const ALL: [&dyn AnyKey; 17] = [
    &REPORT,
    &SAVE,
    &QUIET,
    &FAN_IN,
    &BUFFER,
    &BUDGET,
    &STRATEGY,
    &ANALYSES,
    &SAMPLING,
    &SELECTION,
    &METRICS,
    &OVERHEAD,
    &BACK_PRESSURE,
    &HOLD,
    &WATCHDOG,
    &LISTEN,
    &INTERVAL,
];
