//! The wait of a rank's supervisor for whoever takes the rank's records in the stead of a place
//! that was killed.

use crate::rank::place_socket::PlaceSocket;
use invivo_proto::control::local::FromSupervisor;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Between two attempts: soon after the death, and nothing while there is none.
pub const SALVAGER_POLL: Duration = Duration::from_millis(20);
/// The longest that it takes to come: it is started at once, where anybody is left to do so.
const SALVAGER_MAX: Duration = Duration::from_secs(5);

/// One that has not come yet.
#[derive(Debug)]
pub struct AwaitedSalvager {
    path: PathBuf,
    since: Instant,
}

impl AwaitedSalvager {
    /// Of a place that listened at `path` and is gone; nothing where it left in order, which takes
    /// its socket away.
    pub fn of_place(path: PathBuf) -> Option<AwaitedSalvager> {
        let since = Instant::now();
        path.exists().then_some(AwaitedSalvager { path, since })
    }

    /// Whether it never comes.
    pub fn is_late(&self) -> bool {
        self.since.elapsed() >= SALVAGER_MAX
    }

    /// Connects to it, if it is there.
    pub fn attach(&self, hello: &FromSupervisor, memory: BorrowedFd<'_>) -> Option<PlaceSocket> {
        PlaceSocket::attach(&self.path, hello, memory).ok()
    }
}
