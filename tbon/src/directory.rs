//! Which place a rank reports to, where ranks are dealt out over the nodes.
//!
//! No process has a table of all ranks. The directory is cut into as many slices of neighbouring
//! ranks as there are places, and each place keeps one: what the places of its ranks have told it
//! at the start. A place that has a message for a rank asks for the slice that the rank belongs to,
//! once, and keeps some slices.
//!
//! ```text
//! start     each place -- Here(ranks) --> the keepers of its ranks' slices
//! later     place      -- Where       --> keeper
//!           place      <-- There(...) --  keeper, once its slice is complete
//! ```

use crate::layout::Layout;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use invivo_proto::control::places::Places;
use invivo_proto::ids::{Rank, WorldRank};

/// Slices of other places that are kept: of a job with 128 ranks on each of 8,192 nodes, 512 KiB. A
/// program whose ranks send to more of the job than that asks again.
pub const SLICES_MAX: usize = 1024;
/// A place that is not known.
const NOWHERE: u32 = u32::MAX;

/// One place's part of the directory.
#[derive(Debug)]
pub struct Directory {
    layout: Layout,
    /// Ranks of a slice; of the last ones it may have fewer.
    width: u32,
    /// The own slice's number, and the place of each of its ranks.
    own: u32,
    slice: Vec<u32>,
    /// Ranks of the own slice that are not known.
    missing: usize,
    /// Who has asked for it meanwhile.
    askers: BTreeSet<WorldRank>,
    /// Slices of others.
    known: BTreeMap<u32, Box<[u32]>>,
    /// Slices that were asked for.
    asked: BTreeSet<u32>,
    outbox: VecDeque<(WorldRank, Places)>,
}

impl Directory {
    /// Of the place `me`; nothing where the layout says of every rank where it reports to.
    pub fn new(layout: Layout, me: WorldRank) -> Option<Directory> {
        if layout.knows_all_places() {
            return None;
        }
        let ranks = layout.ranks_at(me)?;
        let own = layout.place_index(me)?;
        let width = layout.app().div_ceil(layout.places()).max(1);
        let begin = own.saturating_mul(width).min(layout.app());
        let size = (layout.app() - begin).min(width) as usize;
        let mut directory = Directory {
            layout,
            width,
            own,
            slice: vec![NOWHERE; size],
            missing: size,
            askers: BTreeSet::new(),
            known: BTreeMap::new(),
            asked: BTreeSet::new(),
            outbox: VecDeque::new(),
        };
        let mut by_slice: BTreeMap<u32, Vec<Rank>> = BTreeMap::new();
        for rank in ranks.iter() {
            by_slice.entry(rank.0 / width).or_default().push(rank);
        }
        for (slice, ranks) in by_slice {
            match slice == own {
                true => directory.enter(own, &ranks),
                false => directory.push(slice, Places::Here(ranks)),
            }
        }
        Some(directory)
    }

    /// The place of a rank; where it is not known, its slice is asked for.
    pub fn place_of(&mut self, rank: Rank) -> Option<WorldRank> {
        let (slice, at) = (rank.0 / self.width, (rank.0 % self.width) as usize);
        if rank.0 >= self.layout.app() {
            return None;
        }
        let place = match slice == self.own {
            true => self.slice.get(at),
            false => self.known.get(&slice).and_then(|places| places.get(at)),
        };
        match place {
            Some(&place) if place != NOWHERE => Some(self.layout.place(place)),
            // It comes by itself.
            Some(_) => None,
            None => {
                if self.asked.insert(slice) {
                    self.push(slice, Places::Where);
                }
                None
            }
        }
    }

    /// A message of another place. Whether ranks are known now that were not before.
    ///
    /// # Errors
    /// Why it is not used.
    pub fn receive(&mut self, from: WorldRank, message: Places) -> Result<bool, &'static str> {
        let sender = self.layout.place_index(from).ok_or("it is no place")?;
        match message {
            Places::Here(ranks) => {
                let width = self.width;
                if ranks.iter().any(|rank| rank.0 / width != self.own) {
                    return Err("it names ranks of another slice");
                }
                self.enter(sender, &ranks);
                Ok(true)
            }
            Places::Where => {
                self.askers.insert(from);
                self.answer();
                Ok(false)
            }
            Places::There(places) => {
                if !self.asked.remove(&sender) {
                    return Err("nobody has asked for it");
                }
                let begin = sender.saturating_mul(self.width).min(self.layout.app());
                let size = (self.layout.app() - begin).min(self.width) as usize;
                if places.len() != size || places.iter().any(|&one| one >= self.layout.places()) {
                    return Err("it is no slice of this job");
                }
                while self.known.len() >= SLICES_MAX {
                    self.known.pop_first();
                }
                self.known.insert(sender, places.into());
                Ok(true)
            }
        }
    }

    /// What is to be sent to other places.
    pub fn take(&mut self) -> impl Iterator<Item = (WorldRank, Places)> {
        self.outbox.drain(..)
    }

    fn push(&mut self, slice: u32, message: Places) {
        self.outbox.push_back((self.layout.place(slice), message));
    }

    /// Ranks of the own slice report to this place.
    fn enter(&mut self, place: u32, ranks: &[Rank]) {
        for rank in ranks {
            let at = (rank.0 % self.width) as usize;
            if let Some(entry) = self.slice.get_mut(at) {
                self.missing -= usize::from(*entry == NOWHERE);
                *entry = place;
            }
        }
        self.answer();
    }

    /// Answers who has asked, once the own slice is complete.
    fn answer(&mut self) {
        if self.missing == 0 {
            let slice = &self.slice;
            let answer = |to| (to, Places::There(slice.clone()));
            let answers = core::mem::take(&mut self.askers).into_iter().map(answer);
            self.outbox.extend(answers);
        }
    }
}
