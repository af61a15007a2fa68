//! A running job as a command has found it, and the way to its gateway: the socket of this host,
//! TLS from another, or `ssh` where `--on` names a login.

use crate::ssh::{Far, Look};
use invivo_grpc::channel::Way;
use invivo_jobdir::{Connect, Liveness};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tonic::transport::Channel;

/// A job, and how it was found.
#[derive(Clone, Debug)]
pub struct Job {
    /// How it is reached.
    pub connect: Connect,
    reach: Reach,
}

#[derive(Clone, Debug)]
enum Reach {
    /// By a `connect.json` on this host, which is gone when the job is.
    File(PathBuf),
    Ssh(Arc<Far>),
}

impl Deref for Job {
    type Target = Connect;

    fn deref(&self) -> &Connect {
        &self.connect
    }
}

impl Job {
    /// The job of a `connect.json`.
    pub fn of_file(connect: Connect, path: PathBuf) -> Job {
        Job {
            connect,
            reach: Reach::File(path),
        }
    }

    /// A job behind a login.
    pub fn of_far(connect: Connect, far: Far) -> Job {
        Job {
            connect,
            reach: Reach::Ssh(Arc::new(far)),
        }
    }

    /// Whether the job is over, or its measurement was shut down: its `connect.json` is gone, or
    /// another job's, or its supervisor is gone. Of a copy from another host the latter cannot be
    /// seen; behind a login it is looked for there, and a login that fails says nothing.
    pub async fn has_ended(&self) -> bool {
        match &self.reach {
            Reach::File(path) => {
                self.liveness() == Liveness::Stale
                    || !Connect::read(path).is_ok_and(|other| self.is_same(&other))
            }
            Reach::Ssh(far) => match far.look(&self.connect.job).await {
                Look::Job(other) => !self.is_same(&other),
                Look::Refused => true,
                Look::Unknown => false,
            },
        }
    }

    /// By its token too: a later job may have the same id.
    fn is_same(&self, other: &Connect) -> bool {
        (&other.job, &other.view) == (&self.connect.job, &self.connect.view)
    }

    /// How often [`has_ended`](Self::has_ended) may be asked by whoever waits for the end.
    pub fn look_interval(&self) -> Duration {
        match self.reach {
            Reach::File(_) => Duration::from_millis(100),
            // Each look is a login.
            Reach::Ssh(_) => Duration::from_secs(5),
        }
    }

    /// A channel to the gateway, which connects with its first call, and again after the connection
    /// has broken.
    ///
    /// # Errors
    /// When `connect.json` holds what cannot be an address.
    pub fn channel(&self) -> anyhow::Result<Channel> {
        match &self.reach {
            Reach::File(_) => Ok(Way::to(&self.connect).channel()?),
            Reach::Ssh(far) => Ok(Arc::clone(far).channel()),
        }
    }

    /// Where the gateway is, and what to do when it does not answer there.
    pub fn way(&self) -> (String, &'static str) {
        if let Reach::Ssh(far) = &self.reach {
            let next = "see whether the job still runs: invivo list --on, and the same host";
            return (far.to_string(), next);
        }
        let way = Way::to(&self.connect);
        let next = match way {
            Way::Unix(_) => "see whether the job still runs: invivo list",
            Way::Tls { .. } => {
                "see on its host whether the job still runs (invivo list), and copy its \
                 connect.json again: a gateway \
                 that was started anew has another certificate"
            }
        };
        (way.to_string(), next)
    }
}
