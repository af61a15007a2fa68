//! The end of the job at a place: when it reports that all is drained, and how it leaves MPI.

use invivo_mpi_link::runtime::Exit;

/// A rank whose supervisor has not attached within this time has none that could: the supervisor
/// attaches as soon as the rank is through `MPI_Init`, which is when the place starts. The job's
/// end does not wait for such a rank.
pub const ATTACH_NS: u64 = 30_000_000_000;
/// How long a place whose ranks are through waits for other places to take the last messages of its
/// ranks: they take them at once unless they are stuck or gone.
const PEERS_NS: u64 = 500_000_000;
/// How long it waits for those of its ranks to exit that have not ended by `MPI_Finalize`: after
/// the result, which takes a second, they exit at once.
const LEAVING_NS: u64 = 5_000_000_000;
/// How long a place whose ranks are through waits for a lost root to come back.
const WITHOUT_ROOT_NS: u64 = 1_000_000_000;

/// What is known of the job's end.
#[derive(Debug)]
pub struct JobEnd {
    started_ns: u64,
    /// When the ranks were last seen not to be through.
    through_ns: u64,
    /// The root has the report that nothing more comes.
    drained: bool,
    /// A rank died.
    abnormal: bool,
    root_lost_ns: Option<u64>,
    exit: Option<Exit>,
}

impl JobEnd {
    pub fn new(now_ns: u64) -> JobEnd {
        JobEnd {
            started_ns: now_ns,
            through_ns: now_ns,
            drained: false,
            abnormal: false,
            root_lost_ns: None,
            exit: None,
        }
    }

    /// Whether ranks that have not come by now never will.
    pub fn is_late(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.started_ns) > ATTACH_NS
    }

    /// Ranks are not through.
    pub fn not_through(&mut self, now_ns: u64) {
        self.through_ns = now_ns;
    }

    /// When the ranks were last seen not to be through.
    pub fn through_ns(&self) -> u64 {
        self.through_ns
    }

    /// All ranks are through. Whether to report to the root now that nothing more comes: once, and
    /// not while messages or names are under way (`waits`), or ranks leave the job (`leaving`).
    pub fn drain(&mut self, now_ns: u64, waits: bool, leaving: bool) -> bool {
        let since_ns = now_ns.saturating_sub(self.through_ns);
        let stays = (waits && since_ns < PEERS_NS) || (leaving && since_ns < LEAVING_NS);
        let is_due = !self.drained && !stays;
        self.drained |= is_due;
        is_due
    }

    /// Whether something is to be done in time: a rank has died, the root is lost, or the ranks are
    /// through and that is not reported yet.
    pub fn is_pressing(&self, are_through: bool) -> bool {
        let is_unsaid = are_through && !self.drained;
        is_unsaid || self.abnormal || self.root_lost_ns.is_some() || self.exit.is_some()
    }

    /// A rank died: the launcher ends the job, and nobody can finalise MPI any more.
    pub fn rank_died(&mut self) {
        self.abnormal = true;
    }

    pub fn root_lost(&mut self, now_ns: u64) {
        self.root_lost_ns = Some(now_ns);
    }

    pub fn root_is_back(&mut self) {
        self.root_lost_ns = None;
    }

    /// All ranks are through. Whether the root is lost; without one the place leaves by itself.
    pub fn is_without_root(&mut self, now_ns: u64) -> bool {
        let Some(since_ns) = self.root_lost_ns else {
            return false;
        };
        if now_ns.saturating_sub(since_ns) > WITHOUT_ROOT_NS {
            // An order of the root that came before is kept.
            self.exit.get_or_insert(Exit::RootLost);
        }
        true
    }

    /// The root orders the exit.
    pub fn leave(&mut self) {
        self.exit = Some(if self.abnormal {
            Exit::Abandon
        } else {
            Exit::Finalize
        });
    }

    /// How to leave, once it is time.
    pub fn exit(&self) -> Option<Exit> {
        self.exit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draining_waits_for_messages_and_for_leaving_ranks() {
        let mut end = JobEnd::new(0);
        end.not_through(100);
        assert!(!end.drain(101, true, false));
        assert!(!end.drain(100 + PEERS_NS, false, true));
        assert!(!end.drain(99 + LEAVING_NS, false, true));
        assert!(end.drain(100 + LEAVING_NS, true, true));
        assert!(!end.drain(101 + LEAVING_NS, false, false), "said once");
    }

    #[test]
    fn without_a_root_the_place_leaves_by_itself() {
        let mut end = JobEnd::new(0);
        assert!(!end.is_without_root(0));
        end.root_lost(10);
        assert!(end.is_without_root(10 + WITHOUT_ROOT_NS));
        assert_eq!(end.exit(), None);
        end.root_is_back();
        assert!(!end.is_without_root(20 + WITHOUT_ROOT_NS));
        end.root_lost(10);
        assert!(end.is_without_root(11 + WITHOUT_ROOT_NS));
        assert_eq!(end.exit(), Some(Exit::RootLost));
    }

    #[test]
    fn a_death_forbids_to_finalise() {
        for (dies, exit) in [(false, Exit::Finalize), (true, Exit::Abandon)] {
            let mut end = JobEnd::new(0);
            if dies {
                end.rank_died();
            }
            end.leave();
            assert_eq!(end.exit(), Some(exit));
        }
    }
}
