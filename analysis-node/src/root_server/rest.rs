//! When the root may rest for long, and whom it can wake.

use super::RootServer;
use invivo_mpi_link::idle::Pace;
use invivo_proto::control::whereabouts::Whereabouts;
use invivo_proto::ids::WorldRank;

impl RootServer {
    /// In a process that runs here, of which its children are told.
    pub fn located(mut self, here: Whereabouts) -> RootServer {
        self.root = self.root.located(here);
        self
    }

    /// How the root may rest.
    pub fn pace(&self, now_ns: u64) -> Pace {
        let is_alert = !self.shutdown.is_quiet() || self.root.is_alert(now_ns);
        Pace::of(is_alert, self.root.is_woken_by_all())
    }

    /// A child's process, where it can be woken from here.
    pub fn child_pid(&self, child: WorldRank) -> Option<u32> {
        self.root.child_pid(child)
    }
}
