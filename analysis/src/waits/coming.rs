//! Calls of collectives, whether or not their communicator is known yet.

use super::at_sites::At;
use super::meeting::Arrival;
use super::shape::Shape;
use alloc::vec::Vec;
use invivo_proto::control::meetings::{Meeting, Step};
use invivo_proto::ids::CommLocal;

/// Calls that wait for their communicator's definition: some 3 MB.
pub const UNRESOLVED_MAX: usize = 1 << 15;

/// A member's call, as far as it is known before its communicator is: `member` and `is_root` of its
/// arrival are not.
#[derive(Clone, Copy, Debug)]
pub struct Coming {
    pub comm: CommLocal,
    pub peer: i32,
    pub ordinal: u64,
    pub shape: Shape,
    pub at: At,
    /// When it was entered, in job time; of a non-blocking collective, the call that posts it.
    pub enter_ns: u64,
    /// It is non-blocking.
    pub is_posted: bool,
    pub arrival: Arrival,
}

impl Coming {
    /// A meeting of this member alone, once its place among the others is known.
    #[inline]
    pub fn meeting(&self) -> Meeting {
        let Arrival {
            rank,
            member,
            end_ns,
            is_root,
            sends,
            receives,
            untimed,
            ..
        } = self.arrival;
        let enter_ns = self.enter_ns;
        let enter = (enter_ns, rank);
        let moves = sends || receives;
        // What the root gives itself does not come late.
        let is_waited_for = match self.shape {
            Shape::NToOne => sends && !is_root,
            _ => moves,
        };
        let mut steps = Vec::new();
        if self.shape == Shape::Scan && moves {
            steps.push(Step {
                member,
                enter_ns,
                rank,
            });
        }
        Meeting {
            arrivals: 1,
            latest: is_waited_for.then_some(enter),
            // When a program asks whether it is complete says nothing of when it is.
            first_leave_ns: (receives && !self.is_posted).then_some(end_ns),
            root: is_root.then_some(enter),
            steps,
            // A cut through the call that completes it leaves the time of its post as it is.
            untimed: untimed && !self.is_posted,
            error_ns: 0,
        }
    }
}
