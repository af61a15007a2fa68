//! The edge: MPI below, the gateway's socket above, the clock; and how an analysis node rests between messages.

pub mod branch;
pub mod root;

use crate::own::Own;
use invivo_mpi_link::clock::cpu_ns;
use invivo_mpi_link::{Link, LinkError};
use invivo_proto::channel::{TAG_DOWN, TAG_UP};
use invivo_proto::control::encode;
use invivo_proto::control::tree::{Down, Up};
use invivo_proto::ids::WorldRank;
use invivo_tbon::latest::{kind_of_down, kind_of_up};
use std::time::Duration;

/// How long the last messages may take when MPI is not finalised, which would see to them.
const FAREWELL: Duration = Duration::from_millis(500);

fn own(link: &Link) -> Own {
    Own {
        cpu_ns: cpu_ns(),
        refused_sends: link.refused_sends(),
    }
}

/// Leaves the job, through MPI's own end or without it.
fn leave(mut link: Link, finalize: bool) -> Result<(), LinkError> {
    if finalize {
        link.finish()?;
    } else {
        link.flush(FAREWELL)?;
    }
    Ok(())
}

/// Sends to a child. Results have a bounded size: what cannot be encoded is a fault that the other side sees as
/// silence.
fn send_down(link: &mut Link, to: WorldRank, message: &Down) -> Result<(), LinkError> {
    if let Ok(bytes) = encode(message) {
        link.send_latest(to, TAG_DOWN, kind_of_down(message), bytes)?;
    }
    Ok(())
}

/// Sends to the parent.
fn send_up(link: &mut Link, to: WorldRank, message: &Up) -> Result<(), LinkError> {
    if let Ok(bytes) = encode(message) {
        link.send_latest(to, TAG_UP, kind_of_up(message), bytes)?;
    }
    Ok(())
}
