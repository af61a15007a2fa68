//! Questions to the root under way: an equal one waits for the same answer.
//!
//! So however many clients ask the same at once, the tree answers once. An answer that was asked
//! for before a command was done is not given to those who ask after it. Different ones are
//! bounded, in all and by token.

use super::request::{LinkError, Reply, ReplyReceiver, received, within};
use crate::auth::tokens::{Scope, TokenId};
use crate::limits;
use crate::limits::shares::{Share, Shares};
use invivo_proto::control::tree::Query;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// The answer to a question; `None` while it is under way.
type Outcome = Option<Result<Arc<Reply>, LinkError>>;
type UnderWay = Vec<(Query, watch::Receiver<Outcome>)>;

/// The questions under way.
#[derive(Debug)]
pub(super) struct Questions {
    /// Those whose answers may be shared.
    under_way: Mutex<UnderWay>,
    free: Arc<Semaphore>,
    others: Shares<()>,
    guests: Shares<u64>,
}

/// A place among the questions under way, given back when this is dropped.
struct Place {
    _free: OwnedSemaphorePermit,
    _of_others: Option<Share<()>>,
    _of_guest: Option<Share<u64>>,
}

impl Default for Questions {
    fn default() -> Questions {
        Questions {
            under_way: Mutex::default(),
            free: Arc::new(Semaphore::new(limits::QUESTIONS_MAX)),
            others: Shares::new(limits::QUESTIONS_OF_OTHERS_MAX),
            guests: Shares::new(limits::QUESTIONS_PER_GUEST_MAX),
        }
    }
}

impl Questions {
    fn under_way(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a question of the gateway's own, or of a call with this token.
    fn place(&self, token: Option<TokenId>) -> Result<Place, LinkError> {
        let is_other = token.is_some_and(|token| token != TokenId::Own(Scope::Control));
        let guest = match token {
            Some(TokenId::Guest(guest)) => Some(guest),
            _ => None,
        };
        let full = |most| move || LinkError::BusyToken(most);
        let of_guest = guest.map(|guest| {
            let share = self.guests.take(guest, 1);
            share.ok_or_else(full(limits::QUESTIONS_PER_GUEST_MAX))
        });
        let of_others = is_other.then(|| {
            let share = self.others.take((), 1);
            share.ok_or_else(full(limits::QUESTIONS_OF_OTHERS_MAX))
        });
        let free = Arc::clone(&self.free).try_acquire_owned();
        Ok(Place {
            _of_guest: of_guest.transpose()?,
            _of_others: of_others.transpose()?,
            _free: free.map_err(|_| LinkError::Busy(limits::QUESTIONS_MAX))?,
        })
    }

    /// The answer to a question: of an equal one under way, or of one that `send` asks for a call
    /// with this token.
    ///
    /// # Errors
    /// If too many different ones are under way, `send` fails, or the root does not answer.
    pub(super) async fn join_or_ask(
        &self,
        query: Query,
        token: Option<TokenId>,
        send: impl FnOnce() -> Result<ReplyReceiver, LinkError>,
    ) -> Result<Arc<Reply>, LinkError> {
        let mut outcome = self.begin(query, token, send)?;
        // The task with the other end always sends an outcome.
        let answered = outcome.wait_for(Option::is_some).await;
        let answered = answered.ok().and_then(|outcome| outcome.clone());
        answered.unwrap_or_else(|| Err(LinkError::Disconnected("the gateway is ending".into())))
    }

    fn begin(
        &self,
        query: Query,
        token: Option<TokenId>,
        send: impl FnOnce() -> Result<ReplyReceiver, LinkError>,
    ) -> Result<watch::Receiver<Outcome>, LinkError> {
        // Held throughout: two equal questions at once must not become two.
        let mut under_way = self.under_way();
        under_way.retain(|(_, outcome)| outcome.borrow().is_none());
        if let Some((_, outcome)) = under_way.iter().find(|(asked, _)| *asked == query) {
            return Ok(outcome.clone());
        }

        let place = self.place(token)?;
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
