//! Expands tokens in file names: `%h` is the host, `%j` the job's id, `%p` the process' number,
//! `%%` a per cent sign.

use std::ffi::OsStr;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// What the tokens stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names<'a> {
    /// This host.
    pub host: &'a str,
    /// The job's id.
    pub job: &'a str,
    /// This process.
    pub pid: u32,
}

/// Puts names in the places of tokens. Names cannot leave the directory that was written: a slash
/// in one becomes `-`.
///
/// # Errors
/// When a per cent sign is followed by anything else.
pub fn expand(template: &Path, names: &Names<'_>) -> Result<PathBuf, String> {
    // By bytes: a path need not be UTF-8, and `%` is never part of another character in it.
    let mut out = Vec::new();
    let mut bytes = template.as_os_str().as_bytes().iter();
    while let Some(&byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'%') => out.push(b'%'),
            // A job's id comes from a variable of the user, a host's name from the machine: neither
            // may name another directory.
            Some(b'h') => out.extend(names.host.replace('/', "-").bytes()),
            Some(b'j') => out.extend(names.job.replace('/', "-").bytes()),
            Some(b'p') => out.extend(names.pid.to_string().bytes()),
            other => {
                let token = OsStr::from_bytes(other.map_or(&[][..], std::slice::from_ref));
                return Err(format!(
                    "`%{}` in {} is no token; there are %h (host), %j (job), %p (process) and %% \
                     (a per cent sign)",
                    token.display(),
                    template.display()
                ));
            }
        }
    }
    Ok(PathBuf::from(OsString::from_vec(out)))
}

/// Checks a name's tokens before there are names for them.
///
/// # Errors
/// As [`expand`].
pub fn check(template: &Path) -> Result<(), String> {
    let names = Names {
        // Which names stand there makes no difference to what is a token.
        host: "",
        job: "",
        pid: 0,
    };
    expand(template, &names).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: Names<'static> = Names {
        host: "n/1",
        job: "4711",
        pid: 42,
    };

    #[test]
    fn tokens_become_names_that_stay_in_their_directory() {
        let expanded = expand(Path::new("out/%j-%h.%p.100%%.json"), &NAMES);
        assert_eq!(expanded, Ok("out/4711-n-1.42.100%.json".into()));
        assert_eq!(expand(Path::new("plain"), &NAMES), Ok("plain".into()));
    }

    #[test]
    fn unknown_tokens_are_refused() {
        let error = check(Path::new("a%x")).expect_err("no token");
        assert!(
            error.starts_with("`%x` in a%x is no token; there are %h"),
            "{error}"
        );
        assert!(check(Path::new("a%")).is_err());
    }
}
