//! Questions to the root under way: an equal one waits for the same answer.
//!
//! So however many clients ask the same at once, the tree answers once. An answer that was asked
//! for before a command was done is not given to those who ask after it.

use super::request::{LinkError, Reply, ReplyReceiver, received, within};
use crate::limits;
use invivo_proto::control::tree::Query;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Semaphore, watch};

/// The answer to a question; `None` while it is under way.
type Outcome = Option<Result<Arc<Reply>, LinkError>>;
type UnderWay = Vec<(Query, watch::Receiver<Outcome>)>;

/// The questions under way.
#[derive(Debug)]
pub(super) struct Questions {
    /// Those whose answers may be shared.
    under_way: Mutex<UnderWay>,
    free: Arc<Semaphore>,
}

impl Default for Questions {
    fn default() -> Questions {
        Questions {
            under_way: Mutex::default(),
            free: Arc::new(Semaphore::new(limits::QUESTIONS_MAX)),
        }
    }
}

impl Questions {
    fn under_way(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer to a question: of an equal one under way, or of one that `send` asks.
    ///
    /// # Errors
    /// If too many different ones are under way, `send` fails, or the root does not answer.
    pub(super) async fn join_or_ask(
        &self,
        query: Query,
        send: impl FnOnce() -> Result<ReplyReceiver, LinkError>,
    ) -> Result<Arc<Reply>, LinkError> {
        let mut outcome = self.begin(query, send)?;
        // The task with the other end always sends an outcome.
        let answered = outcome.wait_for(Option::is_some).await;
        let answered = answered.ok().and_then(|outcome| outcome.clone());
        answered.unwrap_or_else(|| Err(LinkError::Disconnected("the gateway is ending".into())))
    }

    fn begin(
        &self,
        query: Query,
        send: impl FnOnce() -> Result<ReplyReceiver, LinkError>,
    ) -> Result<watch::Receiver<Outcome>, LinkError> {
        // Held throughout: two equal questions at once must not become two.
        let mut under_way = self.under_way();
        under_way.retain(|(_, outcome)| outcome.borrow().is_none());
        if let Some((_, outcome)) = under_way.iter().find(|(asked, _)| *asked == query) {
            return Ok(outcome.clone());
        }

        let place = Arc::clone(&self.free)
            .try_acquire_owned()
            .map_err(|_| LinkError::Busy(limits::QUESTIONS_MAX))?;
        let reply = send()?;
        let (sender, outcome) = watch::channel(None);
        // A task of its own: a client that gives up at once and asks again must not have the root
        // answer both.
        tokio::spawn(async move {
            let answer = within(limits::QUERY_TIME_MAX, received(reply)).await;
            sender.send_replace(Some(answer));
            drop(place);
        });
        under_way.push((query, outcome.clone()));
        Ok(outcome)
    }

    /// Lets nobody join what is under way now.
    pub(super) fn forget(&self) {
        self.under_way().clear();
    }
}
