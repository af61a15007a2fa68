//! The options of a job on the command line.

use crate::back_pressure::BackPressure;
use crate::overhead::Overhead;
use crate::value::{Address, Bytes, Hold, Time, Value};
use invivo_proto::control::analyses::AnalysisSet;
use invivo_proto::control::metrics::Measured;
use invivo_proto::control::sampling::Sampling;
use invivo_proto::control::selection::Selection;
use invivo_proto::control::strategy::Strategy;
use invivo_tbon::layout::FanIn;
use std::path::PathBuf;

/// Options of the tool itself: of `invivo run` and `invivo exec` alike. What is not given comes
/// from the other layers.
#[derive(clap::Args, Clone, Debug, Default, PartialEq)]
pub struct Flags {
    /// Write the report at the end of the job: text, or JSON when the name ends in .json, or an
    /// HTML page when it ends in .html; %h is the host, %j the job, %p the process, %% a per cent
    /// sign
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Save what the buffers hold at the end of the job to this new directory, for `invivo open`;
    /// %h, %j, %p and %% as above
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
    /// Print nothing: neither the report nor the line at the end
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true",
          value_parser = bool::parse)]
    pub quiet: Option<bool>,
    /// `node`: one tool process per node, with all roles. Or a process for every tool place and
    /// analysis node: ranks that one tool place takes, then members that one analysis node takes,
    /// by layer from below; the last number holds for all layers above [default: node,16]
    #[arg(long, value_name = "F[,F]", value_parser = <FanIn as Value>::parse)]
    pub fan_in: Option<FanIn>,
    /// Memory for the records of one location (a thread of a rank); the oldest give way when it is
    /// full [default: 16MiB]
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse)]
    pub buffer: Option<Bytes>,
    /// Memory for all buffers of one tool place; unless given, a buffer for each of its ranks four
    /// times over, for ranks with threads
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse)]
    pub budget: Option<Bytes>,
    /// What a location keeps when not everything fits: time (the newest), or rules joined by
    /// commas, in the order in which detail is given up, as duration:1ms or
    /// iterations:4@MPI_Barrier [default: time]
    #[arg(long, value_name = "STRATEGY", value_parser = <Strategy as Value>::parse)]
    pub strategy: Option<Strategy>,
    /// Analyses that are on from the start: functions, matrix, messages, heatmap, sites,
    /// waitstates, regions, joined by commas, or all or none; `invivo analyses` switches them
    /// later [default: functions,matrix,heatmap,sites,waitstates,regions]
    #[arg(long, value_name = "NAMES", value_parser = <AnalysisSet as Value>::parse)]
    pub analyses: Option<AnalysisSet>,
    /// Sample every rank from the start, so many times a second of its time on a processor, as 251
    /// or 1kHz, to see in which functions it is; timer or timer:50Hz where perf events are
    /// forbidden; `invivo sampling` switches it later [default: off; 251 where no number is given]
    #[arg(long, value_name = "FREQUENCY", num_args = 0..=1, require_equals = true,
          default_missing_value = "on",
          value_parser = <Sampling as Value>::parse)]
    pub sampling: Option<Sampling>,
    /// Record only some regions and MPI functions from the start: rules as in "exclude tiny_*;
    /// include solve*", or @FILE with rules or a filter file of Score-P; `invivo selection` changes
    /// them later [default: all are recorded]
    #[arg(long, value_name = "RULES", value_parser = <Selection as Value>::parse)]
    pub selection: Option<Selection>,
    /// Measure metrics of every rank from the start, beside its calls: names joined by commas, as
    /// page-faults,cpu-time, or usual, or program (what the program keeps); behind @ the time
    /// between two readings, as usual@50ms; `invivo metrics` changes them later [default: off;
    /// every 100ms where no time is given]
    #[arg(long, value_name = "NAMES[@TIME]", value_parser = <Measured as Value>::parse)]
    pub metrics: Option<Measured>,
    /// Keep what the measurement takes of the ranks' time below this share, as 2%: detail is given
    /// up while it is above, regions first, and comes back while it is well below; `invivo
    /// overhead` shows it and changes it later [default: off]
    #[arg(long, value_name = "SHARE", value_parser = <Overhead as Value>::parse)]
    pub overhead: Option<Overhead>,
    /// Hold every rank right behind MPI_Init until `invivo resume`, for at most this time [10m
    /// where none is given]
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true,
          default_missing_value = "true",
          value_parser = Hold::parse)]
    pub hold: Option<Hold>,
    /// What a rank does when its records are not taken as fast as they come: bounded (waits 10 ms
    /// at once and 1 % of the run in all, then drops and counts), drop (at once), or block (waits)
    /// [default: bounded]
    #[arg(long, value_name = "POLICY", value_parser = <BackPressure as Value>::parse)]
    pub back_pressure: Option<BackPressure>,
    /// Say on standard error when the job has stood still for this time, and who waits for whom:
    /// once, in a sentence; nothing else is done about it
    #[arg(long, value_name = "TIME", value_parser = <Time as Value>::parse)]
    pub watchdog: Option<Time>,
    /// Let the gateway also listen on TCP at this address, with TLS, for clients on other hosts;
    /// port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", value_parser = Address::parse)]
    pub listen: Option<Address>,
    /// Read no configuration file; the environment still holds
    #[arg(long)]
    pub no_config: bool,
}
