//! The program `tool-process`: starts MPI, and runs the roles that the layout gives this process.
#![forbid(unsafe_code)]

mod any_role;
mod salvage;
mod seats;

use any_role::AnyRole;
use clap::Parser;
use invivo_analysis_node::report::Report;
use invivo_analysis_node::start::{self as node, RootArgs};
use invivo_mpi_link::panics::{PanicGuard, report_panics};
use invivo_mpi_link::runtime::{self, Exit, Member, Roles};
use invivo_mpi_link::{Link, packet_buffers, signals};
use invivo_proto::channel::TAG_WELCOME;
use invivo_proto::ids::WorldRank;
use invivo_tbon::layout::{Layout, NodeCount, Plan, RanksError, Role};
use invivo_tool_place::start::{self as place, PlaceArgs};
use seats::Seats;
#[cfg(feature = "test-hooks")]
use std::path::PathBuf;
use std::process::ExitCode;

/// A process of Invivo's tree: holds the records of its ranks, merges answers, or is the root.
/// Started by `invivo exec`.
#[derive(Parser)]
#[command(name = "tool-process", version)]
struct Args {
    /// Who is what in the job, as `invivo exec` has worked it out: `8:2,2:tail`. Or, where the tool
    /// processes find that among themselves, which processes are on this node: `found:node,16:0,1`.
    #[arg(long)]
    layout: Plan,
    /// Take what the tool process that died in the root's place has left in the shared memory of
    /// its ranks, without MPI.
    #[arg(long)]
    salvage: bool,
    /// A role panics when a file of its name (`place`, `node`, `root`) appears in this directory;
    /// for tests.
    #[cfg(feature = "test-hooks")]
    #[arg(long)]
    panic_when: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    root: RootArgs,
}

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("invivo: a tool process failed: {error}; the ranks run on unobserved");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> Result<ExitCode, Failure> {
    // First: a launcher may send SIGTERM while MPI is still being initialised.
    let end_asked = signals::end_asked()?;
    // Before MPI starts: it opens descriptors, and one of them could get this number.
    let report = args.root.report()?;
    if args.salvage {
        salvage::run(&args.layout, args.place, args.root, report)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut link = Link::start()?;
    let me = link.rank();
    let layout = layout(&link, args.layout)?;
    let mut held: Vec<(WorldRank, Role)> = layout.roles(me).collect();
    show_name(&held);
    report_panics(format!("tool process {me}"));

    // From the root down, so that what one says is read in the same turn.
    held.reverse();
    let mut parts = Parts {
        #[cfg(feature = "test-hooks")]
        panic_when: args.panic_when,
        link: &mut link,
        layout,
        place: Some(args.place),
        root: report.map(|report| (args.root, report)),
    };
    let members = held
        .into_iter()
        .map(|(address, role)| parts.member(me, address, role));
    let members = members.collect::<Result<Vec<_>, Failure>>()?;

    let roles = Roles::new(me, Seats(layout), members);
    // Launchers report the exit status of any process as the job's: of these exits only a lost root
    // is a failure.
    Ok(match runtime::run(link, roles, &end_asked)? {
        Exit::Finalize | Exit::Abandon => ExitCode::SUCCESS,
        Exit::RootLost => ExitCode::FAILURE,
    })
}

/// The layout that was planned, or that the tool processes find now. Collective among them.
fn layout(link: &Link, plan: Plan) -> Result<Layout, Failure> {
    let (me, size) = (link.rank(), link.size());
    match plan {
        Plan::Layout(layout) => {
            // A layout for another number of processes would address messages to wrong ones.
            let total = layout.total();
            if size != total {
                let why = format!("layout {layout} is for {total} processes, and there are {size}");
                return Err(why.into());
            }
            Ok(layout)
        }
        Plan::RollCall {
            fan_in,
            ranks,
            here,
        } => {
            let own = NodeCount::of(me, &here).ok_or("there is no rank on this node")?;
            let nodes = link.roll_call(own.to_numbers())?;
            let nodes = nodes.into_iter().map(NodeCount::from_numbers).collect();
            let layout = Layout::found(size, fan_in, nodes, me, &here)?;
            match ranks.filter(|&ranks| ranks != layout.app()) {
                Some(ranks) => {
                    let nodes = layout.places();
                    Err(RanksError { ranks, nodes }.into())
                }
                None => Ok(layout),
            }
        }
    }
}

/// What the roles of this process are made of.
struct Parts<'a> {
    link: &'a mut Link,
    layout: Layout,
    place: Option<PlaceArgs>,
    root: Option<(RootArgs, Report)>,
    #[cfg(feature = "test-hooks")]
    panic_when: Option<PathBuf>,
}

impl Parts<'_> {
    /// The member with this address.
    fn member(
        &mut self,
        me: WorldRank,
        address: WorldRank,
        role: Role,
    ) -> Result<Member<AnyRole>, Failure> {
        let nothing = || format!("process {me} has no such role in layout {}", self.layout);
        let (layer, title, file) = match role {
            Role::Place { .. } => (1, "tool place", "place"),
            Role::Node { layer, .. } => (layer, "analysis node", "node"),
            Role::Root => (self.layout.height(address).unwrap_or(0), "the root", "root"),
            Role::Application(_) => return Err(nothing().into()),
        };
        let role = match role {
            Role::Place { .. } => {
                let args = self.place.take().ok_or_else(nothing)?;
                let (link, layout) = (&mut *self.link, self.layout);
                let place = place::place(layout, address, args, |ranks, socket| {
                    link.post_packets(packet_buffers(ranks.len()))?;
                    for rank in ranks.iter() {
                        link.send(layout.world_of(rank), TAG_WELCOME, socket.to_vec())?;
                    }
                    Ok(())
                })?;
                AnyRole::Place(Box::new(place))
            }
            Role::Node { .. } => {
                let branch = node::branch(&self.layout, address).ok_or_else(nothing)?;
                AnyRole::Branch(Box::new(branch))
            }
            Role::Root | Role::Application(_) => {
                let (args, report) = self.root.take().ok_or("the root needs --report-fd")?;
                let root = node::root(&self.layout, args, Link::library(), report);
                AnyRole::Root(Box::new(root.ok_or_else(nothing)?))
            }
        };
        Ok(Member {
            address,
            layer,
            role,
            guard: self.guard(format!("{title} {me}"), file),
        })
    }

    /// The panic guard of a role that is called `who`.
    #[cfg(feature = "test-hooks")]
    fn guard(&self, who: String, file: &str) -> PanicGuard {
        let asked_by = self
            .panic_when
            .as_ref()
            .map(|directory| directory.join(file));
        PanicGuard::of(who).panic_when(asked_by)
    }

    #[cfg(not(feature = "test-hooks"))]
    fn guard(&self, who: String, _: &str) -> PanicGuard {
        PanicGuard::of(who)
    }
}

/// Shows in lists of processes what this one is, where it is one thing only.
fn show_name(held: &[(WorldRank, Role)]) {
    let name = match held {
        [(_, Role::Place { .. })] => c"tool-place",
        [(_, Role::Node { .. } | Role::Root)] => c"analysis-node",
        _ => return,
    };
    // Nothing depends on it but what people see.
    let _ = rustix::thread::set_name(name);
}
