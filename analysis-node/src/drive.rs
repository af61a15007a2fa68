//! The edge: MPI below, the gateway's socket above, the clock; and how an analysis node rests
//! between messages.

pub mod branch;
pub mod root;
mod wire;

use crate::own::Own;
use invivo_mpi_link::clock::cpu_ns;
use invivo_mpi_link::guard::Guard;
use invivo_mpi_link::{Link, LinkError, farewell};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How long the last messages may take when MPI is not finalised, which would see to them.
const FAREWELL: Duration = Duration::from_millis(500);

fn own(link: &Link, guard: &Guard) -> Own {
    Own {
        cpu_ns: cpu_ns(),
        refused_sends: link.refused_sends(),
        stumbles: guard.stumbles(),
    }
}

/// Leaves the job, through MPI's own end or without it.
fn leave(mut link: Link, finalize: bool, asked_to_end: &Arc<AtomicBool>) -> Result<(), LinkError> {
    if finalize {
        link.finish(asked_to_end)?;
    } else {
        link.flush(FAREWELL)?;
        farewell::outlive();
    }
    Ok(())
}
