//! The options of a job and of its clients, from five layers: flags go before the environment
//! (`INVIVO_*`), that before `invivo.toml` in the working directory, that before the user's file,
//! and that before the site's. Every value knows where it came from.
//!
//! ```text
//! value  back_pressure  size  tokens      pure: types, and their texts
//! key                                     which keys there are
//! layers                                  pure: files and variables as text -> the effective configuration
//! ```
//!
//! Not here: what the options do.

mod back_pressure;
mod key;
mod layers;
mod size;
mod tokens;
pub mod toml_file;
mod value;

pub use back_pressure::BackPressure;
pub use key::{Origin, Setting};
pub use layers::{ConfigError, Effective, File, Layers, effective_of};
pub use tokens::{Names, expand};
pub use value::{Address, Bytes, Hold, LEASE_DEFAULT, Time, Value};

use invivo_jobdir::whole_file;
use invivo_proto::control::strategy::Strategy;
use invivo_tbon::layout::FanIn;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The file of the working directory.
pub const PROJECT_FILE: &str = "invivo.toml";
/// The site's file, unless [`ENV_SITE_FILE`] names another.
pub const SITE_FILE: &str = "/etc/invivo/config.toml";
/// The variable that names the site's file.
pub const ENV_SITE_FILE: &str = "INVIVO_SITE_CONFIG";

/// Options of the tool itself: of `invivo run` and `invivo exec` alike. What is not given comes
/// from the other layers.
#[derive(clap::Args, Clone, Debug, Default, PartialEq)]
pub struct Flags {
    /// Write the report at the end of the job: text, or JSON when the name ends in .json; %h is the
    /// host, %j the job, %p the process, %% a per cent sign
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Print nothing: neither the report nor the line at the end
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          value_parser = bool::parse)]
    pub quiet: Option<bool>,
    /// Ranks that one tool place takes, then members that one analysis node takes, by layer from
    /// below; the last number holds for all layers above [default: 4,16]
    #[arg(long, value_name = "F[,F]", value_parser = <FanIn as Value>::parse)]
    pub fan_in: Option<FanIn>,
    /// Memory for the records of one location (a thread of a rank); the oldest give way when it is
    /// full [default: 16MiB]
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse)]
    pub buffer: Option<Bytes>,
    /// Memory for all buffers of one tool place; unless given, a buffer for each of its ranks four
    /// times over, for ranks with threads
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse)]
    pub budget: Option<Bytes>,
    /// What a location keeps when not everything fits: time (the newest), or rules joined by
    /// commas, in the order in which detail is given up, as duration:1ms, iterations:4@MPI_Barrier
    /// or class:metric,depth:2 [default: time]
    #[arg(long, value_name = "STRATEGY", value_parser = <Strategy as Value>::parse)]
    pub strategy: Option<Strategy>,
    /// Hold every rank right behind MPI_Init until `invivo resume`, for at most this time [10m
    /// where none is given]
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          value_parser = Hold::parse)]
    pub hold: Option<Hold>,
    /// What a rank does when its records are not taken as fast as they come: bounded (waits 10 ms
    /// at once and 1 % of the run in all, then drops and counts), drop (at once), or block (waits)
    /// [default: bounded]
    #[arg(long, value_name = "POLICY", value_parser = <BackPressure as Value>::parse)]
    pub back_pressure: Option<BackPressure>,
    /// Say on standard error when the job has stood still for this time, and who waits for whom:
    /// once, in a sentence; nothing else is done about it
    #[arg(long, value_name = "TIME", value_parser = <Time as Value>::parse)]
    pub watchdog: Option<Time>,
    /// Let the gateway also listen on TCP at this address, with TLS, for clients on other hosts;
    /// port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", value_parser = Address::parse)]
    pub listen: Option<Address>,
    /// Read no configuration file; the environment still holds
    #[arg(long)]
    pub no_config: bool,
}

/// The effective configuration of this process.
///
/// # Errors
/// When a layer says what is no value, has a key that there is not, or cannot be read.
pub fn effective(flags: &Flags) -> Result<Effective, ConfigError> {
    let files = if flags.no_config {
        Vec::new()
    } else {
        files()?
    };
    let layers = Layers {
        variable: &|name| std::env::var_os(name),
        files,
    };
    effective_of(flags, &layers)
}

/// The configuration of a client, which takes no flags of a job.
///
/// # Errors
/// As [`effective`].
pub fn of_client() -> Result<Effective, ConfigError> {
    effective(&Flags::default())
}

/// Where files are looked for, the first to hold first.
pub fn paths() -> Vec<PathBuf> {
    let absolute = |name: &str| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let user =
        absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")));
    let site = std::env::var_os(ENV_SITE_FILE).map_or_else(|| SITE_FILE.into(), PathBuf::from);
    let user = user.map(|user| user.join("invivo/config.toml"));
    let found = [Some(PROJECT_FILE.into()), user, Some(site)];
    found.into_iter().flatten().collect()
}

fn files() -> Result<Vec<File>, ConfigError> {
    let mut files = Vec::new();
    for path in paths() {
        match toml_file::read(&path) {
            Ok(text) => files.push(File { path, text }),
            Err(error) if is_absent(&error) => {}
            Err(source) => return Err(ConfigError::Unreadable { path, source }),
        }
    }
    Ok(files)
}

fn is_absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// The name of the file that holds the effective configuration of a report: `REPORT.config.toml`.
pub fn beside(report: &Path) -> PathBuf {
    let mut name = OsString::from(report);
    name.push(".config.toml");
    name.into()
}

/// Writes the effective configuration beside a report.
///
/// # Errors
/// When the file cannot be written.
pub fn write_beside(report: &Path, effective: &Effective) -> std::io::Result<PathBuf> {
    let path = beside(report);
    whole_file::write(&path, effective.toml().as_bytes())?;
    Ok(path)
}

#[cfg(test)]
mod tests;
