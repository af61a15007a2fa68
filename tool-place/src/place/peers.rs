//! What tool places tell each other: endpoints of messages, and which ranks report to whom.

use super::Place;
use crate::notes::Trouble;
use crate::time_point::Now;
use invivo_proto::ids::WorldRank;

impl Place {
    /// Whether messages of other places are to be received now.
    pub fn hears_peers(&mut self) -> bool {
        self.local.feed.is_lost || self.local.feed.analyses.traffic().is_ready()
    }

    /// A message of another process that should be a place.
    pub fn peer(&mut self, from: WorldRank, bytes: &[u8]) {
        let used = match self.local.layout.height(from) {
            _ if self.local.feed.is_lost => Ok(()),
            Some(1) => self.local.feed.analyses.arrive(from, bytes),
            _ => Err("it is no place".to_owned()),
        };
        if let Err(why) = used {
            self.local.feed.notes.add(Trouble::Control, || {
                format!("from process {from}, to this place: {why}; ignored")
            });
        }
    }

    /// Whether places tell each other which ranks report to them.
    pub fn has_directory(&mut self) -> bool {
        self.local.feed.analyses.traffic().has_directory()
    }

    /// A message of another place about which place ranks report to.
    pub fn places(&mut self, from: WorldRank, bytes: &[u8]) {
        if let Err(why) = self.local.feed.analyses.traffic().learn_places(from, bytes) {
            self.local.feed.notes.add(Trouble::Control, || {
                format!("from process {from}, about places: {why}; ignored")
            });
        }
    }

    /// What is to be sent to other places about that.
    pub fn take_places(&mut self) -> Vec<(WorldRank, Vec<u8>)> {
        self.local.feed.analyses.traffic().take_places()
    }

    /// What is to be sent to other places; `credit` says whether one takes another message.
    pub fn take_peers(
        &mut self,
        now: Now,
        credit: impl FnMut(WorldRank) -> bool,
    ) -> Vec<(WorldRank, Vec<u8>)> {
        self.local.feed.analyses.traffic().take(now.ns, credit)
    }
}
