//! The options of a job and of its clients, from five layers: flags go before the environment
//! (`INVIVO_*`), that before `invivo.toml` in the working directory, that before the user's file,
//! and that before the site's. Every value knows where it came from.
//!
//! ```text
//! value  back_pressure  metrics  overhead  size  tokens      pure: types, and their texts
//! key                                              which keys there are
//! flags                                            the options of `invivo run` and `exec`
//! layers                                           pure: files and variables -> what holds
//! ```
//!
//! Not here: what the options do.

#![forbid(unsafe_code)]

mod back_pressure;
mod flags;
mod key;
mod layers;
mod metrics;
mod overhead;
mod size;
mod tokens;
pub mod toml_file;
mod value;

pub use back_pressure::BackPressure;
pub use flags::Flags;
pub use invivo_proto::control::sampling::Sampling;
pub use key::{Origin, Setting};
pub use layers::{Budget, ConfigError, Effective, File, Layers, effective_of};
pub use overhead::Overhead;
pub use tokens::{Names, expand};
pub use value::{Address, Bytes, Hold, Time, Value};

use invivo_jobdir::whole_file;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The file of the working directory.
pub const PROJECT_FILE: &str = "invivo.toml";
/// The site's file, unless [`ENV_SITE_FILE`] names another.
pub const SITE_FILE: &str = "/etc/invivo/config.toml";
/// The variable that names the site's file.
pub const ENV_SITE_FILE: &str = "INVIVO_SITE_CONFIG";

/// The effective configuration of this process.
///
/// # Errors
/// When a layer says what is no value, has a key that there is not, or cannot be read.
pub fn effective(flags: &Flags) -> Result<Effective, ConfigError> {
    // `exec` gets all options as flags from `run`: its own directory may hold another invivo.toml.
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

/// The paths of configuration files, the strongest first.
pub fn paths() -> Vec<PathBuf> {
    // The XDG base directory specification: a relative path is to be ignored.
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
        match toml_file::read_own(&path) {
            Ok(text) => files.push(File { path, text }),
            // Absent is usual. Any other error is reported: options would silently not hold.
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
    // Added and not exchanged: report.txt and report.json keep files of their own.
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
