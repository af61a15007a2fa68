//! Questions that have ranks looked into cost these something: few of them a second.

use super::{Service, caller};
use crate::auth::tokens::{Scope, TokenId};
use crate::limits;
use std::sync::PoisonError;
use std::time::Instant;
use tonic::{Request, Status};

impl Service {
    /// Counts a question for which supervisors look into their ranks. One that comes a little too
    /// early waits: whoever asks again and again, one question after the other, is only slowed.
    pub(super) async fn walk<T>(&self, request: &Request<T>) -> Result<(), Status> {
        let caller = caller(request)?;
        if caller.scope == Scope::Control {
            return Ok(());
        }
        let is_guest = matches!(caller.token, TokenId::Guest(_));
        let take = || {
            let mut walks = self.walks.lock().unwrap_or_else(PoisonError::into_inner);
            walks.take(is_guest, Instant::now())
        };
        let Err(wait) = take() else {
            return Ok(());
        };
        tokio::time::sleep(wait).await;
        take().map_err(|wait| {
            Status::resource_exhausted(format!(
                "{} questions a second about what ranks do at this moment are answered with a view \
                 token: ask again in {} ms",
                limits::WALKS_PER_SECOND,
                wait.as_millis() + 1
            ))
        })
    }
}
