//! A login server on loopback, and a user behind it: OpenSSH's own `sshd`, with users and a
//! configuration of its own, so that the machine keeps its own.
//!
//! As root the user behind it is another one (`guest`, the id of nobody); else, whoever tests.

use crate::paths;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The longest that the server may take to listen.
const LISTENS_WITHIN: Duration = Duration::from_secs(20);
const GUEST: u32 = 65534;
/// Under which `sshd` looks at logins; OpenSSH wants a user of this name where root starts it.
const SSHD: u32 = 65533;

/// The server; it ends with this.
pub struct Login {
    directory: TempDir,
    port: u16,
    server: Child,
    is_root: bool,
    /// The name of the host that it is, where that is not this one's.
    host: Option<&'static str>,
}

impl Login {
    /// Starts it on this host.
    pub fn start() -> Login {
        Login::start_on(None)
    }

    /// Starts it where the host has another name: only root can.
    pub fn start_on(host: Option<&'static str>) -> Login {
        let directory = tempfile::tempdir().expect("a directory");
        let is_root = rustix::process::geteuid().is_root();
        let home = directory.path();
        fs::set_permissions(home, Permissions::from_mode(0o755)).expect("the mode");
        let guest_home = home.join("home");
        fs::create_dir(&guest_home).expect("a home");
        if is_root {
            chown(&guest_home, Some(GUEST), Some(GUEST)).expect("given to the guest");
            // Where sshd locks itself up while it looks at a login.
            fs::create_dir_all("/run/sshd").expect("/run/sshd");
        }
        // Free now, and nobody asks for it by number.
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a port")
            .port();
        for key in ["host", "key"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]);
            let status = keygen.arg(home.join(key)).status().expect("ssh-keygen");
            assert!(status.success(), "ssh-keygen: {status}");
        }
        let mut login = Login {
            server: serve(home, port, is_root, host),
            directory,
            port,
            is_root,
            host,
        };
        login.write_client();
        login.wait();
        login
    }

    /// The user behind it.
    fn user(is_root: bool) -> String {
        if is_root {
            return "guest".into();
        }
        std::env::var("USER").expect("who tests")
    }

    /// A directory of the user behind it.
    pub fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    /// A command that the user behind it runs there, in a home and a state directory of its own.
    pub fn command_there(&self, program: &Path) -> Command {
        let mut command = named(self.host, if self.is_root { "setpriv" } else { "env" });
        if self.is_root {
            let id = GUEST.to_string();
            command.args([
                "--reuid",
                &id,
                "--regid",
                &id,
                "--clear-groups",
                "--",
                "env",
            ]);
        }
        command.args(["-u", "XDG_RUNTIME_DIR"]);
        command.arg(format!("HOME={}", self.home().display()));
        command.arg(format!("XDG_STATE_HOME={}", self.state().display()));
        command.arg(program);
        command.current_dir(self.home());
        command
    }

    /// Where jobs of the user behind it say how they are reached.
    pub fn state(&self) -> PathBuf {
        self.home().join("state")
    }

    /// A directory with an `ssh` that reaches this host, as `login` and by its name.
    pub fn bin(&self) -> PathBuf {
        self.directory.path().join("bin")
    }

    /// The words before a command line that let `ssh login` go to this server.
    fn write_client(&self) {
        let home = self.directory.path();
        let user = Login::user(self.is_root);
        let config = format!(
            "Host login {}\n HostName 127.0.0.1\n Port {}\n User {user}\n IdentityFile {}\n\
             IdentitiesOnly yes\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n\
             LogLevel ERROR\n",
            self.host.unwrap_or_default(),
            self.port,
            home.join("key").display()
        );
        fs::write(home.join("ssh_config"), config).expect("written");
        fs::create_dir(home.join("bin")).expect("a directory");
        if self.is_root {
            // For the user behind it too, who may go on to another host.
            chown(home.join("key"), Some(GUEST), Some(GUEST)).expect("given to the guest");
        }
        // OpenSSH looks for its configuration where the passwd file says, not in HOME.
        let script = format!(
            "#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n",
            home.join("ssh_config").display()
        );
        let mut file = fs::OpenOptions::new();
        let file = file.write(true).create_new(true).mode(0o755);
        let mut file = file.open(home.join("bin/ssh")).expect("a file");
        file.write_all(script.as_bytes()).expect("written");
    }

    /// The `invivo` command on this side, which reaches `login`; it knows nothing of the other
    /// side's files.
    pub fn invivo(&self, words: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command.arg("60").arg(paths::invivo()).args(words);
        self.reaching(command)
    }

    /// The same for one that runs until it is ended.
    pub fn invivo_for_long(&self, words: &[&str]) -> Command {
        let mut command = Command::new(paths::invivo());
        command.args(words);
        self.reaching(command)
    }

    fn reaching(&self, mut command: Command) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.bin().display()));
        command.env("XDG_STATE_HOME", self.directory.path().join("nothing"));
        command.env_remove("INVIVO_JOB").stdin(Stdio::null());
        command
    }

    /// The words that let a command look behind the login.
    pub fn on(&self) -> [String; 4] {
        let program = format!(
            "XDG_STATE_HOME={} {}",
            self.state().display(),
            paths::invivo().display()
        );
        [
            "--on".into(),
            "login".into(),
            "--on-program".into(),
            program,
        ]
    }

    /// The server's process; its children are logins.
    pub fn pid(&self) -> u32 {
        self.server.id()
    }

    /// The processes of logins that are there now.
    pub fn logins(&self) -> Vec<i32> {
        children_of(self.server.id())
    }

    /// Kills all logins that are there now: the process that watches over each, and the one that
    /// has its connection, which would go on alone.
    pub fn kill_logins(&self) {
        for login in self.logins() {
            let below = children_of(login.cast_unsigned());
            // In this order: the first one ends by itself when it has nothing to watch.
            for process in [vec![login], below].concat() {
                let pid = Pid::from_raw(process).expect("a process");
                // That of a command that is done ends by itself.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }

    fn wait(&mut self) {
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let log = fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
            let ended = self.server.try_wait().expect("its state");
            assert!(
                ended.is_none() && begun.elapsed() < LISTENS_WITHIN,
                "sshd does not listen ({ended:?}): {log}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Login {
    fn drop(&mut self) {
        for login in self.logins() {
            if let Some(pid) = Pid::from_raw(login) {
                // It may have ended by itself.
                let _ = kill_process(pid, Signal::TERM);
            }
        }
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn serve(home: &Path, port: u16, is_root: bool, host: Option<&str>) -> Child {
    let authorized = home.join("authorized");
    fs::copy(home.join("key.pub"), &authorized).expect("the key");
    fs::set_permissions(&authorized, Permissions::from_mode(0o644)).expect("the mode");
    let config = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nUsePAM no\n\
         StrictModes no\nPidFile none\nPasswordAuthentication no\n",
        home.join("host").display(),
        authorized.display()
    );
    let (unpacked, helpers) = unpacked();
    fs::write(home.join("sshd_config"), config + &helpers).expect("written");
    let mut server = named(host, unpacked.join("usr/sbin/sshd"));
    server
        .args(["-D", "-e", "-f"])
        .arg(home.join("sshd_config"));
    let libraries = fs::read_dir(unpacked.join("usr/lib")).expect("its libraries");
    let libraries: Vec<String> = libraries
        .map(|entry| entry.expect("an entry").path().display().to_string())
        .collect();
    server.env("LD_LIBRARY_PATH", libraries.join(":"));
    if is_root {
        let users = format!(
            "root:x:0:0:root:/root:/bin/sh\nsshd:x:{SSHD}:{SSHD}::/run/sshd:/usr/sbin/nologin\n\
             guest:x:{GUEST}:{GUEST}::{}:/bin/sh\n",
            home.join("home").display()
        );
        let groups = format!("root:x:0:\nsshd:x:{SSHD}:\nguest:x:{GUEST}:\n");
        fs::write(home.join("passwd"), users).expect("written");
        fs::write(home.join("group"), groups).expect("written");
        server.env("LD_PRELOAD", "libnss_wrapper.so");
        server.env("NSS_WRAPPER_PASSWD", home.join("passwd"));
        server.env("NSS_WRAPPER_GROUP", home.join("group"));
    }
    let log = fs::File::create(home.join("log")).expect("a log");
    server
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    server.spawn().expect("sshd starts")
}

/// A command on a host of this name.
fn named(host: Option<&str>, program: impl AsRef<OsStr>) -> Command {
    let Some(host) = host else {
        return Command::new(program);
    };
    let mut command = Command::new("unshare");
    let script = "hostname \"$1\" && shift && exec \"$@\"";
    command.args(["--uts", "sh", "-c", script, "sh", host]);
    command.arg(program);
    command
}

/// Where `cargo xtask setup` unpacked the server, and where newer versions find their parts.
fn unpacked() -> (PathBuf, String) {
    let home = paths::root().join("target/tools/sshd");
    assert!(
        home.join("usr/sbin/sshd").exists(),
        "{} has no sshd: run cargo xtask test, which unpacks it",
        home.display()
    );
    let parts = [
        ("SshdSessionPath", "usr/lib/openssh/sshd-session"),
        ("SshdAuthPath", "usr/lib/openssh/sshd-auth"),
    ];
    let there = parts.iter().filter(|(_, path)| home.join(path).exists());
    let lines = there.map(|(word, path)| format!("{word} {}\n", home.join(path).display()));
    let lines = lines.collect();
    (home, lines)
}

fn children_of(parent: u32) -> Vec<i32> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}
