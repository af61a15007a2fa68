//! The program `tool-place`: starts MPI and the supervisors' socket, and runs the place's role.
#![deny(unsafe_code)]

use clap::Parser;
use invivo_mpi_link::bell::whereabouts;
use invivo_mpi_link::clock::{NodeClock, monotonic_ns, ticks};
use invivo_mpi_link::panics::{PanicGuard, report_panics};
use invivo_mpi_link::runtime::{self, Exit};
use invivo_mpi_link::{Link, packet_buffers, signals};
use invivo_proto::channel::TAG_WELCOME;
use invivo_proto::ids::Rank;
use invivo_tbon::layout::Layout;
use invivo_tool_place::place::Place;
use invivo_tool_place::role::PlaceRole;
use invivo_tool_place::supervisors::Supervisors;
use invivo_tool_place::time_point::Now;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;

/// Layer 1 of Invivo: holds the records of its ranks. Started by `invivo exec`.
#[derive(Parser)]
#[command(name = "tool-place", version)]
struct Args {
    /// Who is what in the job, as `invivo exec` has worked it out: `8:2,2:tail`.
    #[arg(long)]
    layout: Layout,
    /// Where the sockets for the supervisors are.
    #[arg(long)]
    runtime_dir: PathBuf,
    #[cfg(feature = "test-hooks")]
    #[command(flatten)]
    hooks: Hooks,
}

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("invivo: a tool place failed: {error}; its ranks run on unobserved");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> Result<ExitCode, Box<dyn std::error::Error>> {
    // First: a launcher may send SIGTERM while MPI is still being initialised.
    let end_asked = signals::end_asked()?;
    let layout = args.layout;
    let mut link = Link::start()?;
    let me = link.rank();
    let parent = layout.parent(me);
    let parent = parent.ok_or_else(|| {
        format!(
            "process {me} of {} has no place in this layout",
            link.size()
        )
    })?;
    let ranks = layout.ranks_of(me);
    let path = args.runtime_dir.join(format!("place-{me}.sock"));
    // A place without its socket still takes packets over MPI: less is observed, nothing fails.
    let supervisors = match Supervisors::listen(&path, ranks.clone()) {
        Ok(supervisors) => Some(supervisors),
        Err(error) => {
            eprintln!(
                "invivo: cannot listen at {}: {error}; no pause, no last records",
                path.display()
            );
            None
        }
    };
    // Posted before any rank is welcomed, so that the first packets find a buffer.
    link.post_packets(packet_buffers(ranks.len()))?;
    // Every rank waits for this message, so it is sent without a socket as well, with an empty
    // address.
    let address = if supervisors.is_some() {
        path.as_os_str().as_bytes()
    } else {
        &[]
    };
    for rank in ranks {
        link.send(layout.world_of(Rank(rank)), TAG_WELCOME, address.to_vec())?;
    }

    // The first measurement of the clock takes 20 ms; the ranks have their welcome by then.
    let place = Place::new(layout, me, supervisors, NodeClock::start(), now());
    let mut place = place
        .ok_or_else(|| format!("process {me} is no place in this layout"))?
        .located(whereabouts());
    place.read_time_by(now);
    report_panics(format!("tool place {me}"));
    #[cfg(feature = "test-hooks")]
    let guard = args.hooks.install(&mut place);
    #[cfg(not(feature = "test-hooks"))]
    let guard = PanicGuard::new();

    let role = PlaceRole::new(place, parent, now);
    Ok(match runtime::run(link, role, guard, &end_asked)? {
        Exit::Finalize | Exit::Abandon => ExitCode::SUCCESS,
        Exit::RootLost => ExitCode::FAILURE,
    })
}

fn now() -> Now {
    Now {
        ns: monotonic_ns(),
        ticks: ticks(),
    }
}

/// What tests ask for.
#[cfg(feature = "test-hooks")]
#[derive(clap::Args)]
struct Hooks {
    /// Write every record to files in this directory as well, without bounds.
    #[arg(long)]
    tap: Option<PathBuf>,
    /// Make up a sample for so many calls of each location, in the sampler's stead.
    #[arg(long)]
    samples: Option<std::num::NonZeroU64>,
    /// Panic when this file appears.
    #[arg(long)]
    panic_when: Option<PathBuf>,
}

#[cfg(feature = "test-hooks")]
impl Hooks {
    fn install(self, place: &mut Place) -> PanicGuard {
        if let Some(directory) = self.tap {
            place.tap(directory);
        }
        if let Some(every) = self.samples {
            place.make_samples(every);
        }
        PanicGuard::panic_when(self.panic_when)
    }
}
