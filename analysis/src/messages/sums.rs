//! What came of the messages.

use super::Messages;
use invivo_proto::control::results;

impl Messages {
    /// Sends that wait for the way to another place.
    pub fn outgoing(&self) -> usize {
        self.outbox.len()
    }

    /// What came of the messages so far, but for those that [`Messages::add_unresolved`] adds.
    pub fn sums(&self) -> results::Messages {
        self.counters.sums()
    }

    /// The same; from now on it counts anew.
    pub fn take_sums(&mut self) -> results::Messages {
        let sums = self.sums();
        self.counters.forget_sums();
        sums
    }

    /// What came of the messages so far.
    pub fn to_partial(&self) -> results::Messages {
        let mut sums = self.sums();
        self.add_unresolved(&mut sums);
        sums
    }

    /// Adds the endpoints whose communicator or group is not known yet.
    pub fn add_unresolved(&self, sums: &mut results::Messages) {
        let unresolved = self
            .unknown
            .iter()
            .filter(|one| self.counters.counts(&one.endpoint));
        sums.unmatched.unresolved += unresolved.count() as u64;
    }
}
