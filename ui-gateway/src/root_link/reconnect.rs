//! Keeps the link to the root connected: connects again with growing pauses, and refuses requests
//! meanwhile.

use super::connection;
use super::request::{LinkError, PendingRequest, RootState};
use crate::limits;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// Connects and exchanges messages, over and over, until all handles on the link are dropped.
pub(super) async fn keep_connected(
    path: PathBuf,
    mut requests: mpsc::Receiver<PendingRequest>,
    state: watch::Sender<RootState>,
) {
    let mut backoff = limits::BACKOFF_MIN;
    let mut logged = String::new();
    loop {
        let lost = connection::exchange_until_lost(&path, &mut requests, &state).await;
        // A connection that has worked resets the pause; one that failed at once makes it grow.
        if matches!(*state.borrow(), RootState::Connected(_)) {
            backoff = limits::BACKOFF_MIN;
        }

        // One line per reason: a root that is away for long must not fill the log.
        if lost.why != logged {
            tracing::info!(why = lost.why, "the root is not connected");
            logged.clone_from(&lost.why);
        }

        let why: Arc<str> = lost.why.into();
        state.send_replace(RootState::Disconnected(why.clone()));
        if lost.unused || !refuse_until(Instant::now() + backoff, &mut requests, &why).await {
            return;
        }

        backoff = (backoff * 2).min(limits::BACKOFF_MAX);
    }
}

/// Refuses requests until `deadline`; false if all handles on the link are dropped.
async fn refuse_until(
    deadline: Instant,
    requests: &mut mpsc::Receiver<PendingRequest>,
    why: &Arc<str>,
) -> bool {
    loop {
        tokio::select! {
            // `sleep_until` in a loop: refused requests do not extend the pause.
            () = tokio::time::sleep_until(deadline) => return true,
            pending = requests.recv() => match pending {
                // The caller may have given up already.
                Some(pending) => {
                    drop(pending.reply.send(Err(LinkError::Disconnected(why.clone()))));
                }
                None => return false,
            },
        }
    }
}
