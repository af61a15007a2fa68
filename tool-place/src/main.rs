//! The tool place's process: MPI on one side, Unix sockets on the other, the place in between.
#![deny(unsafe_code)]

use clap::Parser;
use invivo_mpi_link::clock::{NodeClock, monotonic_ns, ticks};
use invivo_mpi_link::guard::{Guard, tell_panics};
use invivo_mpi_link::idle::Idle;
use invivo_mpi_link::{Link, LinkError, farewell, packet_buffers, signals};
use invivo_proto::channel::{TAG_DOWN, TAG_PEER, TAG_UP, TAG_WELCOME};
use invivo_proto::control::encode;
use invivo_proto::ids::{Rank, WorldRank};
use invivo_tbon::latest::kind_of_up;
use invivo_tbon::layout::Layout;
use invivo_tool_place::moment::Now;
use invivo_tool_place::outgoing::Outgoing;
use invivo_tool_place::place::{Exit, Place};
use invivo_tool_place::supervisors::Supervisors;
use rustix::event::{Timespec, poll};
use std::num::NonZeroU64;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Messages of one kind that are taken before the place looks after everything else: some
/// milliseconds' work when they are as long as they can be, so that no flood from one side keeps
/// commands, clocks and packets waiting.
const MESSAGES_PER_TURN: usize = 64;

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
    /// Write every record to files in this directory as well, without bounds; for tests and
    /// benchmarks.
    #[arg(long)]
    tap: Option<PathBuf>,
    /// Make up a sample for so many calls of each location, in the sampler's stead; for tests.
    #[arg(long)]
    samples: Option<NonZeroU64>,
    /// Panic when this file appears; for tests.
    #[arg(long)]
    panic_when: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("invivo: a tool place failed: {error}; its ranks run on unobserved");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let asked_to_end = signals::asked_to_end()?;
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
    link.post_packets(packet_buffers(ranks.len()))?;
    // Each rank waits for this, wherever it leads.
    let address = if supervisors.is_some() {
        path.as_os_str().as_bytes()
    } else {
        &[]
    };
    for rank in ranks.clone() {
        link.send(layout.world_of(Rank(rank)), TAG_WELCOME, address.to_vec())?;
    }
    let place = Place::new(layout, me, supervisors, NodeClock::start(), now());
    let mut place = place.ok_or_else(|| format!("process {me} is no place in this layout"))?;
    place.read_time_by(now);
    if let Some(directory) = args.tap.clone() {
        place.tap(directory);
    }
    if let Some(every) = args.samples {
        place.make_samples(every);
    }
    tell_panics(format!("tool place {me}"));
    let guard = Guard::new(args.panic_when.clone());
    let exit = drive(&mut link, &mut place, parent, guard, &asked_to_end)?;
    drop(place);
    leave(link, exit, &asked_to_end)
}

/// Runs the place to its end.
fn drive(
    link: &mut Link,
    place: &mut Place,
    parent: WorldRank,
    mut guard: Guard,
    asked_to_end: &AtomicBool,
) -> Result<Exit, LinkError> {
    let mut idle = Idle::default();
    let mut outgoing = Outgoing::default();
    loop {
        let mut worked = false;
        if place.is_ready() {
            let packets = link.packets(|from, message| {
                guard.run(|| place.packet(from, message));
            });
            worked |= packets? != 0;
        }
        // Before questions, so that answers know of what was sent before they were asked.
        for _ in 0..MESSAGES_PER_TURN {
            if !place.hears_peers() {
                break;
            }
            let Some(message) = link.receive(TAG_PEER)? else {
                break;
            };
            worked = true;
            guard.run(|| place.peer(message.from, &message.bytes));
        }
        for _ in 0..MESSAGES_PER_TURN {
            let Some(message) = link.receive(TAG_DOWN)? else {
                break;
            };
            worked = true;
            if message.from == parent {
                guard.run(|| place.down(now(), &message.bytes));
            }
        }
        if asked_to_end.load(Ordering::Relaxed) {
            guard.run(|| place.asked_to_end());
        }
        worked |= guard.run(|| place.step(now())).unwrap_or(true);
        let peers = guard.run(|| place.take_peers(now(), |to| link.is_free(to, TAG_PEER)));
        for (to, bytes) in peers.unwrap_or_default() {
            worked = true;
            link.send(to, TAG_PEER, bytes)?;
        }
        for message in place.take_up() {
            worked = true;
            // Results have a bounded size; what cannot be encoded is a fault that the root sees as
            // silence.
            if let Ok(bytes) = encode(&message) {
                outgoing.push(kind_of_up(&message), bytes);
            }
        }
        outgoing.send(|kind, bytes| link.send_latest(parent, TAG_UP, kind, bytes.to_vec()))?;
        link.progress()?;
        if let Some(exit) = place.exit() {
            return Ok(exit);
        }
        if place.is_over() {
            idle.shut_down();
        }
        let rest = idle.after(worked).unwrap_or(Duration::ZERO);
        let timeout = Timespec::try_from(rest).unwrap_or_default();
        let ready = poll(&mut place.poll_fds(), Some(&timeout)).unwrap_or(0);
        if ready > 0 && guard.run(|| place.hear_supervisors(now())).unwrap_or(true) {
            idle.after(true);
        }
        if guard.stumbles() != 0 {
            place.lose(now());
        }
    }
}

fn leave(
    link: Link,
    exit: Exit,
    asked_to_end: &Arc<AtomicBool>,
) -> Result<ExitCode, Box<dyn std::error::Error>> {
    match exit {
        Exit::Finalize => {
            link.finish(asked_to_end)?;
            Ok(ExitCode::SUCCESS)
        }
        Exit::Abandon => {
            farewell::outlive();
            Ok(ExitCode::SUCCESS)
        }
        Exit::RootLost => Ok(ExitCode::FAILURE),
    }
}

fn now() -> Now {
    Now {
        ns: monotonic_ns(),
        ticks: ticks(),
    }
}
