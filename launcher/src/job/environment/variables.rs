//! An environment as a map, and the numbers that the application should find in it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// An environment.
pub type Environment = BTreeMap<OsString, OsString>;

/// Where programs are looked for: `PATH`, which need not be UTF-8.
pub fn search_path(env: &Environment) -> Option<&OsStr> {
    env.get(OsStr::new("PATH")).map(OsString::as_os_str)
}

/// The value of a variable as text.
pub fn text<'a>(env: &'a Environment, name: &str) -> Option<&'a str> {
    env.get(OsStr::new(name)).and_then(|value| value.to_str())
}

/// What the application should find of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// Its rank.
    pub rank: u32,
    /// Its ranks.
    pub ranks: u32,
    /// Its ranks on this host.
    pub on_host: u32,
    /// Hosts of the job.
    pub hosts: u32,
}
