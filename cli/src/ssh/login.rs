//! Which host `ssh` goes to, what it starts there, and its command line.

use std::fmt::{self, Display};
use std::process::Command;

/// The program that is started on the other side, by its shell.
pub const PROGRAM: &str = "invivo";
/// After so long without an answer a connection counts as broken, in s: three questions, one every
/// 15 s, which ssh asks by itself.
const ALIVE: [&str; 4] = [
    "-o",
    "ServerAliveInterval=15",
    "-o",
    "ServerAliveCountMax=3",
];

/// Whether `ssh` may ask the user something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum May {
    /// A password, or whether a host's key is right.
    Ask,
    /// Only keys and agents: something is on the screen.
    NotAsk,
}

/// A host that `ssh` reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    host: String,
    program: String,
}

impl Login {
    /// A login to `host` as ssh takes it (`me@login`, `ssh://me@login:2222`, a name of its
    /// configuration), where `program` is `invivo`.
    ///
    /// # Errors
    /// When that is no host.
    pub fn new(host: &str, program: &str) -> anyhow::Result<Login> {
        let odd = |c: char| c.is_whitespace() || c.is_control();
        if host.is_empty() || host.starts_with('-') || host.contains(odd) {
            anyhow::bail!("{host:?} is no host; give one as me@login or ssh://me@login:2222");
        }
        Ok(Login {
            host: host.to_owned(),
            program: program.to_owned(),
        })
    }

    /// The name of the program there.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// What to do where the other side's shell finds no `invivo`.
    pub fn no_program(&self) -> String {
        let Login { host, program } = self;
        format!(
            "there is no {program} in the PATH of {host}; say where it is: --on-program \
             /path/to/bin/invivo"
        )
    }

    /// `ssh` to this host, where `arguments` are given to `invivo`.
    pub fn command(&self, may: May, arguments: &[&str]) -> Command {
        let mut ssh = Command::new("ssh");
        // No terminal: bytes go through as they are.
        ssh.arg("-T").args(ALIVE);
        if may == May::NotAsk {
            ssh.args(["-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]);
        }
        // The other side's shell reads it; the program's name is left to it, for ~ and variables.
        let mut there = self.program.clone();
        for argument in arguments {
            there.push(' ');
            there.push_str(&quoted(argument));
        }
        ssh.arg("--").arg(&self.host).arg(there);
        ssh
    }
}

impl Display for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.host)
    }
}

/// A word for a shell.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &Command) -> Vec<String> {
        let words = command.get_args().map(|word| word.to_string_lossy());
        words.map(|word| word.into_owned()).collect()
    }

    #[test]
    fn the_other_shell_gets_one_line_with_quotes() {
        let login = Login::new("me@login", "~/bin/invivo").expect("a host");
        let ssh = words(&login.command(May::NotAsk, &["bridge", "--job", "it's; rm -rf /"]));
        assert!(ssh.ends_with(&[
            "--".into(),
            "me@login".into(),
            r"~/bin/invivo 'bridge' '--job' 'it'\''s; rm -rf /'".into()
        ]));
        assert!(ssh.contains(&"BatchMode=yes".into()));
        let asking = words(&login.command(May::Ask, &[]));
        assert!(!asking.contains(&"BatchMode=yes".into()));
    }

    #[test]
    fn an_option_is_no_host() {
        for host in ["", "-oProxyCommand=sh", "a b", "a\nb"] {
            let error = Login::new(host, PROGRAM).expect_err("no host");
            assert!(error.to_string().contains("me@login"), "{error}");
        }
    }
}
