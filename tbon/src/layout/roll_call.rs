//! The layout as the tool processes find it, and one like it for plans.

use super::found::{Found, NodeCount, Nodes, RollCallError};
use super::shape::Shape;
use super::{FanIn, Layout, LayoutError, Policy};
use alloc::boxed::Box;
use alloc::vec::Vec;
use invivo_proto::ids::WorldRank;

impl Layout {
    /// The layout of `app` ranks on so many nodes as launchers share them out, node after node, the
    /// first ones with one rank more where they are not even: for plans. Where a layout of equal
    /// nodes does, it is that.
    ///
    /// # Errors
    /// As [`Layout::for_app`]; with a process for every place and node, nodes must be equal.
    pub fn shared_out(app: u32, fan_in: FanIn, policy: Policy) -> Result<Layout, LayoutError> {
        let hosts = policy.hosts();
        let equal = Layout::for_app(app, fan_in, policy);
        let is_uneven = matches!(equal, Err(LayoutError::Uneven { .. }));
        if !is_uneven || !fan_in.is_one_per_node() || app < hosts {
            return equal;
        }
        let total = u64::from(app) + u64::from(hosts);
        let too_many = LayoutError::TooMany { total };
        let total = u32::try_from(total).map_err(|_| too_many)?;
        let (each, more) = (app / hosts, app % hosts);
        let mut begin = 0;
        let node = |number| {
            let ranks = each + u32::from(number < more);
            let lowest = begin;
            begin += ranks + 1;
            NodeCount {
                tool: lowest + ranks,
                lowest,
                highest: lowest + ranks - 1,
                ranks,
            }
        };
        let nodes: Vec<NodeCount> = (0..hosts).map(node).collect();
        let first = nodes.first().copied().ok_or(LayoutError::NoHosts)?;
        let here: Vec<u32> = (first.lowest..=first.highest).collect();
        Layout::found(total, fan_in, nodes, WorldRank(first.tool), &here).map_err(|_| too_many)
    }

    /// Processes of this host, from 0.
    pub fn processes_of_host(&self, host: u32) -> u32 {
        match self.found {
            Some(found) => found.count(host..host.saturating_add(1)) + 1,
            None if host + 1 == self.hosts() => {
                self.total() - self.processes_per_host() * (self.hosts() - 1)
            }
            None => self.processes_per_host(),
        }
    }

    /// The layout of a job of `total` processes whose tool processes have said this of their nodes,
    /// in any order, as tool process `me` finds it, on whose node the ranks with the world ranks
    /// `here` are. The same tree comes out at each of them.
    ///
    /// What it holds of the nodes stays in memory for good: a process has one layout in its life,
    /// and copies of it everywhere.
    ///
    /// # Errors
    /// When what was said cannot be.
    pub fn found(
        total: u32,
        fan_in: FanIn,
        nodes: Vec<NodeCount>,
        me: WorldRank,
        here: &[u32],
    ) -> Result<Layout, RollCallError> {
        let nodes: &'static Nodes = Box::leak(Box::new(Nodes::new(total, nodes)?));
        let found = Found::new(nodes, me, here)?;
        let hosts = found.nodes();
        Ok(Layout {
            // Above the places the tree is that of as many nodes with a rank each.
            shape: Shape {
                hosts,
                ranks: 1,
                fan_in,
            },
            policy: Policy::PerNode { hosts },
            found: Some(found),
        })
    }

    /// The same layout as another tool process finds it, on whose node these ranks are: many are
    /// in one process in simulations.
    ///
    /// # Errors
    /// When that is no tool process, its ranks are others, or the layout was not found.
    pub fn seen_from(self, me: WorldRank, here: &[u32]) -> Result<Layout, RollCallError> {
        let found = self.found.ok_or(RollCallError::NotHere { tool: me.0 })?;
        Ok(Layout {
            found: Some(found.seen_from(me, here)?),
            ..self
        })
    }
}
