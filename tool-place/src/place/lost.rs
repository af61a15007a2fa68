//! A place that failed in itself: what it held may be wrong, so that it is given up, and its ranks
//! run on unobserved. The place stays what the others need: a member of the tree that knows how its
//! ranks end, and lets the job end as it would.

use super::{Life, OneRank, Place};
use crate::analyses::Analyses;
use crate::cuts::Cuts;
use crate::gates;
use crate::notes::Trouble;
use crate::rank::{Feed, RankRecords};
use crate::recording::Recording;
use crate::store::Budget;
use crate::time_point::Now;
use std::sync::atomic::Ordering;

impl Place {
    /// The end of the job is asked for, and whoever asked may kill us next: the way to us is
    /// removed where all ranks are here.
    pub fn end_asked(&mut self) {
        let all_are_here = self.ranks.iter().all(|one| one.life != Life::Absent);
        if let Some(supervisors) = self.supervisors.as_mut().filter(|_| all_are_here) {
            supervisors.withdraw();
        }
    }

    /// Gives up what it holds. A pause ends, for nobody may know of it any more; commands are
    /// refused as behind the end of the measurement; what the ranks recorded counts as dropped.
    pub fn lose(&mut self, now: Now) {
        if self.feed.is_lost {
            return;
        }
        let clock = self.feed.analyses.clock().clone();
        let mut notes = std::mem::take(&mut self.feed.notes);
        let last = self.first + self.ranks.len() as u32 - 1;
        notes.add(Trouble::Panic, || {
            format!(
                "tool place {} failed in itself: what it held of ranks {} to {last} is lost, and they run on unobserved",
                self.me, self.first
            )
        });
        self.feed = Feed {
            analyses: Analyses::new(self.layout, self.me, clock),
            cuts: Cuts::default(),
            budget: Budget::new(0, 0),
            notes,
            latency_ticks: self.feed.latency_ticks,
            taps: None,
            is_lost: true,
        };
        self.looks = super::waits::Looks::default();
        self.walks = super::stacks::Walks::default();
        self.recording = Recording::over(self.first..last + 1);
        self.ready = true;
        let ended = self.pauses.end_all();
        self.act(now, ended);
        for OneRank { records, .. } in &mut self.ranks {
            *records = std::mem::replace(records, RankRecords::new(records.rank())).lost();
            if let Some(memory) = records.memory() {
                let epoch = memory.page().control.recording.load(Ordering::Relaxed);
                gates::switch(
                    memory,
                    false,
                    invivo_proto::shm::recording::epoch(epoch),
                    now.ticks,
                );
                gates::open(memory);
            }
        }
    }
}
