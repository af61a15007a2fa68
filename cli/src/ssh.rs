//! The way to a job behind a login node: `ssh` starts `invivo bridge` there, and what goes through
//! its standard input and output is the connection to the gateway.
//!
//! Nothing listens, no port is forwarded, and no file is copied: the first line that the bridge
//! prints is the job's `connect.json`, with its tokens. The far end of the connection is a process
//! of the job's own user, which is what the gateway asks of a peer. When the connection breaks, the
//! next call starts another one.
//!
//! ```text
//! greeting             the line that a bridge begins with
//! login                which host, which program there, and the command line of ssh
//! pipes <- greeting, login      one bridge, from the near side
//! ```

pub mod greeting;
pub mod login;
mod pipes;

use greeting::Greeting;
use hyper_util::rt::TokioIo;
use invivo_jobdir::Connect;
use login::Login;
use pipes::Pipes;
use std::fmt::{self, Display};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use tonic::transport::{Channel, Endpoint, Uri};

/// A job behind a login.
#[derive(Debug)]
pub struct Far {
    login: Login,
    job: String,
    /// The bridge that found the job: the first connection.
    first: Mutex<Option<Pipes>>,
}

/// What is known of a job behind a login.
#[derive(Debug)]
pub enum Look {
    /// It runs.
    Job(Box<Connect>),
    /// The far side says that there is no such job.
    Refused,
    /// The login failed.
    Unknown,
}

impl Far {
    /// Finds a job behind a login: the one that is named, or the only one. This is the connection
    /// at which `ssh` may ask for a password.
    ///
    /// # Errors
    /// When `ssh` fails, or there is no such job there.
    pub fn find(login: Login, job: Option<&str>) -> anyhow::Result<(Connect, Far)> {
        let (greeting, pipes) = Pipes::open(&login, job, login::May::Ask)?;
        match greeting {
            Greeting::Refused(why) => anyhow::bail!("on {login}: {why}"),
            Greeting::Job(connect) => {
                let far = Far {
                    login,
                    job: connect.job.clone(),
                    first: Mutex::new(Some(pipes)),
                };
                Ok((*connect, far))
            }
        }
    }

    /// Asks the far side once more for the job.
    pub async fn look(&self, job: &str) -> Look {
        match self.open(job).await {
            Ok((Greeting::Job(connect), _)) => Look::Job(connect),
            Ok((Greeting::Refused(_), _)) => Look::Refused,
            Err(_) => Look::Unknown,
        }
    }

    /// A channel through bridges.
    pub fn channel(self: Arc<Self>) -> Channel {
        let connector = tower::service_fn(move |_: Uri| {
            let far = Arc::clone(&self);
            async move { far.stream().await.map(TokioIo::new) }
        });
        // The address only fills the authority of the calls: the connector knows the way.
        Endpoint::from_static("http://localhost").connect_with_connector_lazy(connector)
    }

    async fn stream(&self) -> io::Result<pipes::Stream> {
        let first = self
            .first
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(pipes) = first {
            return pipes.stream();
        }
        match self.open(&self.job).await? {
            (Greeting::Job(_), pipes) => pipes.stream(),
            (Greeting::Refused(why), _) => Err(io::Error::new(io::ErrorKind::NotFound, why)),
        }
    }

    /// Another bridge; nobody is asked for a password, as a screen may be shown.
    async fn open(&self, job: &str) -> io::Result<(Greeting, Pipes)> {
        let (login, job) = (self.login.clone(), job.to_owned());
        let opened = tokio::task::spawn_blocking(move || {
            Pipes::open(&login, Some(&job), login::May::NotAsk)
        });
        opened.await.map_err(io::Error::other)?
    }
}

impl Display for Far {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.login.fmt(f)
    }
}
