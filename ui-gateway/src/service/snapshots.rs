//! Snapshots for the call Watch: one poller for all watchers, which keeps only the newest snapshot.
//!
//! It polls the root at the interval of the fastest watcher. A watcher takes the newest snapshot
//! when it is ready, so that a slow client skips snapshots instead of queueing them.

use crate::auth::tokens::TokenId;
use crate::limits;
use crate::limits::shares::{Share, Shares};
use crate::root_link::RootLink;
use crate::root_link::request::LinkError;
use futures_util::Stream;
use invivo_grpc::convert;
use invivo_grpc::convert::distribution::Bins;
use invivo_grpc::v1;
use invivo_proto::control::link::{Answer, Ask};
use invivo_proto::control::tree::Query;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;
use tokio::time::Instant;
use tonic::Status;

/// What a watcher has requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchOptions {
    pub interval: Duration,
    /// Whether the function table is included.
    pub functions: bool,
}

impl WatchOptions {
    /// Options that satisfy both: the shorter interval, and functions if either has requested them.
    fn and(self, other: WatchOptions) -> WatchOptions {
        WatchOptions {
            interval: self.interval.min(other.interval),
            functions: self.functions || other.functions,
        }
    }
}

/// The newest snapshot, and the error of the last attempt to take one.
#[derive(Clone, Debug)]
struct NewestSnapshot {
    sequence: u64,
    snapshot: Option<TakenSnapshot>,
    error: Option<Arc<str>>,
}

#[derive(Clone, Debug)]
struct TakenSnapshot {
    at: Instant,
    functions: bool,
    message: Arc<v1::Snapshot>,
}

/// The watchers by a number of their own, which only counts up.
#[derive(Debug, Default)]
struct Watchers {
    last: u64,
    options: BTreeMap<u64, WatchOptions>,
}

/// The poller of all watchers; clones share it.
#[derive(Clone, Debug)]
pub struct SnapshotFeed {
    newest: watch::Receiver<NewestSnapshot>,
    watchers: watch::Sender<Watchers>,
    by_token: Shares<TokenId>,
}

impl SnapshotFeed {
    /// Starts the poller. It is idle without watchers, and ends with the last handle.
    pub fn start(link: RootLink) -> SnapshotFeed {
        let (newest_in, newest) = watch::channel(NewestSnapshot {
            sequence: 0,
            snapshot: None,
            error: None,
        });
        let watchers = watch::Sender::new(Watchers::default());
        tokio::spawn(poll(link, watchers.subscribe(), newest_in));
        SnapshotFeed {
            newest,
            watchers,
            by_token: Shares::new(limits::WATCHERS_PER_TOKEN_MAX),
        }
    }

    /// A stream of snapshots for one watcher. It ends without an error when `closing` becomes true.
    ///
    /// # Errors
    /// If there are too many watchers, of all or with this token.
    pub fn watch(
        &self,
        options: WatchOptions,
        token: TokenId,
        closing: watch::Receiver<bool>,
    ) -> Result<impl Stream<Item = Result<v1::Snapshot, Status>> + use<>, Status> {
        let share = self.by_token.take(token, 1).ok_or_else(|| {
            Status::resource_exhausted(format!(
                "{} clients with this token watch this job already: end one of them",
                limits::WATCHERS_PER_TOKEN_MAX
            ))
        })?;
        let entry = WatcherEntry::take(&self.watchers, options)?;
        // A snapshot taken for another watcher is good enough as the first one while it is fresh.
        let fresh = self
            .newest
            .borrow()
            .snapshot
            .as_ref()
            .is_some_and(|taken| taken.at.elapsed() < options.interval);
        // One less than the newest: the stream then sends that one at once.
        let seen = self.newest.borrow().sequence - u64::from(fresh);

        let watcher = Watcher {
            options,
            seen,
            due: Instant::now(),
            newest: self.newest.clone(),
            closing,
            _entry: (entry, share),
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

/// A watcher's entry in [`Watchers`], removed when the client is gone.
struct WatcherEntry {
    id: u64,
    watchers: watch::Sender<Watchers>,
}

impl WatcherEntry {
    fn take(
        watchers: &watch::Sender<Watchers>,
        options: WatchOptions,
    ) -> Result<WatcherEntry, Status> {
        let mut id = None;
        watchers.send_modify(|all| {
            if all.options.len() < limits::WATCHERS_MAX {
                all.last += 1;
                all.options.insert(all.last, options);
                id = Some(all.last);
            }
        });

        let most = limits::WATCHERS_MAX;
        let full = || {
            Status::resource_exhausted(format!(
                "{most} clients watch this job already: end one of them"
            ))
        };
        Ok(WatcherEntry {
            id: id.ok_or_else(full)?,
            watchers: watchers.clone(),
        })
    }
}

impl Drop for WatcherEntry {
    fn drop(&mut self) {
        // The poller notices the change, and slows down or stops if this was the fastest watcher.
        self.watchers.send_modify(|all| {
            all.options.remove(&self.id);
        });
    }
}

struct Watcher {
    options: WatchOptions,
    /// Sequence number of the last snapshot sent.
    seen: u64,
    /// When the next one may be sent.
    due: Instant,
    newest: watch::Receiver<NewestSnapshot>,
    closing: watch::Receiver<bool>,
    _entry: (WatcherEntry, Share<TokenId>),
}

impl Watcher {
    async fn next(&mut self) -> Option<Result<v1::Snapshot, Status>> {
        let silence = self.options.interval + limits::WATCH_SILENCE_MAX;
        let ready = async {
            tokio::time::sleep_until(self.due).await;
            let wanted = |newest: &NewestSnapshot| {
                newest.sequence > self.seen
                    && newest
                        .snapshot
                        .as_ref()
                        .is_some_and(|taken| taken.functions || !self.options.functions)
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
                .error
                .clone()
                .unwrap_or_else(|| "no snapshot came".into());
            return Some(Err(Status::unavailable(why.to_string())));
        };

        let taken = taken?;
        self.seen = taken.message.sequence;
        // Counted from when the snapshot was taken, not from when the client took it, so that equal
        // intervals do not drift apart; somewhat early, so that a snapshot that comes a little
        // sooner than the interval is not skipped.
        self.due = taken.at + self.options.interval.mul_f64(0.9);

        // The poller takes functions if any watcher wants them; the others do not get them.
        let mut message = v1::Snapshot::clone(&taken.message);
        if !self.options.functions {
            message.functions.clear();
        }
        Some(Ok(message))
    }
}

/// Polls the root at the interval of the fastest watcher. A new watcher with a shorter interval, or
/// one that needs the function table, is served at once.
async fn poll(
    link: RootLink,
    mut watchers: watch::Receiver<Watchers>,
    newest: watch::Sender<NewestSnapshot>,
) {
    let mut sequence = 0;
    let mut last = None::<(Instant, WatchOptions)>;

    loop {
        let options = watchers
            .borrow_and_update()
            .options
            .values()
            .copied()
            .reduce(WatchOptions::and);

        let due = match (options, last) {
            (Some(options), Some((begun, had))) if had.functions || !options.functions => {
                begun + options.interval
            }
            // The first one, or the last one lacks the function table. Without watchers the branch
            // below is disabled.
            _ => Instant::now(),
        };
        let options = tokio::select! {
            () = tokio::time::sleep_until(due), if options.is_some() => options,
            changed = watchers.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
        };
        let Some(options) = options else { continue };
        // Counted from the start of the poll: its duration must not add to the interval.
        last = Some((Instant::now(), options));
        // A failed attempt uses up no number, so that errors leave no gaps.
        match take(&link, options, sequence + 1).await {
            Ok(taken) => {
                sequence += 1;
                newest.send_replace(NewestSnapshot {
                    sequence,
                    snapshot: Some(taken),
                    error: None,
                });
            }
            Err(error) => {
                newest.send_modify(|newest| newest.error = Some(error.to_string().into()))
            }
        }
    }
}

/// Takes one snapshot.
async fn take(
    link: &RootLink,
    options: WatchOptions,
    sequence: u64,
) -> Result<TakenSnapshot, LinkError> {
    let at = Instant::now();
    let ask = |query| link.ask(Ask::Query(query), limits::QUERY_TIME_MAX);
    let functions = async {
        if options.functions {
            ask(Query::Functions {
                rank_rows_max: 0,
                past: None,
            })
            .await
            .map(Some)
        } else {
            Ok(None)
        }
    };

    // Both at once: the moments that they show lie closer together.
    let (status, analyses, functions) =
        tokio::try_join!(ask(Query::Status), ask(Query::Analyses), functions)?;
    let (Answer::Status(job, coverage), Answer::Analyses(analyses, _)) =
        (&status.answer, &analyses.answer)
    else {
        return Err(LinkError::Mismatched);
    };

    let rows = match functions.as_ref().map(|reply| &reply.answer) {
        None => Vec::new(),
        Some(Answer::Functions(table, _)) => convert::function_rows(table, Bins::LeftOut).0,
        Some(_) => return Err(LinkError::Mismatched),
    };

    let unix = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let message = v1::Snapshot {
        sequence,
        unix_ns: unix.as_nanos().try_into().unwrap_or(u64::MAX),
        coverage: Some(convert::coverage(coverage, &status.missing)),
        status: Some(v1::JobStatus {
            analyses: convert::analyses::all(analyses),
            ..job.into()
        }),
        functions: rows,
    };
    Ok(TakenSnapshot {
        at,
        functions: options.functions,
        message: Arc::new(message),
    })
}
