//! Tells what went wrong with a rank's records: the matching of messages, and the user.

use super::{Feed, RankRecords};
use crate::memory::Memory;
use crate::notes::Trouble;
use invivo_proto::packet::DropReason;
use invivo_proto::record::RecordError;
use std::sync::atomic::Ordering;

impl RankRecords {
    /// Reports new losses before `at` (ticks) to the matching of messages.
    pub(super) fn notice_losses(&mut self, thread: usize, at: u64, feed: &mut Feed) {
        let page = self.memory.as_ref().map(Memory::page);
        let status = page.and_then(|page| page.status.get(thread));
        let opened = self.opened(thread);
        let location = &mut self.locations[thread];
        let counts = location.intake.counts();
        let dropped = match status {
            Some(status) => {
                (status.dropped.each_ref()).map(|dropped| dropped.load(Ordering::Relaxed))
            }
            None => location.losses.dropped,
        };
        // Calls that are not selected carry no message.
        let not_selected = dropped[DropReason::NotSelected as usize];
        let dropped = dropped.iter().sum::<u64>() - not_selected;
        // Matching sends with receives by their order is wrong across a gap, so it has to know of
        // each.
        let lost = [counts.lost, counts.unreadable]
            .iter()
            .fold(dropped, |sum, more| sum.saturating_add(*more));
        if lost > location.lost_known {
            location.lost_known = lost;
            location.cut_off.lost_before(opened);
            feed.analyses.lost(self.rank, at);
        }
        location.cut_off.reads(location.intake.wants());
    }

    pub(super) fn tell_lost(&self, thread: usize, packet: u64, feed: &mut Feed) {
        let rank = self.rank;
        feed.notes.add(Trouble::LostPacket, || {
            format!(
                "rank {rank}, thread {thread}: packet {packet} never came; its records count as \
                 dropped"
            )
        });
    }

    pub(super) fn tell(&self, read: Result<(), RecordError>, feed: &mut Feed) {
        if let Err(error) = read {
            let rank = self.rank;
            feed.notes.add(Trouble::Record, || {
                format!("rank {rank}: {error}; the rest of the packet is dropped")
            });
        }
    }
}
