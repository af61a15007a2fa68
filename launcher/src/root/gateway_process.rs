//! Keeps the gateway running: it is outside of MPI, may die without harm, and is started again.

use crate::process::child::{self, Ended, Inheritance};
use crate::tool::command::tool;
use invivo_jobdir::Connect;
use nix::sys::signal::SigSet;
use rustix::process::{Pid, Signal};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Between an end and the next start: doubled from the first to the second, so that a gateway that
/// cannot start costs nothing worth mentioning.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(10));
/// One that lived this long did not fail to start: the next pause is the shortest again.
const HEALTHY: Duration = Duration::from_secs(10);
/// How long it may take to close its connections when the job ends.
const FAREWELL: Duration = Duration::from_millis(300);
/// How long it may take until it listens on TCP, or is known not to: names have to be resolved.
const LISTENS: Duration = Duration::from_secs(30);
/// Between two looks for that.
const LISTENS_POLL: Duration = Duration::from_millis(200);

/// A gateway's command line and surroundings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The binary.
    pub program: PathBuf,
    /// Where it listens for clients.
    pub socket: PathBuf,
    /// Where the root listens for it.
    pub link: PathBuf,
    /// The file with address and tokens.
    pub connect: PathBuf,
    /// Where it also listens, with TLS on TCP.
    pub listen: Option<String>,
    /// The file for its standard output and standard error.
    pub log: PathBuf,
    /// Its signal mask.
    pub mask: SigSet,
}

/// A gateway that is kept running.
#[derive(Debug)]
pub struct Gateway {
    settings: Settings,
    state: State,
    failures: u32,
    /// It was asked to listen on TCP, and until then it is awaited whether it does.
    listens_by: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Running { pid: Pid, since: Instant },
    Waiting { until: Instant },
}

impl Gateway {
    /// Starts it.
    pub fn start(settings: Settings) -> Gateway {
        let is_to_listen = settings.listen.is_some();
        let mut gateway = Gateway {
            settings,
            state: State::Waiting {
                until: Instant::now(),
            },
            failures: 0,
            listens_by: is_to_listen.then(|| Instant::now() + LISTENS),
        };
        gateway.poll();
        gateway
    }

    /// When it has to be polled even if no signal comes.
    pub fn due(&self) -> Option<Instant> {
        let start = match self.state {
            State::Running { .. } => None,
            State::Waiting { until } => Some(until),
        };
        let look = self.listens_by.map(|_| Instant::now() + LISTENS_POLL);
        start.into_iter().chain(look).min()
    }

    /// Why it does not listen on TCP although it was asked to: said once.
    pub fn trouble(&mut self) -> Option<String> {
        let until = self.listens_by?;
        let connect = Connect::read(&self.settings.connect).ok();
        let is_settled = |connect: &Connect| connect.url.is_some() || connect.tls_trouble.is_some();
        if !connect.as_ref().is_some_and(is_settled) && Instant::now() < until {
            return None;
        }
        self.listens_by = None;
        connect.filter(|connect| connect.url.is_none()).map(|connect| {
            let address = self.settings.listen.as_deref().unwrap_or_default();
            let why = connect.tls_trouble.as_deref().unwrap_or("nobody knows why");
            format!(
                "the job does not listen on {address} ({why}); it can be reached on this host only"
            )
        })
    }

    /// Starts it again when it has ended and its pause is over.
    pub fn poll(&mut self) {
        match self.state {
            State::Running { pid, since } => {
                if child::ended(pid).is_some() {
                    self.wait_a_while(since.elapsed());
                }
            }
            State::Waiting { until } if Instant::now() >= until => match self.launch() {
                Ok(pid) => {
                    self.state = State::Running {
                        pid,
                        since: Instant::now(),
                    }
                }
                // Out of processes or memory, or the file is gone: that may pass.
                Err(_) => self.wait_a_while(Duration::ZERO),
            },
            State::Waiting { .. } => {}
        }
    }

    fn wait_a_while(&mut self, lived: Duration) {
        self.failures = if lived >= HEALTHY {
            0
        } else {
            self.failures.saturating_add(1)
        };
        self.state = State::Waiting {
            until: Instant::now() + pause(self.failures),
        };
    }

    fn launch(&self) -> std::io::Result<Pid> {
        let Settings {
            program,
            socket,
            link,
            connect,
            listen,
            log,
            mask,
        } = &self.settings;
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(log)?;
        let mut command = Command::new(program);
        command
            .arg("--socket")
            .arg(socket)
            .arg("--link")
            .arg(link)
            .arg("--connect")
            .arg(connect);
        if let Some(address) = listen {
            command.arg("--listen").arg(address);
        }
        tool(&mut command)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        // The launcher's descriptors are not its own: a gateway must not keep MPI's sockets open.
        child::start(
            command,
            Inheritance {
                mask: *mask,
                descriptors: &[],
                nothing_else: true,
            },
        )
    }

    /// Ends it.
    pub fn stop(self) {
        let State::Running { pid, .. } = self.state else {
            return;
        };
        let until = Instant::now() + FAREWELL;
        // It may have ended already; its number is still its own, because it was not waited for.
        let _ = rustix::process::kill_process(pid, Signal::TERM);
        while child::ended(pid).is_none() {
            if Instant::now() >= until {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The pause after a number of failures.
fn pause(failures: u32) -> Duration {
    let (shortest, longest) = PAUSES;
    shortest
        .saturating_mul(1 << failures.saturating_sub(1).min(16))
        .min(longest)
}

/// How a tool process ended, for a sentence.
pub fn how(ended: Ended) -> String {
    match ended {
        Ended::Code(code) => format!("with exit code {code}"),
        Ended::Signal(number) => match nix::sys::signal::Signal::try_from(number) {
            Ok(signal) => format!("by {signal}"),
            Err(_) => format!("by signal {number}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn pauses_grow_to_a_limit() {
        assert_eq!(pause(0), PAUSES.0);
        assert_eq!(pause(1), PAUSES.0);
        assert_eq!(pause(2), PAUSES.0 * 2);
        assert!((1..40).all(|n| pause(n) <= pause(n + 1) && pause(n) <= PAUSES.1));
        assert_eq!(pause(u32::MAX), PAUSES.1);
    }

    /// A gateway that dies comes back and one that is stopped does not.
    #[test]
    fn a_dead_gateway_restarts_and_a_stopped_one_stays() {
        let dir = tempfile::tempdir().expect("directory");
        let path = |name: &str| dir.path().join(name);
        std::fs::write(
            path("gateway"),
            "#!/bin/sh\necho \"$$ $*\" >> \"$2\"\nexec sleep 30\n",
        )
        .expect("written");
        std::fs::set_permissions(path("gateway"), std::fs::Permissions::from_mode(0o755))
            .expect("mode set");
        let settings = Settings {
            program: path("gateway"),
            socket: path("started"),
            link: path("link"),
            connect: path("connect.json"),
            listen: Some("localhost:0".to_owned()),
            log: path("gateway.log"),
            mask: SigSet::empty(),
        };
        let mut gateway = Gateway::start(settings);
        let starts = || std::fs::read_to_string(path("started")).unwrap_or_default();
        let until = |what: &dyn Fn(&str) -> bool, gateway: &mut Gateway| {
            for _ in 0..500 {
                gateway.poll();
                if what(&starts()) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            panic!("still: {:?}", starts());
        };
        until(&|starts| starts.lines().count() == 1, &mut gateway);
        assert!(starts().contains("--link") && starts().contains("connect.json"));
        assert!(starts().contains("--listen localhost:0"));
        let State::Running { pid: first, .. } = gateway.state else {
            panic!("it runs")
        };
        rustix::process::kill_process(first, Signal::KILL).expect("killed");
        until(&|starts| starts.lines().count() == 2, &mut gateway);
        let State::Running { pid: second, .. } = gateway.state else {
            panic!("it runs")
        };
        assert_ne!(first, second);
        gateway.stop();
        assert!(
            rustix::process::test_kill_process(second).is_err(),
            "ended and waited for"
        );
    }
}
