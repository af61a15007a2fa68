//! Writes the gateway's TLS address and certificate authority into the job's `connect.json`.

use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The gateway's TLS listener, or why there is none although it was requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tls {
    At {
        /// `https://node17:40123`
        url: String,
        /// The authority's certificate, PEM.
        authority: String,
    },
    Trouble(String),
}

/// Sets these fields of the file and keeps all others. Readers see either the old contents or the
/// new ones. A file that is gone (the job ends) is not created again.
///
/// # Errors
/// If it cannot be read or written.
pub fn publish(path: &Path, tls: &Tls) -> std::io::Result<()> {
    // Read anew, so that fields written by others meanwhile are kept.
    let mut connect: Value = serde_json::from_slice(&std::fs::read(path)?)?;
    let (url, authority, trouble) = match tls {
        Tls::At { url, authority } => (Some(url), Some(authority), None),
        Tls::Trouble(why) => (None, None, Some(why)),
    };
    for (field, value) in [
        ("url", url),
        ("authority", authority),
        ("tls_trouble", trouble),
    ] {
        connect[field] = value.cloned().into();
    }

    // Only one gateway writes here at a time: the one that has the job's socket.
    let new = path.with_extension("json.new");
    let mut file = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)?;

    file.write_all(&serde_json::to_vec(&connect)?)?;
    let put = exchange(&new, path);
    // After an exchange this is the old file; without one, the new file that was not put in place.
    let removed = std::fs::remove_file(&new);
    put.and(removed)
}

/// Exchanges two files. Unlike a rename, this fails if `path` was removed meanwhile, so that a job
/// that has ended does not appear again.
fn exchange(new: &Path, path: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, new, CWD, path, RenameFlags::EXCHANGE) {
        // Some network file systems cannot exchange. A rename is the closest; the link gives the
        // caller its second name to remove.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if path.exists() => {
            std::fs::rename(new, path)?;
            std::fs::hard_link(path, new)
        }
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_jobdir::Connect;
    use std::os::unix::fs::PermissionsExt;

    fn file(dir: &Path) -> std::path::PathBuf {
        let path = dir.join("connect.json");
        let connect = Connect::new("job", &dir.join("gateway.sock"), vec!["./app".into()])
            .expect("random numbers");
        let mut value = serde_json::to_value(connect).expect("json");
        value["later"] = "field".into();
        std::fs::write(&path, value.to_string()).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("mode set");
        path
    }

    #[test]
    fn other_fields_stay_and_the_file_stays_private() {
        let dir = tempfile::tempdir().expect("directory");
        let path = file(dir.path());
        let before = Connect::read(&path).expect("read");
        publish(&path, &Tls::Trouble("no such address".into())).expect("written");
        assert_eq!(
            Connect::read(&path).expect("read").tls_trouble.as_deref(),
            Some("no such address")
        );
        let at = Tls::At {
            url: "https://node17:4000".into(),
            authority: "PEM".into(),
        };
        publish(&path, &at).expect("written");
        let after = Connect::read(&path).expect("still private");
        let expected = Connect {
            url: Some("https://node17:4000".into()),
            authority: Some("PEM".into()),
            ..before
        };
        assert_eq!(after, expected);
        let raw: Value =
            serde_json::from_slice(&std::fs::read(&path).expect("read")).expect("json");
        assert_eq!(raw["later"], "field");
        let names: Vec<_> = std::fs::read_dir(dir.path()).expect("read").collect();
        assert_eq!(names.len(), 1, "nothing is left behind: {names:?}");
    }

    #[test]
    fn a_removed_file_is_not_created_again() {
        let dir = tempfile::tempdir().expect("directory");
        let path = file(dir.path());
        std::fs::remove_file(&path).expect("removed");
        assert!(publish(&path, &Tls::Trouble(String::new())).is_err());
        std::fs::write(dir.path().join("new"), "{}").expect("written");
        assert!(exchange(&dir.path().join("new"), &path).is_err());
        assert!(!path.exists());
    }
}
