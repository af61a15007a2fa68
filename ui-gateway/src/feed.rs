//! Snapshots for all watchers: one poller asks the root at the pace of the fastest watcher, once
//! for all, and keeps the newest snapshot only. A watcher takes the newest when it is ready for
//! one, so that a slow client skips and never queues.

use crate::limits;
use crate::link::{Link, LinkError};
use futures_util::Stream;
use invivo_grpc::convert;
use invivo_grpc::v1;
use invivo_proto::control::link::{Answer, Ask};
use invivo_proto::control::tree::Query;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;
use tokio::time::Instant;
use tonic::Status;

/// What a watcher wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Time between two snapshots.
    pub interval: Duration,
    /// With the function table.
    pub functions: bool,
}

impl Wish {
    /// What satisfies both: the shorter interval, and functions if either wants them.
    fn and(self, other: Wish) -> Wish {
        Wish {
            interval: self.interval.min(other.interval),
            functions: self.functions || other.functions,
        }
    }
}

/// The newest snapshot, or why there is none.
#[derive(Clone, Debug)]
struct Newest {
    sequence: u64,
    snapshot: Option<Taken>,
    trouble: Option<Arc<str>>,
}

#[derive(Clone, Debug)]
struct Taken {
    at: Instant,
    functions: bool,
    message: Arc<v1::Snapshot>,
}

/// Watchers by a number of their own, which only counts up.
#[derive(Debug, Default)]
struct Watchers {
    last: u64,
    wishes: BTreeMap<u64, Wish>,
}

/// The feed; clones share it.
#[derive(Clone, Debug)]
pub struct Feed {
    newest: watch::Receiver<Newest>,
    watchers: watch::Sender<Watchers>,
}

impl Feed {
    /// Starts the poller. It rests while nobody watches, and ends with the last handle.
    pub fn start(link: Link) -> Feed {
        let (newest_in, newest) = watch::channel(Newest {
            sequence: 0,
            snapshot: None,
            trouble: None,
        });
        let watchers = watch::Sender::new(Watchers::default());
        tokio::spawn(poll(link, watchers.subscribe(), newest_in));
        Feed { newest, watchers }
    }

    /// A stream of snapshots for one watcher. It ends without an error when `closing` becomes true.
    ///
    /// # Errors
    /// When there are too many watchers.
    pub fn watch(
        &self,
        wish: Wish,
        closing: watch::Receiver<bool>,
    ) -> Result<impl Stream<Item = Result<v1::Snapshot, Status>> + use<>, Status> {
        let place = Place::take(&self.watchers, wish)?;
        // A snapshot taken for another watcher will do as the first one while it is fresh.
        let fresh = self
            .newest
            .borrow()
            .snapshot
            .as_ref()
            .is_some_and(|taken| taken.at.elapsed() < wish.interval);
        let seen = self.newest.borrow().sequence - u64::from(fresh);
        let watcher = Watcher {
            wish,
            seen,
            due: Instant::now(),
            newest: self.newest.clone(),
            closing,
            _place: place,
        };
        Ok(futures_util::stream::unfold(
            Some(watcher),
            |watcher| async {
                let mut watcher = watcher?;
                match watcher.next().await {
                    Some(Ok(snapshot)) => Some((Ok(snapshot), Some(watcher))),
                    // An error is the last item.
                    Some(Err(status)) => Some((Err(status), None)),
                    None => None,
                }
            },
        ))
    }
}

/// A watcher's entry among the wishes, given up when the client is gone.
struct Place {
    id: u64,
    watchers: watch::Sender<Watchers>,
}

impl Place {
    fn take(watchers: &watch::Sender<Watchers>, wish: Wish) -> Result<Place, Status> {
        let mut id = None;
        watchers.send_modify(|all| {
            if all.wishes.len() < limits::WATCHERS_MAX {
                all.last += 1;
                all.wishes.insert(all.last, wish);
                id = Some(all.last);
            }
        });
        let most = limits::WATCHERS_MAX;
        let full = || {
            Status::resource_exhausted(format!(
                "{most} clients watch this job already: end one of them"
            ))
        };
        Ok(Place {
            id: id.ok_or_else(full)?,
            watchers: watchers.clone(),
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.watchers.send_modify(|all| {
            all.wishes.remove(&self.id);
        });
    }
}

struct Watcher {
    wish: Wish,
    /// Sequence number of the last snapshot given.
    seen: u64,
    /// When the next one may be given.
    due: Instant,
    newest: watch::Receiver<Newest>,
    closing: watch::Receiver<bool>,
    _place: Place,
}

impl Watcher {
    async fn next(&mut self) -> Option<Result<v1::Snapshot, Status>> {
        let silence = self.wish.interval + limits::WATCH_SILENCE_MAX;
        let ready = async {
            tokio::time::sleep_until(self.due).await;
            let wanted = |newest: &Newest| {
                newest.sequence > self.seen
                    && newest
                        .snapshot
                        .as_ref()
                        .is_some_and(|taken| taken.functions || !self.wish.functions)
            };
            self.newest
                .wait_for(wanted)
                .await
                .ok()
                .and_then(|newest| newest.snapshot.clone())
        };
        let taken = tokio::select! {
            // An error means that the server is gone: closing as well.
            _ = self.closing.wait_for(|closing| *closing) => return None,
            taken = tokio::time::timeout(silence, ready) => taken,
        };
        let Ok(taken) = taken else {
            let why = self
                .newest
                .borrow()
                .trouble
                .clone()
                .unwrap_or_else(|| "no snapshot came".into());
            return Some(Err(Status::unavailable(why.to_string())));
        };
        let taken = taken?;
        self.seen = taken.message.sequence;
        // On the beat of the snapshots rather than of this client, so that equal intervals do not
        // drift apart; somewhat early, so that a snapshot a little sooner than the interval is not
        // skipped.
        self.due = taken.at + self.wish.interval.mul_f64(0.9);
        let mut message = v1::Snapshot::clone(&taken.message);
        if !self.wish.functions {
            message.functions.clear();
        }
        Some(Ok(message))
    }
}

/// Asks the root at the pace of the fastest watcher; one who is faster or wants more is heard at
/// once.
async fn poll(link: Link, mut watchers: watch::Receiver<Watchers>, newest: watch::Sender<Newest>) {
    let mut sequence = 0;
    let mut last = None::<(Instant, Wish)>;
    loop {
        let wish = watchers
            .borrow_and_update()
            .wishes
            .values()
            .copied()
            .reduce(Wish::and);
        let due = match (wish, last) {
            (Some(wish), Some((begun, had))) if had.functions || !wish.functions => {
                begun + wish.interval
            }
            // The first, or more is wanted than the last one had; nobody's wish is never due.
            _ => Instant::now(),
        };
        let wish = tokio::select! {
            () = tokio::time::sleep_until(due), if wish.is_some() => wish,
            changed = watchers.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
        };
        let Some(wish) = wish else { continue };
        last = Some((Instant::now(), wish));
        match take(&link, wish, sequence + 1).await {
            Ok(taken) => {
                sequence += 1;
                newest.send_replace(Newest {
                    sequence,
                    snapshot: Some(taken),
                    trouble: None,
                });
            }
            Err(error) => {
                newest.send_modify(|newest| newest.trouble = Some(error.to_string().into()))
            }
        }
    }
}

/// One snapshot.
async fn take(link: &Link, wish: Wish, sequence: u64) -> Result<Taken, LinkError> {
    let at = Instant::now();
    let ask = |query| link.ask(Ask::Query(query), limits::QUERY_TIME_MAX);
    let functions = async {
        if wish.functions {
            ask(Query::Functions { rank_rows_max: 0 }).await.map(Some)
        } else {
            Ok(None)
        }
    };
    let (status, functions) = tokio::try_join!(ask(Query::Status), functions)?;
    let Answer::Status(job, coverage) = status.answer else {
        return Err(LinkError::Mismatched);
    };
    let rows = match functions.map(|reply| reply.answer) {
        None => Vec::new(),
        Some(Answer::Functions(table, _)) => convert::function_rows(&table).0,
        Some(_) => return Err(LinkError::Mismatched),
    };
    let unix = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let message = v1::Snapshot {
        sequence,
        unix_ns: unix.as_nanos().try_into().unwrap_or(u64::MAX),
        coverage: Some(convert::coverage(&coverage, &status.missing)),
        status: Some((&job).into()),
        functions: rows,
    };
    Ok(Taken {
        at,
        functions: wish.functions,
        message: Arc::new(message),
    })
}
