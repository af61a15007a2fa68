//! The start of a tool place in its process: the supervisors' socket, the ranks' welcome, its role.

use crate::place::Place;
use crate::role::PlaceRole;
use crate::supervisors::Supervisors;
use crate::time_point::Now;
use invivo_mpi_link::LinkError;
use invivo_mpi_link::bell::whereabouts;
use invivo_mpi_link::clock::{NodeClock, read_closely};
use invivo_proto::ids::WorldRank;
use invivo_proto::rank_set::RankSet;
use invivo_tbon::layout::Layout;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// What a tool place is given at its start.
#[derive(clap::Args)]
pub struct PlaceArgs {
    /// Where the sockets for the supervisors are; a tool place needs it.
    #[arg(long)]
    runtime_dir: Option<PathBuf>,
    #[cfg(feature = "test-hooks")]
    #[command(flatten)]
    hooks: Hooks,
}

impl PlaceArgs {
    /// The socket of place `me`.
    fn socket(&self, me: WorldRank) -> Result<PathBuf, StartError> {
        let directory = self.runtime_dir.as_ref().ok_or(StartError::NoDirectory)?;
        Ok(directory.join(format!("place-{me}.sock")))
    }
}

/// Why there is no tool place.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Nobody said where the sockets are.
    #[error("a tool place needs --runtime-dir")]
    NoDirectory,
    /// The layout has no place there.
    #[error("process {0} has no tool place in this layout")]
    NoPlace(WorldRank),
    /// MPI refuses.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The kernel refuses the socket, without which nothing comes to a place that has no MPI.
    #[error("cannot listen at {path}: {why}")]
    Socket {
        /// Where.
        path: String,
        /// Why not.
        why: rustix::io::Errno,
    },
}

/// Listens for the supervisors of the ranks of place `me`, and makes its role. `welcome` sends
/// these ranks the address of the socket, for which they wait, once it has posted receives for
/// their packets, so that the first of these find a buffer.
///
/// # Errors
/// When there is no such place, or MPI refuses.
pub fn place(
    layout: Layout,
    me: WorldRank,
    args: PlaceArgs,
    welcome: impl FnOnce(RankSet, &[u8]) -> Result<(), LinkError>,
) -> Result<PlaceRole, StartError> {
    let parent = layout.parent(me).ok_or(StartError::NoPlace(me))?;
    let ranks = layout.ranks_at(me).ok_or(StartError::NoPlace(me))?;
    let path = args.socket(me)?;
    // A place without its socket still takes packets over MPI: less is observed, nothing fails.
    let supervisors = match Supervisors::listen(&path, ranks) {
        Ok(supervisors) => Some(supervisors),
        Err(error) => {
            eprintln!(
                "invivo: cannot listen at {}: {error}; no pause, no last records",
                path.display()
            );
            None
        }
    };
    // Every rank waits for this message, so it is sent without a socket as well, with an empty
    // address.
    let address = if supervisors.is_some() {
        path.as_os_str().as_bytes()
    } else {
        &[]
    };
    welcome(ranks, address)?;

    // The first measurement of the clock takes 20 ms; the ranks have their welcome by then.
    let place = Place::new(layout, me, supervisors, NodeClock::start(), now());
    let mut place = place.ok_or(StartError::NoPlace(me))?.located(whereabouts());
    place.read_time_by(now);
    #[cfg(feature = "test-hooks")]
    args.hooks.install(&mut place);
    Ok(PlaceRole::new(place, parent, now))
}

/// Listens where a place was that has died, for the supervisors of its ranks, and makes the role
/// that takes what it left.
///
/// # Errors
/// When there is no such place, or no socket.
pub fn salvage(layout: Layout, me: WorldRank, args: PlaceArgs) -> Result<PlaceRole, StartError> {
    let parent = layout.parent(me).ok_or(StartError::NoPlace(me))?;
    let ranks = layout.ranks_at(me).ok_or(StartError::NoPlace(me))?;
    let path = args.socket(me)?;
    let supervisors = Supervisors::listen(&path, ranks).map_err(|why| StartError::Socket {
        path: path.display().to_string(),
        why,
    })?;
    let place = Place::new(layout, me, Some(supervisors), NodeClock::start(), now());
    let mut place = place.ok_or(StartError::NoPlace(me))?.salvaging();
    place.read_time_by(now);
    Ok(PlaceRole::new(place, parent, now))
}

fn now() -> Now {
    // Every time stamp is turned into job time by both: a time slice between them would shift all.
    let reading = read_closely();
    Now {
        ns: reading.ns,
        ticks: reading.ticks,
    }
}

/// What tests ask for.
#[cfg(feature = "test-hooks")]
#[derive(clap::Args)]
struct Hooks {
    /// Write every record to files in this directory as well, without bounds.
    #[arg(long)]
    tap: Option<PathBuf>,
}

#[cfg(feature = "test-hooks")]
impl Hooks {
    fn install(self, place: &mut Place) {
        if let Some(directory) = self.tap {
            place.tap(directory);
        }
    }
}
