//! The directories of jobs: the state directory with one `connect.json` per running job, and the
//! runtime directory with a job's sockets. Both are the user's own: mode 0700, owner checked, never
//! followed through a symbolic link.

use crate::connect::{Connect, ConnectError, FILE_NAME, Liveness};
use crate::private::{NotPrivate, check_dir};
use crate::surplus::surplus;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The longest job id, in bytes: with it, a socket's path fits below `/tmp` whatever the user's
/// number.
pub const JOB_ID_BYTES_MAX: usize = 60;
/// Audit logs of jobs that are over that are kept: some weeks of one user's jobs.
pub const AUDITS_KEPT: usize = 50;
/// The longest name of a socket in the runtime directory, in bytes (`place-4294967295.sock` has
/// 21).
pub const SOCKET_NAME_BYTES_MAX: usize = 21;
/// The longest path of a Unix socket, in bytes: `sun_path` has 108 with the zero at its end.
pub const SOCKET_PATH_BYTES_MAX: usize = 107;

/// Why a directory or a job cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum PlaceError {
    #[error("no state directory: neither XDG_STATE_HOME nor HOME is set; set one of them")]
    NoHome,
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    NotOurs(#[from] NotPrivate),
    #[error(
        "sockets in {} would have paths longer than the {SOCKET_PATH_BYTES_MAX} bytes that a Unix \
         socket may have; \
         choose a shorter job id with INVIVO_JOB", path.display()
    )]
    PathTooLong { path: PathBuf },
    #[error(
        "{id:?} cannot name a job: allowed are 1 to {JOB_ID_BYTES_MAX} letters, digits, '-', '_' \
         and '.', not \
         beginning with '.' or '-'"
    )]
    BadJobId { id: String },
    #[error("job {job} runs already (process {pid} on {host}); choose another id with INVIVO_JOB")]
    Running { job: String, pid: u32, host: String },
}

fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> PlaceError {
    let path = path.to_owned();
    move |source| PlaceError::Io { what, path, source }
}

/// Makes a job id of any text: what may not stand in one becomes `-`, and of a long one the end is
/// kept, where numbers stand.
pub fn job_id(text: &str) -> String {
    let mut id: String = text
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') {
                c
            } else {
                '-'
            }
        })
        .collect();
    // The beginning goes: batch systems put what tells jobs apart at the end.
    id.drain(..id.len().saturating_sub(JOB_ID_BYTES_MAX));
    let id = id.trim_start_matches(['.', '-']);
    if id.is_empty() {
        "job".to_owned()
    } else {
        id.to_owned()
    }
}

/// Checks that `id` can be a directory's name and nothing else.
///
/// # Errors
/// When it cannot.
pub fn check_job_id(id: &str) -> Result<(), PlaceError> {
    if job_id(id) == id {
        Ok(())
    } else {
        Err(PlaceError::BadJobId { id: id.to_owned() })
    }
}

/// The directory of all jobs: `invivo/jobs` in `$XDG_STATE_HOME` or `~/.local/state`. It need not
/// exist.
///
/// # Errors
/// When neither variable is set.
pub fn jobs_dir() -> Result<PathBuf, PlaceError> {
    // A relative path would be another directory for each process of the job.
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let state = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    state
        .map(|state| state.join("invivo/jobs"))
        .ok_or(PlaceError::NoHome)
}

/// Makes what is missing above our own directory.
pub(crate) fn make_above(ours: &Path) -> Result<(), PlaceError> {
    let Some(state) = ours.parent() else {
        return Ok(());
    };
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(state)
        .map_err(io("make", state))
}

/// The directory of one job's `connect.json` and audit log, made if need be.
///
/// # Errors
/// When it cannot be made or is not ours.
pub fn job_dir(job: &str) -> Result<PathBuf, PlaceError> {
    job_dir_in(&jobs_dir()?, job)
}

fn job_dir_in(jobs: &Path, job: &str) -> Result<PathBuf, PlaceError> {
    check_job_id(job)?;
    // Above the jobs only what is missing is made; `invivo/jobs` and below must be ours alone.
    if let Some(ours) = jobs.parent() {
        make_above(ours)?;
    }
    for dir in [jobs.parent().unwrap_or(jobs), jobs, &jobs.join(job)] {
        private_dir(dir)?;
    }
    Ok(jobs.join(job))
}

/// The directory of a job's sockets on this node, made if need be: `invivo-UID/JOB` in
/// `$XDG_RUNTIME_DIR`; in `/tmp` where that is not set, not ours, or too long; and where somebody
/// else has made `/tmp/invivo-UID`, in `invivo/run` beside [`jobs_dir`].
///
/// # Errors
/// When it cannot be made, is not ours, or sockets in it would have paths that are too long.
pub fn runtime_dir(job: &str) -> Result<PathBuf, PlaceError> {
    check_job_id(job)?;
    runtime_dir_in(&runtime_bases(), job)
}

/// The directory of preloaded libraries on this node, made if need be, beside the jobs'
/// directories. It outlives jobs: a shell that a launcher started names a library there in what it
/// starts, long after the job is over.
///
/// # Errors
/// When it cannot be made or is not ours.
pub fn preload_dir() -> Result<PathBuf, PlaceError> {
    // No job has this name: theirs do not begin with a dot.
    runtime_dir_in(&runtime_bases(), ".preload")
}

/// Where runtime directories may be, the best first.
fn runtime_bases() -> Vec<PathBuf> {
    let user = format!("invivo-{}", rustix::process::geteuid().as_raw());
    let xdg = std::env::var_os("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(|dir| dir.is_absolute() && is_ours(dir))
        .map(|dir| dir.join(&user));
    // Anybody can make the one in `/tmp` before us; nobody else the last one.
    let state = jobs_dir().ok().map(|jobs| jobs.with_file_name("run"));
    let tmp = Path::new("/tmp").join(&user);
    xdg.into_iter().chain([tmp]).chain(state).collect()
}

fn runtime_dir_in(bases: &[PathBuf], job: &str) -> Result<PathBuf, PlaceError> {
    let mut first_error = None;
    for base in bases {
        match runtime_dir_at(base, job) {
            Ok(dir) => return Ok(dir),
            Err(error) => first_error.get_or_insert(error),
        };
    }
    Err(first_error.unwrap_or(PlaceError::NoHome))
}

fn runtime_dir_at(base: &Path, job: &str) -> Result<PathBuf, PlaceError> {
    let dir = base.join(job);
    // A socket's path has a fixed limit.
    if dir.as_os_str().len() + 1 + SOCKET_NAME_BYTES_MAX > SOCKET_PATH_BYTES_MAX {
        return Err(PlaceError::PathTooLong { path: dir });
    }
    make_above(base)?;
    private_dir(base)?;
    // Whoever may rename what is ours could put something else in its place at any time.
    if let Some(above) = base.parent() {
        check_above(above)?;
    }
    private_dir(&dir)?;
    Ok(dir)
}

/// The number that stands for all users without one (`/proc/sys/kernel/overflowuid`).
const UNMAPPED: u32 = 65534;

/// Checks that nobody but root and this user can rename or remove what is this user's in a
/// directory: by its owner and its mode, or because it is sticky as `/tmp` is.
fn check_above(dir: &Path) -> Result<(), NotPrivate> {
    let not_safe = |why: String| NotPrivate {
        path: dir.to_owned(),
        why,
    };
    let meta = std::fs::metadata(dir).map_err(|error| not_safe(error.to_string()))?;
    let is_sticky = meta.mode() & 0o1000 != 0;
    // In a container, root outside of it has no number.
    let is_trusted = [0, rustix::process::geteuid().as_raw()].contains(&meta.uid())
        || is_sticky && meta.uid() == UNMAPPED;
    if is_trusted && (is_sticky || meta.mode() & 0o022 == 0) {
        return Ok(());
    }
    Err(not_safe(format!(
        "others may rename what is in it: owner {}, mode {:o}",
        meta.uid(),
        meta.mode() & 0o7777
    )))
}

/// Times that a directory is cleared of what others were about to leave in it: more than there are
/// processes on a node.
const LATE_MAX: u32 = 4096;

/// Removes a job's runtime directory with all that is in it. That it is not there is no error. It
/// loses its name first: others may be about to leave something in it, which would keep it from
/// going.
///
/// # Errors
/// When something in it cannot be removed.
pub fn remove_runtime_dir(dir: &Path) -> Result<(), PlaceError> {
    // No job has such a name: theirs do not begin with a dot.
    let mut name = OsString::from(".");
    name.push(dir.file_name().unwrap_or_default());
    name.push(format!("-{}", std::process::id()));
    let nameless = dir.with_file_name(name);
    match std::fs::rename(dir, &nameless) {
        Ok(()) => {
            // A process that resolved the old name before may still create one file in it.
            let is_left =
                |error: std::io::Error| error.kind() == std::io::ErrorKind::DirectoryNotEmpty;
            let is_gone = |_: &u32| !std::fs::remove_dir_all(&nameless).is_err_and(is_left);
            let _ = (0..LATE_MAX).find(is_gone);
            remove(&nameless)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(io("remove", dir)(error)),
    }
}

/// Makes a directory of mode 0700 or checks that the one that is there is ours. Several processes
/// of a node may do so at once.
pub(crate) fn private_dir(dir: &Path) -> Result<(), PlaceError> {
    match std::fs::DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(io("make", dir)(error)),
    }
    Ok(check_dir(dir)?)
}

fn is_ours(dir: &Path) -> bool {
    std::fs::metadata(dir).is_ok_and(|meta| {
        meta.is_dir()
            && meta.uid() == rustix::process::geteuid().as_raw()
            && meta.mode() & 0o022 == 0
    })
}

/// Writes a job's `connect.json`, whole or not at all, and returns its path.
///
/// # Errors
/// When it cannot be written, or a job of this id runs already.
pub fn publish(connect: &Connect) -> Result<PathBuf, PlaceError> {
    publish_in(&jobs_dir()?, connect)
}

fn publish_in(jobs: &Path, connect: &Connect) -> Result<PathBuf, PlaceError> {
    let path = job_dir_in(jobs, &connect.job)?.join(FILE_NAME);
    if let Ok(other) = Connect::read(&path)
        && (other.pid, other.pid_start_ticks) != (connect.pid, connect.pid_start_ticks)
        && other.liveness() != Liveness::Stale
    {
        return Err(PlaceError::Running {
            job: other.job,
            pid: other.pid,
            host: other.host,
        });
    }
    // Not `whole_file::write`: the tokens must never be in a file that others can read, and a
    // client that polls must never read half of it, so there is no way round the rename.
    let text =
        serde_json::to_vec_pretty(connect).map_err(|error| io("write", &path)(error.into()))?;

    let new = path.with_extension(format!("{}.new", std::process::id()));
    // A file that a killed process left behind would keep its mode.
    let _ = std::fs::remove_file(&new);
    std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)
        .and_then(|mut file| file.write_all(&text))
        .and_then(|()| std::fs::rename(&new, &path))
        .map_err(io("write", &path))?;
    Ok(path)
}

/// Takes a job off the list: removes its directory in the state directory, but for an audit log if
/// there is one. Of jobs that are over, the newest [`AUDITS_KEPT`] logs are kept.
///
/// # Errors
/// When something in it cannot be removed.
pub fn withdraw(job: &str) -> Result<(), PlaceError> {
    check_job_id(job)?;
    let jobs = jobs_dir()?;
    clear(&jobs.join(job))?;
    prune(&jobs, AUDITS_KEPT)
}

/// Removes all but an audit log, and the directory if it is empty then. That it is not there is no
/// error.
fn clear(dir: &Path) -> Result<(), PlaceError> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io("read", dir)(error)),
    };
    let mut kept = false;
    for entry in entries {
        let path = entry.map_err(io("read", dir))?.path();
        if is_audit(&path) {
            kept = true;
            continue;
        }
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(io("remove", &path)(error));
            }
            _ => {}
        }
    }
    if kept { Ok(()) } else { remove(dir) }
}

fn is_audit(path: &Path) -> bool {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    name.starts_with("audit.") && name.ends_with(".jsonl")
}

/// Removes the directories of all jobs that are over but the newest `keep`.
fn prune(jobs: &Path, keep: usize) -> Result<(), PlaceError> {
    // A job that is about to publish has the newest directory, and is not among those removed.
    let is_over = |dir: &Path| !dir.join(FILE_NAME).exists();
    let over = surplus(jobs, keep, is_over);
    over.iter().try_for_each(|dir| remove(dir))
}

fn remove(dir: &Path) -> Result<(), PlaceError> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io("remove", dir)(error)),
        _ => Ok(()),
    }
}

/// What the state directory holds.
#[derive(Debug, Default)]
pub struct Jobs {
    /// Jobs that run (or that run on another host, as far as can be told), the oldest first.
    pub running: Vec<(PathBuf, Connect)>,
    /// Ids of jobs whose supervisor is gone; their files have been removed, but for audit logs.
    pub stale: Vec<String>,
    /// Files that cannot be used, with the reason.
    pub unusable: Vec<ConnectError>,
}

/// Lists the jobs and cleans up behind those that died.
///
/// # Errors
/// When the state directory cannot be read.
pub fn jobs() -> Result<Jobs, PlaceError> {
    jobs_in(&jobs_dir()?)
}

fn jobs_in(dir: &Path) -> Result<Jobs, PlaceError> {
    let mut jobs = Jobs::default();
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(jobs),
        Err(error) => return Err(io("read", dir)(error)),
    };
    for entry in entries {
        let path = entry.map_err(io("read", dir))?.path().join(FILE_NAME);
        match Connect::read(&path) {
            // Killed with SIGKILL, or the machine went down: its files are cleaned up here.
            Ok(connect) if connect.liveness() == Liveness::Stale => {
                if let Some(left) = path.parent() {
                    clear(left)?;
                }
                jobs.stale.push(connect.job);
            }
            Ok(connect) => jobs.running.push((path, connect)),
            // A job that is about to publish, or has just withdrawn.
            Err(ConnectError::Unreadable { source, .. })
                if source.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => jobs.unusable.push(error),
        }
    }
    jobs.running
        .sort_by(|(_, a), (_, b)| (a.started_unix, &a.job).cmp(&(b.started_unix, &b.job)));
    jobs.stale.sort();
    Ok(jobs)
}

#[cfg(test)]
mod tests;
