//! Streams the entries of the audit log to the call Audit.

use crate::audit::Audit;
use crate::audit::ring::Reader;
use crate::limits;
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
}

impl AuditStreams {
    pub fn new(audit: Audit) -> AuditStreams {
        AuditStreams {
            audit,
            free: Arc::new(Semaphore::new(limits::FOLLOWERS_MAX)),
        }
    }

    /// The kept entries, then, with `follow`, each new or changed one until `closing` becomes true.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` if too many clients read the log.
    pub fn open(
        &self,
        follow: bool,
        closing: watch::Receiver<bool>,
    ) -> Result<impl Stream<Item = Result<v1::AuditEntry, Status>> + use<>, Status> {
        let full = |_| {
            Status::resource_exhausted(format!(
                "{} clients read the audit log already: end one of them",
                limits::FOLLOWERS_MAX
            ))
        };

        let permit = Arc::clone(&self.free).try_acquire_owned().map_err(full)?;
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
