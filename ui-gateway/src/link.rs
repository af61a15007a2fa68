//! The link to the root: one Unix stream socket, several requests at once told apart by their ids,
//! connected again with growing pauses whenever it breaks. While the root is away every request is
//! answered at once.

mod connection;

use crate::limits;
use invivo_proto::control::link::{Answer, Ask, JobDescription};
use invivo_proto::ids::WorldRank;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

/// Whether the root is there.
#[derive(Clone, Debug)]
pub enum Root {
    /// It is not, and why.
    Away(Arc<str>),
    /// It is, and has said which job this is.
    Here(Arc<JobDescription>),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// No root.
    #[error(
        "the root of the measurement is not connected ({0}): it is starting, ending, or lost; the application is \
         not affected; try again in a moment, and look at `invivo list`"
    )]
    Away(Arc<str>),
    /// It does not answer.
    #[error(
        "the root of the measurement has not answered within {0:?}; the application is not affected; try again"
    )]
    TimedOut(Duration),
    /// Too much is asked at once.
    #[error(
        "{0} requests to the root wait for an answer already; ask again when some are answered"
    )]
    Busy(usize),
    /// It says no.
    #[error("{0}")]
    Refused(String),
    /// It answers something else than was asked: a fault of ours.
    #[error(
        "the root of the measurement answered another question than was asked; please report this"
    )]
    Mismatched,
}

/// What the root answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The answer, never a refusal.
    pub answer: Answer,
    /// Tool processes that did not answer it, some of them.
    pub missing: Vec<WorldRank>,
}

/// A request on its way to the root.
struct Asked {
    ask: Ask,
    reply: oneshot::Sender<Result<Reply, LinkError>>,
}

/// A handle on the link; clones share it. The link ends when the last one is dropped.
#[derive(Clone, Debug)]
pub struct Link {
    asked: mpsc::Sender<Asked>,
    root: watch::Receiver<Root>,
}

impl Link {
    /// Starts to connect to the socket at `path`.
    pub fn open(path: PathBuf) -> Link {
        let (asked, requests) = mpsc::channel(limits::PENDING_REQUESTS_MAX);
        let (state, root) = watch::channel(Root::Away("not connected yet".into()));
        tokio::spawn(keep_connected(path, requests, state));
        Link { asked, root }
    }

    /// Whether the root is there, now and later.
    pub fn root(&self) -> watch::Receiver<Root> {
        self.root.clone()
    }

    /// Asks the root and waits for the answer, at most `time_max`.
    ///
    /// # Errors
    /// Why there is none, as a sentence for the user.
    pub async fn ask(&self, ask: Ask, time_max: Duration) -> Result<Reply, LinkError> {
        let (reply, answer) = oneshot::channel();
        self.asked
            .try_send(Asked { ask, reply })
            .map_err(|_| LinkError::Busy(limits::PENDING_REQUESTS_MAX))?;
        match tokio::time::timeout(time_max, answer).await {
            Err(_) => Err(LinkError::TimedOut(time_max)),
            Ok(Err(_)) => Err(LinkError::Away("the gateway is ending".into())),
            Ok(Ok(Ok(Reply {
                answer: Answer::Refused(why),
                ..
            }))) => Err(LinkError::Refused(why)),
            Ok(Ok(reply)) => reply,
        }
    }
}

/// Connects, talks until the connection breaks, waits, and so on until nobody can ask any more.
async fn keep_connected(
    path: PathBuf,
    mut requests: mpsc::Receiver<Asked>,
    state: watch::Sender<Root>,
) {
    let mut backoff = limits::BACKOFF_MIN;
    let mut told = String::new();
    loop {
        let broken = connection::talk(&path, &mut requests, &state).await;
        if matches!(*state.borrow(), Root::Here(_)) {
            backoff = limits::BACKOFF_MIN;
        }
        if broken.why != told {
            tracing::info!(why = broken.why, "the root is not connected");
            told.clone_from(&broken.why);
        }
        let why: Arc<str> = broken.why.into();
        state.send_replace(Root::Away(why.clone()));
        if broken.nobody_asks || !refuse_until(Instant::now() + backoff, &mut requests, &why).await
        {
            return;
        }
        backoff = (backoff * 2).min(limits::BACKOFF_MAX);
    }
}

/// Answers requests with "away" until `deadline`; false when nobody can ask any more.
async fn refuse_until(
    deadline: Instant,
    requests: &mut mpsc::Receiver<Asked>,
    why: &Arc<str>,
) -> bool {
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(deadline) => return true,
            asked = requests.recv() => match asked {
                // Who asked may have left already.
                Some(asked) => drop(asked.reply.send(Err(LinkError::Away(why.clone())))),
                None => return false,
            },
        }
    }
}
