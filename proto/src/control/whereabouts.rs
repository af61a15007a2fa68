//! Where a tool process runs, as its neighbours in the tree have to know it: whether it reads the
//! same clock, and whether a signal reaches it.

use bincode::{Decode, Encode};

/// Where a process runs. Zeroes stand for what could not be found out: they are shared with nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Whereabouts {
    /// The running system, by the number that its kernel drew when it started.
    pub system: u128,
    /// The time namespace, in which `CLOCK_MONOTONIC` may have an offset.
    pub time_space: u64,
    /// The namespace of process numbers.
    pub pid_space: u64,
    /// The process in that namespace, where a signal wakes it.
    pub pid: u32,
}

impl Whereabouts {
    /// Whether `CLOCK_MONOTONIC` is the same clock for both.
    pub fn shares_clock(&self, other: &Whereabouts) -> bool {
        let of_clock = |one: &Whereabouts| (one.system, one.time_space);
        self.system != 0 && self.time_space != 0 && of_clock(self) == of_clock(other)
    }

    /// The process by which `other` is woken from here, if it can be.
    pub fn pid_of(&self, other: &Whereabouts) -> Option<u32> {
        let of_pids = |one: &Whereabouts| (one.system, one.pid_space);
        let is_near = self.system != 0 && self.pid_space != 0 && of_pids(self) == of_pids(other);
        (is_near && other.pid != 0).then_some(other.pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Whereabouts = Whereabouts {
        system: 7,
        time_space: 2,
        pid_space: 3,
        pid: 44,
    };

    #[test]
    fn processes_of_one_node_share_a_clock_and_can_ring() {
        let other = Whereabouts { pid: 45, ..HERE };
        assert!(HERE.shares_clock(&other));
        assert_eq!(HERE.pid_of(&other), Some(45));
        assert_eq!(HERE.pid_of(&Whereabouts { pid: 0, ..HERE }), None);
    }

    #[test]
    fn other_nodes_and_unknown_ones_share_nothing() {
        let apart = [Whereabouts { system: 8, ..HERE }, Whereabouts::default()];
        for other in apart {
            assert!(!HERE.shares_clock(&other) && HERE.pid_of(&other).is_none());
        }
        let unknown = Whereabouts::default();
        assert!(!unknown.shares_clock(&unknown) && unknown.pid_of(&unknown).is_none());
        let slow = Whereabouts {
            time_space: 9,
            ..HERE
        };
        assert!(!HERE.shares_clock(&slow) && HERE.pid_of(&slow).is_some());
        let boxed = Whereabouts {
            pid_space: 9,
            ..HERE
        };
        assert!(HERE.shares_clock(&boxed) && HERE.pid_of(&boxed).is_none());
    }
}
