//! The start of an analysis node in its process: an inner node, or the root with what it is given.

use crate::gateway::Gateway;
use crate::report::Report;
use crate::roles::{BranchRole, RootRole};
use crate::root_server::RootServer;
use crate::watchdog::Watchdog;
use clap::ValueEnum;
use invivo_mpi_link::bell::whereabouts;
use invivo_mpi_link::clock::monotonic_ns;
use invivo_proto::control::analyses::AnalysisSet;
use invivo_proto::control::link::JobDescription;
use invivo_proto::control::metrics::{Measured, MetricSet};
use invivo_proto::control::overhead::OverheadCap;
use invivo_proto::control::sampling::Sampling;
use invivo_proto::control::selection::Selection;
use invivo_proto::control::strategy::Strategy;
use invivo_proto::control::tree::JobInfo;
use invivo_proto::ids::WorldRank;
use invivo_tbon::layout::Layout;
use invivo_tbon::node::Position;
use std::path::{Path, PathBuf};

/// What only the root needs.
#[derive(clap::Args)]
pub struct RootArgs {
    /// The job's id.
    #[arg(long, default_value = "")]
    job: String,
    /// The binary family of the application's MPI.
    #[arg(long, default_value = "")]
    family: String,
    /// Where to listen for the gateway.
    #[arg(long)]
    link: Option<PathBuf>,
    /// The descriptor on which our supervisor awaits the result.
    #[arg(long)]
    report_fd: Option<i32>,
    /// Bytes of one location's buffer.
    #[arg(long, default_value_t = 0)]
    buffer_bytes: u64,
    /// Bytes of all buffers of one place, at least.
    #[arg(long, default_value_t = 0)]
    budget_bytes: u64,
    /// The same for each rank of the place that has most.
    #[arg(long, default_value_t = 0)]
    budget_bytes_per_rank: u64,
    /// Hold the ranks right after MPI_Init, for so many nanoseconds at most; 0 does not.
    #[arg(long, default_value_t = 0)]
    hold_ns: u64,
    /// Whether calls are recorded from the start.
    #[arg(long, value_enum, default_value_t = Recording::On)]
    recording: Recording,
    /// Ask the supervisor to save what the buffers hold before the job ends.
    #[arg(long)]
    save: bool,
    /// Say when the job has stood still for so many nanoseconds; 0 does not.
    #[arg(long, default_value_t = 0)]
    watchdog_ns: u64,
    /// What buffers keep when not everything fits, such as `duration:1ms`.
    #[arg(long, default_value_t, value_parser = Strategy::parse)]
    strategy: Strategy,
    /// How each rank is sampled from the start, such as `251Hz` or `timer:99Hz`.
    #[arg(long, default_value_t)]
    sampling: Sampling,
    /// What of regions and functions is recorded from the start, such as `exclude tiny_*`.
    #[arg(long, default_value = "")]
    selection: Selection,
    /// What is measured of each rank from the start, such as `page-faults,cpu-time`.
    #[arg(long, default_value_t)]
    metrics: MetricSet,
    /// Nanoseconds from one reading of these to the next.
    #[arg(long, default_value_t = 0)]
    metrics_interval_ns: u64,
    /// The most that the measurement takes of the ranks' time, such as `2%`.
    #[arg(long)]
    overhead: Option<OverheadCap>,
    /// The analyses that are on from the start, such as `functions,sites`.
    #[arg(long, default_value_t)]
    analyses: AnalysisSet,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Recording {
    On,
    Off,
}

/// The reading of `CLOCK_MONOTONIC`, in ns.
pub type Clock = fn() -> u64;

impl RootArgs {
    /// The supervisor's descriptor, where there is one. To be called before MPI starts: it opens
    /// descriptors, and one of them could get this number.
    ///
    /// # Errors
    /// When there is no such descriptor.
    pub fn report(&self) -> std::io::Result<Option<Report>> {
        Ok(self.report_fd.map(Report::inherited).transpose()?)
    }

    /// Bytes of all buffers of one place, where the place that has most has so many ranks.
    fn budget_of_place(&self, ranks: u32) -> u64 {
        let by_ranks = self.budget_bytes_per_rank.saturating_mul(ranks.into());
        by_ranks.max(self.budget_bytes)
    }
}

/// The inner node `me`; nothing where the layout has none there.
pub fn branch(layout: &Layout, me: WorldRank) -> Option<BranchRole<Clock>> {
    let position = Position::of(layout, me).filter(|position| position.local.is_none())?;
    let role =
        BranchRole::new(position, layout.parent(me)?, monotonic_ns as Clock).located(whereabouts());
    // The place counts the time of the whole process.
    Some(role.counting_cpu(!layout.is_one_per_node()))
}

/// The root; nothing where the layout has none, which cannot be. `library` is the MPI library's own
/// line about itself.
pub fn root(layout: &Layout, args: RootArgs, library: String, report: Report) -> Option<RootRole> {
    let position = Position::of(layout, layout.root())?;
    let server = root_server(layout, position, args, library);
    Some(RootRole::new(server, report).counting_cpu(!layout.is_one_per_node()))
}

fn root_server(layout: &Layout, position: Position, args: RootArgs, library: String) -> RootServer {
    let budget_bytes = args.budget_of_place(layout.ranks_per_place());
    let job = JobDescription {
        id: args.job.clone(),
        ranks: layout.app(),
        places: layout.places(),
        nodes: layout.nodes(),
        family: args.family,
        library,
        observation: None,
    };
    let info = JobInfo {
        id: args.job,
        buffer_bytes: args.buffer_bytes,
        budget_bytes,
        hold_lease_ns: args.hold_ns,
        recording: args.recording == Recording::On,
        strategy: Box::new(args.strategy),
        sampling: args.sampling,
        selection: Box::new(args.selection),
        metrics: Box::new(Measured {
            set: args.metrics,
            interval_ns: args.metrics_interval_ns,
        }),
    };
    let gateway = args.link.as_deref().and_then(listen);
    let watchdog = Watchdog::new(monotonic_ns(), args.watchdog_ns);
    let info = (info, args.analyses);
    let server = RootServer::new(monotonic_ns(), position, job, info, gateway);
    let server = if args.save { server.saving() } else { server };
    server
        .capped_at(monotonic_ns(), args.overhead)
        .watched_by(watchdog)
        .named_by(*layout)
        .located(whereabouts())
}

fn listen(path: &Path) -> Option<Gateway> {
    match Gateway::listen(path) {
        Ok(gateway) => Some(gateway),
        Err(error) => {
            // The result at the end needs no gateway: the root goes on without one.
            eprintln!(
                "invivo: cannot listen at {}: {error}; the job cannot be watched",
                path.display()
            );
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Root {
        #[command(flatten)]
        args: RootArgs,
    }

    #[test]
    fn the_budget_is_that_of_the_place_with_most_ranks() {
        let of = |least: &str, per_rank: &str, ranks| {
            let words = ["root", "--budget-bytes", least];
            let words = words
                .into_iter()
                .chain(["--budget-bytes-per-rank", per_rank]);
            Root::parse_from(words).args.budget_of_place(ranks)
        };
        assert_eq!(of("320", "40", 128), 5120);
        assert_eq!(of("320", "40", 2), 320);
        assert_eq!(of("50", "0", 128), 50, "as the user has said");
    }
}
