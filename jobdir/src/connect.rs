//! `connect.json`: where a job's gateway listens and which tokens it takes. The root's supervisor
//! writes it, the gateway and every client read it. Whoever can read it may control the job, so it
//! is readable by its owner alone, and a file that others could read or write is refused.

use crate::process_stat;
use crate::random;
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The layout that this program writes, and the newest that it reads: 2 added the address for TLS.
/// Fields are only ever added, so that older files are read as well.
pub const VERSION: u32 = 2;
/// The oldest layout that this program reads.
const VERSION_OLDEST: u32 = 1;
/// The name of the file in its job's directory.
pub const FILE_NAME: &str = "connect.json";
/// The longest file that is read, in bytes: a command line has at most 2 MiB on Linux, JSON may
/// double it.
pub const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The contents of `connect.json`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connect {
    /// [`VERSION`].
    pub version: u32,
    /// The job's id.
    pub job: String,
    /// The gateway's Unix socket.
    pub socket: PathBuf,
    /// Token of the scope *view*.
    pub view: String,
    /// Token of the scope *control*, which includes *view*.
    pub control: String,
    /// The supervisor of the root; the job is over when it is gone.
    pub pid: u32,
    /// When that process started, in clock ticks since the boot, so that another process that was
    /// given the same number is not taken for it; 0 is unknown.
    #[serde(default)]
    pub pid_start_ticks: u64,
    /// The host that it runs on: process ids and the socket mean nothing elsewhere. Empty is
    /// unknown.
    #[serde(default)]
    pub host: String,
    /// When the job started, in seconds since 1970.
    pub started_unix: u64,
    /// The same in job time, which is the monotonic clock of this host, in ns; 0 is unknown.
    #[serde(default)]
    pub started_ns: u64,
    /// The application's command line.
    pub command: Vec<String>,
    /// Nothing runs: the gateway answers from the observation in this directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation: Option<PathBuf>,
    /// Where the gateway listens with TLS, as `https://node17:40123`; the gateway adds it when it
    /// was asked to listen on TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The certificate of the job's own authority (PEM), the only one to be trusted at `url`. A
    /// gateway that was started anew has a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<String>,
    /// Why the gateway does not listen on TCP although it was asked to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_trouble: Option<String>,
}

/// Why there is no usable `connect.json`.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ConnectError {
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "{} may be read or written by others (owner {owner}, mode {mode:o}), so its tokens cannot \
         be trusted; \
         if you made it so, run: chmod 600 {}", path.display(), path.display()
    )]
    Exposed {
        path: PathBuf,
        owner: u32,
        mode: u32,
    },
    #[error("{} is {bytes} bytes long, at most {FILE_BYTES_MAX} are read", path.display())]
    TooLong { path: PathBuf, bytes: u64 },
    #[error("{} is no connect.json: {source}", path.display())]
    Malformed {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("{} has version {version}, this program knows {VERSION_OLDEST} to {VERSION}; use the \
        invivo that started the job", path.display())]
    Version { path: PathBuf, version: u32 },
}

/// Whether the job behind a `connect.json` still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// The root's supervisor is there.
    Running,
    /// It is gone: the file was left behind.
    Stale,
    /// It runs or ran on another host, which cannot be told from here.
    Elsewhere,
}

fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl Connect {
    /// The file of a job that the calling process supervises: fresh tokens, this process, this
    /// host, now.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn new(job: &str, socket: &Path, command: Vec<String>) -> std::io::Result<Connect> {
        let pid = std::process::id();
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        Ok(Connect {
            version: VERSION,
            job: job.to_owned(),
            socket: socket.to_owned(),
            view: random::token()?,
            control: random::token()?,
            pid,
            pid_start_ticks: start_ticks(pid).unwrap_or(0),
            host: host(),
            started_unix: now.as_secs(),
            started_ns: monotonic_ns(),
            command,
            observation: None,
            url: None,
            authority: None,
            tls_trouble: None,
        })
    }

    /// The file of a guest, who knows of the job how its gateway is reached with TLS and has one
    /// token. The address stands for the name of the host: whether the job runs cannot be told.
    pub fn of_guest(job: &str, url: &str, authority: &str, token: &str, steers: bool) -> Connect {
        let control = if steers { token } else { "" };
        Connect {
            version: VERSION,
            job: job.to_owned(),
            socket: PathBuf::new(),
            view: token.to_owned(),
            control: control.to_owned(),
            pid: 0,
            pid_start_ticks: 0,
            host: url.trim_start_matches("https://").to_owned(),
            started_unix: 0,
            started_ns: 0,
            command: Vec::new(),
            observation: None,
            url: Some(url.to_owned()),
            authority: Some(authority.to_owned()),
            tls_trouble: None,
        }
    }

    /// Reads and checks a file.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn read(path: &Path) -> Result<Connect, ConnectError> {
        let unreadable = |source| ConnectError::Unreadable {
            path: path.to_owned(),
            source,
        };
        // Of the open file, not of the path: that could be exchanged between check and read.
        // Without waiting: a pipe that nobody writes to would keep us.
        let file = std::fs::OpenOptions::new()
            .read(true)
            .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
            .open(path)
            .map_err(unreadable)?;
        let meta = file.metadata().map_err(unreadable)?;
        if !meta.is_file() {
            return Err(unreadable(std::io::Error::other("it is no regular file")));
        }
        if meta.uid() != rustix::process::geteuid().as_raw() || meta.mode() & 0o077 != 0 {
            let (owner, mode) = (meta.uid(), meta.mode() & 0o7777);
            return Err(ConnectError::Exposed {
                path: path.to_owned(),
                owner,
                mode,
            });
        }
        // Before reading: the file may be anything that the user was talked into naming.
        if meta.len() > FILE_BYTES_MAX {
            return Err(ConnectError::TooLong {
                path: path.to_owned(),
                bytes: meta.len(),
            });
        }

        let mut text = Vec::new();
        file.take(FILE_BYTES_MAX)
            .read_to_end(&mut text)
            .map_err(unreadable)?;
        let malformed = |source| ConnectError::Malformed {
            path: path.to_owned(),
            source,
        };

        // The version first: a later layout may lack a field of this one.
        let Versioned { version } = serde_json::from_slice(&text).map_err(malformed)?;
        if !(VERSION_OLDEST..=VERSION).contains(&version) {
            return Err(ConnectError::Version {
                path: path.to_owned(),
                version,
            });
        }
        serde_json::from_slice(&text).map_err(malformed)
    }

    /// Whether the job still runs, as far as this host can tell.
    pub fn liveness(&self) -> Liveness {
        // Process numbers mean something on their own host only; the first version named none.
        if !self.host.is_empty() && self.host != host() {
            return Liveness::Elsewhere;
        }
        // With its start time: the number may have been given to another process since.
        match start_ticks(self.pid) {
            Some(ticks) if self.pid_start_ticks == 0 || ticks == self.pid_start_ticks => {
                Liveness::Running
            }
            _ => Liveness::Stale,
        }
    }
}

impl std::fmt::Debug for Connect {
    /// Without the tokens: they must not land in a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connect")
            .field("version", &self.version)
            .field("job", &self.job)
            .field("socket", &self.socket)
            .field("pid", &self.pid)
            .field("host", &self.host)
            .field("started_unix", &self.started_unix)
            .field("command", &self.command)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

/// This host's name.
pub fn host() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

/// When a process started, in clock ticks since the boot; nothing where there is no such process. A
/// zombie counts as none: it does nothing any more.
fn start_ticks(pid: u32) -> Option<u64> {
    let stat = process_stat::stat(i32::try_from(pid).ok()?)?;
    (!matches!(stat.state, 'Z' | 'X')).then_some(stat.start)
}

#[cfg(test)]
mod tests;
