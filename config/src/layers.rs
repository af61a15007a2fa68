//! Combines the layers of the configuration into the options in force. Pure: files and variables
//! are handed in.

use super::back_pressure::BackPressure;
use super::flags::Flags;
use super::key::{self, AnyKey, Key, Origin, Setting};
use super::overhead::Overhead;
use super::tokens;
use super::value::{Address, Bytes, Hold, Time, Value};
use crate::toml_file::{self, FileError, Source, plain};
use invivo_proto::control::analyses::AnalysisSet;
use invivo_proto::control::metrics::Measured;
use invivo_proto::control::sampling::Sampling;
use invivo_proto::control::selection::Selection;
use invivo_proto::control::strategy::Strategy;
use invivo_tbon::layout::FanIn;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Memory of one location unless another size is asked for, in bytes.
const BUFFER_DEFAULT: u64 = 16 << 20;
/// Time between two screens unless another one is asked for.
const INTERVAL_DEFAULT: Duration = Duration::from_secs(1);
/// Locations per rank that the budget of a place has room for unless another one is asked for.
const LOCATIONS_PER_RANK: u64 = 4;

/// Locations that a place without a configured budget has buffers for however few its ranks are:
/// where ranks are few, each tends to have many threads.
const LOCATIONS_MIN: u64 = 32;

/// Memory for all buffers of a place, in bytes: the larger of the two. How many ranks the largest
/// place has is known only once the job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// However few ranks there are.
    pub least: u64,
    /// For each rank of the place that has most.
    pub per_rank: u64,
}

/// A configuration file that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name.
    pub path: PathBuf,
    /// All of it.
    pub text: String,
}

/// The layers below the flags.
pub struct Layers<'a> {
    /// The environment.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// Files, the strongest first.
    pub files: Vec<File>,
}

/// Why there is no effective configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file is there and cannot be read.
    #[error("cannot read the configuration file {}: {source}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file says what it may not.
    #[error(transparent)]
    File(#[from] FileError),
    /// A variable says what it may not.
    #[error("the variable {variable}: {what}")]
    Variable {
        /// Its name.
        variable: String,
        /// What is wrong with its value.
        what: String,
    },
    /// A flag says what it may not.
    #[error("--{flag}: {what}")]
    Flag {
        /// Its name.
        flag: &'static str,
        /// What is wrong with its value.
        what: String,
    },
}

/// The options in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effective {
    /// Where the report goes, with tokens as they were written.
    pub report: Setting<Option<PathBuf>>,
    /// Where what the buffers hold is saved at the end, with tokens as they were written.
    pub save: Setting<Option<PathBuf>>,
    /// Whether nothing is printed.
    pub quiet: Setting<bool>,
    /// Ranks below a tool place, and members below an analysis node.
    pub fan_in: Setting<FanIn>,
    /// Memory of a location.
    pub buffer: Setting<Bytes>,
    /// Memory of a place; see [`Effective::budget`].
    pub budget: Setting<Option<Bytes>>,
    /// What buffers keep when not everything fits.
    pub strategy: Setting<Strategy>,
    /// The analyses that are on from the start.
    pub analyses: Setting<AnalysisSet>,
    /// How often ranks are sampled from the start.
    pub sampling: Setting<Sampling>,
    /// What of regions and functions is recorded from the start.
    pub selection: Setting<Selection>,
    /// What is measured of each rank from the start.
    pub metrics: Setting<Measured>,
    /// The most that the measurement takes of the ranks' time.
    pub overhead: Setting<Overhead>,
    /// What a rank does when its records are not taken as fast as they come.
    pub back_pressure: Setting<BackPressure>,
    /// Whether ranks are held behind initialisation.
    pub hold: Setting<Hold>,
    /// How long a job stands still before that is reported; nothing is never.
    pub watchdog: Setting<Option<Time>>,
    /// Where the gateway listens beside its Unix socket.
    pub listen: Setting<Option<Address>>,
    /// Time between two screens of a client.
    pub interval: Setting<Time>,
}

/// One line of the effective configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The key.
    pub key: &'static str,
    /// As TOML; nothing where it is not set.
    pub toml: Option<String>,
    /// As the text behind a flag.
    pub text: String,
    /// For programs.
    pub json: serde_json::Value,
    /// Where it came from.
    pub origin: Origin,
}

/// The values of the layers below the flags, by key.
struct Said {
    by_key: BTreeMap<&'static str, (String, Origin)>,
}

impl Said {
    /// Reads all layers. A value that a stronger layer overrides is checked as well: it would be
    /// wrong on the day when the stronger one goes.
    fn read(layers: &Layers<'_>) -> Result<Said, ConfigError> {
        let mut by_key = BTreeMap::new();
        for any in key::ALL {
            let name = key::variable(any.name());
            // Variables before files: what is read first stays.
            let Some(value) = (layers.variable)(&name) else {
                continue;
            };
            let wrong = |what: String| ConfigError::Variable {
                variable: name.clone(),
                what,
            };
            let text = value
                .into_string()
                .map_err(|_| wrong("it is no UTF-8".to_owned()))?;
            any.check(&text).map_err(wrong)?;
            by_key.insert(any.name(), (text, Origin::Environment(name)));
        }
        for file in &layers.files {
            for (name, text, line) in entries(file)? {
                // Stronger layers came before: the first value stays.
                let path = file.path.clone();
                by_key
                    .entry(name)
                    .or_insert((text, Origin::File { path, line }));
            }
        }
        Ok(Said { by_key })
    }

    fn pick<T: Value>(&self, key: &Key<T>, flag: Option<T>, default: T) -> Setting<T> {
        if let Some(value) = flag {
            let origin = Origin::Flag(key.name);
            return Setting { value, origin };
        }
        // Every text has been checked.
        let said = self.by_key.get(key.name);
        let said = said
            .and_then(|(text, origin)| T::parse(text).ok().map(|value| (value, origin.clone())));
        let (value, origin) = said.unwrap_or((default, Origin::Default));
        Setting { value, origin }
    }
}

/// Key, text and line of everything in a file.
fn entries(file: &File) -> Result<Vec<(&'static str, String, usize)>, FileError> {
    let source = Source {
        path: &file.path,
        text: &file.text,
    };
    let names = key::ALL.map(AnyKey::name);
    let mut entries = Vec::new();
    for (key, value) in &source.table()? {
        // An unknown key is an error and not a warning: a misspelt limit must not silently not
        // hold.
        let Some(any) = key::ALL.iter().find(|any| any.name() == key.get_ref()) else {
            return Err(source.error_at(
                &key.span(),
                toml_file::unknown("key", key.get_ref(), &names),
            ));
        };
        let wrong =
            |what: String| source.error_at(&value.span(), format!("{}: {what}", any.name()));
        let text = plain(value.get_ref())
            .ok_or_else(|| wrong(format!("a {} is no value here", value.get_ref().type_str())))?;
        // Checked also where a stronger layer goes before: a wrong value would else come up on
        // another day.
        any.check(&text).map_err(wrong)?;
        entries.push((any.name(), text, source.line(key.span().start)));
    }
    Ok(entries)
}

/// What holds, given what was typed and what the other layers say.
///
/// # Errors
/// When a layer says what is no value or has a key that there is not.
pub fn effective_of(flags: &Flags, layers: &Layers<'_>) -> Result<Effective, ConfigError> {
    let said = Said::read(layers)?;
    let effective = Effective {
        report: said.pick(&key::REPORT, flags.report.clone().map(Some), None),
        save: said.pick(&key::SAVE, flags.save.clone().map(Some), None),
        quiet: said.pick(&key::QUIET, flags.quiet, false),
        fan_in: said.pick(&key::FAN_IN, flags.fan_in, FanIn::default()),
        buffer: said.pick(&key::BUFFER, flags.buffer, Bytes(BUFFER_DEFAULT)),
        budget: said.pick(&key::BUDGET, flags.budget.map(Some), None),
        strategy: said.pick(&key::STRATEGY, flags.strategy, Strategy::FLIGHT_RECORDER),
        analyses: said.pick(&key::ANALYSES, flags.analyses, AnalysisSet::DEFAULT),
        sampling: said.pick(&key::SAMPLING, flags.sampling, Sampling::OFF),
        selection: said.pick(
            &key::SELECTION,
            flags.selection.clone(),
            Selection::default(),
        ),
        metrics: said.pick(&key::METRICS, flags.metrics, Measured::default()),
        overhead: said.pick(&key::OVERHEAD, flags.overhead, Overhead::default()),
        back_pressure: said.pick(
            &key::BACK_PRESSURE,
            flags.back_pressure,
            BackPressure::default(),
        ),
        hold: said.pick(&key::HOLD, flags.hold, Hold(None)),
        watchdog: said.pick(&key::WATCHDOG, flags.watchdog.map(Some), None),
        listen: said.pick(&key::LISTEN, flags.listen.clone().map(Some), None),
        interval: said.pick(&key::INTERVAL, None, Time(INTERVAL_DEFAULT)),
    };
    // What concerns several keys can be checked only now.
    effective.check_names()?;
    effective.check_strategy()?;
    Ok(effective)
}

/// An error in the layer that a value came from.
fn wrong<T>(key: &Key<T>, origin: &Origin, what: String) -> ConfigError {
    match origin {
        Origin::File { path, line } => ConfigError::File(FileError {
            path: path.clone(),
            line: *line,
            what,
        }),
        Origin::Environment(variable) => ConfigError::Variable {
            variable: variable.clone(),
            what,
        },
        Origin::Flag(_) | Origin::Default => ConfigError::Flag {
            flag: key.name,
            what,
        },
    }
}

fn row<T: Value>(key: &Key<T>, setting: &Setting<T>) -> Row {
    let text = setting.value.text();
    let toml = if text.is_empty() {
        None
    } else if setting.value.is_bare() {
        Some(text.clone())
    } else {
        Some(quoted(&text))
    };
    Row {
        key: key.name,
        toml,
        json: setting.value.json(),
        text,
        origin: setting.origin.clone(),
    }
}

/// A basic string of TOML: JSON's escapes are TOML's, but for one control character that JSON
/// leaves as it is.
fn quoted(text: &str) -> String {
    // JSON's strings are TOML's basic strings, but for DEL, which TOML wants escaped.
    let json = serde_json::Value::from(text).to_string();
    json.replace('\u{7f}', "\\u007F")
}

impl Effective {
    /// Names of what is written at the end are checked before the job starts: then it would be too
    /// late.
    fn check_names(&self) -> Result<(), ConfigError> {
        for (key, setting) in [(&key::REPORT, &self.report), (&key::SAVE, &self.save)] {
            if let Some(name) = &setting.value {
                tokens::check(name).map_err(|what| wrong(key, &setting.origin, what))?;
            }
        }
        Ok(())
    }

    /// A buffer that is too small for its strategy would keep by another one.
    fn check_strategy(&self) -> Result<(), ConfigError> {
        let (strategy, buffer) = (&self.strategy, &self.buffer);
        let least = strategy.value.buffer_bytes_min();
        if buffer.value.0 >= least {
            return Ok(());
        }
        let (least, is) = (Bytes(least).text(), buffer.value.text());
        Err(match &strategy.origin {
            // The strategy is the default, so it is the buffer that was chosen too small.
            Origin::Default => wrong(
                &key::BUFFER,
                &buffer.origin,
                format!("a buffer has at least {least}, not {is}"),
            ),
            origin => {
                let levels = match strategy.value.levels() {
                    1 => "1 level".to_owned(),
                    several => format!("{several} levels"),
                };
                let what = format!(
                    "{} sorts into {levels}, which need a buffer of at least {least}, not {is}: \
                     give more memory, or fewer \
                     rules",
                    strategy.value
                );
                wrong(&key::STRATEGY, origin, what)
            }
        })
    }

    /// Memory for all buffers of a place.
    pub fn budget(&self) -> Budget {
        let buffers = |buffers| self.buffer.0.saturating_mul(buffers);
        self.budget.map_or(
            Budget {
                least: buffers(LOCATIONS_MIN),
                per_rank: buffers(LOCATIONS_PER_RANK),
            },
            |budget| Budget {
                least: budget.0,
                per_rank: 0,
            },
        )
    }

    /// All of it, in the order of the manual.
    pub fn rows(&self) -> Vec<Row> {
        vec![
            row(&key::REPORT, &self.report),
            row(&key::SAVE, &self.save),
            row(&key::QUIET, &self.quiet),
            row(&key::FAN_IN, &self.fan_in),
            row(&key::BUFFER, &self.buffer),
            row(&key::BUDGET, &self.budget),
            row(&key::STRATEGY, &self.strategy),
            row(&key::ANALYSES, &self.analyses),
            row(&key::SAMPLING, &self.sampling),
            row(&key::SELECTION, &self.selection),
            row(&key::METRICS, &self.metrics),
            row(&key::OVERHEAD, &self.overhead),
            row(&key::BACK_PRESSURE, &self.back_pressure),
            row(&key::HOLD, &self.hold),
            row(&key::WATCHDOG, &self.watchdog),
            row(&key::LISTEN, &self.listen),
            row(&key::INTERVAL, &self.interval),
        ]
    }

    /// As a file that says the same as all layers together; each line tells where its value came
    /// from.
    pub fn toml(&self) -> String {
        let mut text =
            String::from("# The effective configuration; as invivo.toml it says the same again.\n");
        for row in self.rows() {
            let line = row.toml.map_or_else(
                || format!("# {} is not set", row.key),
                |value| format!("{} = {value}", row.key),
            );
            text.push_str(&format!("{line}  # {}\n", row.origin));
        }
        text
    }

    /// The flags that make another process' configuration the same, whatever files it would read.
    pub fn to_flags(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["--no-config".into()];
        for row in self.rows() {
            // `exec` has no `--interval`: that is a client's option.
            if row.origin == Origin::Default || row.key == key::INTERVAL.name {
                continue;
            }
            let files = [(&key::REPORT, &self.report), (&key::SAVE, &self.save)];
            if let Some((key, setting)) = files.into_iter().find(|(key, _)| key.name == row.key) {
                // The other process may start in another directory. Not by `row.text`: a path need
                // not be UTF-8.
                if let Some(path) = &setting.value {
                    let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                    words.extend([format!("--{}", key.name).into(), path.into()]);
                }
            } else if !row.text.is_empty() {
                words.push(format!("--{}={}", row.key, row.text).into());
            }
        }
        words
    }
}
