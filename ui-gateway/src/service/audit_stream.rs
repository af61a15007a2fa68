//! Streams the entries of the audit log to the call Audit.

use crate::audit::Audit;
use crate::audit::ring::Reader;
use crate::auth::tokens::TokenId;
use crate::limits;
use crate::limits::shares::Shares;
use futures_util::Stream;
use invivo_grpc::v1;
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};
use tonic::Status;

/// Opens streams, up to [`limits::FOLLOWERS_MAX`] at once; clones share the limit.
#[derive(Clone)]
pub struct AuditStreams {
    audit: Audit,
    free: Arc<Semaphore>,
    by_token: Shares<TokenId>,
}

impl AuditStreams {
    pub fn new(audit: Audit) -> AuditStreams {
        AuditStreams {
            audit,
            free: Arc::new(Semaphore::new(limits::FOLLOWERS_MAX)),
            by_token: Shares::new(limits::FOLLOWERS_PER_TOKEN_MAX),
        }
    }

    /// The kept entries, then, with `follow`, each new or changed one until `closing` becomes true.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` if too many clients read the log.
    pub fn open(
        &self,
        follow: bool,
        token: TokenId,
        closing: watch::Receiver<bool>,
    ) -> Result<impl Stream<Item = Result<v1::AuditEntry, Status>> + use<>, Status> {
        let full = |most: usize| {
            Status::resource_exhausted(format!(
                "{most} clients read the audit log already: end one of them"
            ))
        };

        let of_token = self.by_token.take(token, 1);
        let of_token = of_token.ok_or_else(|| full(limits::FOLLOWERS_PER_TOKEN_MAX))?;
        let of_all = Arc::clone(&self.free).try_acquire_owned();
        let permit = (of_all.map_err(|_| full(limits::FOLLOWERS_MAX))?, of_token);
        let ring = self.audit.ring();
        let reader = Reader::begin(&ring.borrow());
        let begun = (reader, ring, closing, permit);
        // The permit is part of the stream's state: it is returned when the client goes away.
        Ok(futures_util::stream::unfold(
            begun,
            move |mut state| async move {
                let (reader, ring, closing, _) = &mut state;
                loop {
                    // The borrow marks the ring as seen: a change from here on wakes `changed`
                    // below.
                    let entry = reader.next(&ring.borrow_and_update());
                    if let Some(entry) = entry {
                        return Some((Ok(entry), state));
                    }
                    if !follow {
                        return None;
                    }
                    // An error means that the gateway is gone: closing as well.
                    tokio::select! {
                        _ = closing.wait_for(|closing| *closing) => return None,
                        changed = ring.changed() => changed.ok()?,
                    }
                }
            },
        ))
    }
}
