//! The link to the root: one Unix stream socket for several requests at once, told apart by their
//! ids.
//!
//! It is connected again whenever it breaks. While the root is not connected, every request is
//! refused at once. Equal questions at once are one question to the root.

mod connection;
mod questions;
mod reconnect;
pub mod request;

use crate::auth::tokens::TokenId;
use crate::limits;
use invivo_proto::control::link::Ask;
use invivo_proto::control::tree::Query;
use questions::Questions;
use reconnect::keep_connected;
use request::{LinkError, PendingRequest, Reply, ReplyReceiver, RootState, received, within};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};

/// A handle on the link; clones share it. The link ends when the last one is dropped.
#[derive(Clone, Debug)]
pub struct RootLink {
    requests: mpsc::Sender<PendingRequest>,
    root: watch::Receiver<RootState>,
    questions: Arc<Questions>,
}

impl RootLink {
    /// Starts to connect to the socket at `path`.
    pub fn open(path: PathBuf) -> RootLink {
        let (requests, received) = mpsc::channel(limits::PENDING_REQUESTS_MAX);

        let (state, root) = watch::channel(RootState::Disconnected("not connected yet".into()));
        tokio::spawn(keep_connected(path, received, state));
        RootLink {
            requests,
            root,
            questions: Arc::default(),
        }
    }

    /// Whether the root is connected, now and later.
    pub fn root(&self) -> watch::Receiver<RootState> {
        self.root.clone()
    }

    /// Asks a question for a call with this token.
    ///
    /// # Errors
    /// As [`RootLink::ask`]; and when too many of those with the token wait.
    pub async fn ask_for(&self, token: TokenId, query: Query) -> Result<Arc<Reply>, LinkError> {
        let send = || self.send(Ask::Query(query));
        let answer = self.questions.join_or_ask(query, Some(token), send);
        within(limits::QUERY_TIME_MAX, answer).await
    }

    /// Sends a request of the gateway's own and waits for the answer, at most `time_max`.
    ///
    /// # Errors
    /// The reason why there is no answer, as a sentence for the user.
    pub async fn ask(&self, ask: Ask, time_max: Duration) -> Result<Arc<Reply>, LinkError> {
        match ask {
            Ask::Query(query) => {
                let send = || self.send(Ask::Query(query));
                within(time_max, self.questions.join_or_ask(query, None, send)).await
            }
            Ask::Job | Ask::Command { .. } => {
                let answer = self.send(ask)?;
                let reply = within(time_max, received(answer)).await;
                // Whoever asks after a command is to see what it did.
                self.questions.forget();
                reply
            }
        }
    }

    fn send(&self, ask: Ask) -> Result<ReplyReceiver, LinkError> {
        let (reply, answer) = oneshot::channel();
        // Not `send`: a call must not wait in a queue behind a root that does not read.
        self.requests
            .try_send(PendingRequest { ask, reply })
            .map_err(|_| LinkError::Busy(limits::PENDING_REQUESTS_MAX))?;
        Ok(answer)
    }
}
