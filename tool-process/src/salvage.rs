//! Takes what a dead tool process has left in its ranks' shared memory, and makes the report of it.
//!
//! Without MPI: the roles are those of the process that died, and speak to each other alone. The
//! ranks' supervisors come to the socket where they had their place.

use crate::any_role::AnyRole;
use crate::seats::Seats;
use invivo_analysis_node::report::Report;
use invivo_analysis_node::start::{self as node, RootArgs};
use invivo_mpi_link::Link;
use invivo_mpi_link::panics::{PanicGuard, report_panics};
use invivo_mpi_link::runtime::{self, Member, Roles};
use invivo_proto::ids::WorldRank;
use invivo_tbon::layout::{Plan, Role};
use invivo_tool_place::start::{self as place, PlaceArgs};

type Failure = Box<dyn std::error::Error>;

/// What lists of processes show.
const NAME: &std::ffi::CStr = c"tool-salvage";

/// Does so, to the report.
///
/// # Errors
/// When the layout is not known without the other processes, or there is no socket to be had.
pub fn run(
    plan: &Plan,
    place: PlaceArgs,
    root: RootArgs,
    report: Option<Report>,
) -> Result<(), Failure> {
    let Plan::Layout(layout) = *plan else {
        return Err("without the other processes the layout cannot be found".into());
    };
    let me = layout.process_of(layout.root()).ok_or("there is no root")?;
    // Nothing depends on it but what people see.
    let _ = rustix::thread::set_name(NAME);
    report_panics(format!("tool process {me}"));
    let nothing = || format!("process {me} has no such role in layout {layout}");
    let (mut place, mut root) = (Some(place), report.map(|report| (root, report)));
    let mut member = |(address, role): (WorldRank, Role)| -> Result<_, Failure> {
        let (layer, role) = match role {
            Role::Place { .. } => {
                let args = place.take().ok_or_else(nothing)?;
                let place = place::salvage(layout, address, args)?;
                (1, AnyRole::Place(Box::new(place)))
            }
            Role::Node { layer, .. } => {
                let branch = node::branch(&layout, address).ok_or_else(nothing)?;
                (layer, AnyRole::Branch(Box::new(branch)))
            }
            Role::Root => {
                let (args, report) = root.take().ok_or("the root needs --report-fd")?;
                let root = node::root(&layout, args, Link::library(), report);
                let root = root.ok_or_else(nothing)?;
                let layer = layout.height(address).unwrap_or(0);
                (layer, AnyRole::Root(Box::new(root.salvaging())))
            }
            Role::Application(_) => return Err(nothing().into()),
        };
        Ok(Member {
            address,
            layer,
            role,
            guard: PanicGuard::of(format!("tool process {me}")),
        })
    };
    let members = layout.roles(me).map(&mut member);
    let mut members = members.collect::<Result<Vec<_>, Failure>>()?;
    // From the root down, so that what one says is read in the same turn.
    members.reverse();
    // How it leaves matters to nobody: it is in no job.
    runtime::run_apart(Roles::new(me, Seats(layout), members));
    Ok(())
}
