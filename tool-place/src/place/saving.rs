//! Saves: freezes what the buffers of this place's ranks hold, and hands it over page by page.
//!
//! One save at a time, because a view may hold three quarters of a buffer. What has been handed
//! over is the buffers' again; all of it is when the save is over, or nobody has asked for
//! [`SAVE_LEASE_NS`].

use super::local_rank::Life;
use super::local_ranks::LocalRanks;
use crate::rank::Eagerness;
use crate::rank::saved::{FrozenLocation, name_communicators};
use crate::time_point::Now;
use invivo_analysis::communicators::Membership;
use invivo_analysis::groups::runs;
use invivo_proto::control::results::Group;
use invivo_proto::control::saved::{
    SAVE_LEASE_NS, SAVED_PAGE_BYTES, SAVED_PIECES_MAX, SaveAsk, SaveQuery, Saved, SavedBin,
    SavedPage, SavedPiece,
};
use invivo_proto::control::stacks::Chosen;
use invivo_proto::ids::{CommId, CommLocal, LocationId, Rank};
use invivo_tbon::job_time::JobClock;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ops::Range;

/// Bytes that a communicator of a rank, or a run of a group, takes in a message.
const DEFINITION_BYTES: usize = 32;
/// Bytes that a name of a region or of a calling context takes in a message, mostly.
const NAME_BYTES: usize = 128;
/// Bytes that everything else that is said of a location takes in a message, about.
const LOCATION_BYTES: usize = 2048;

/// The save that is under way, if there is one.
#[derive(Debug, Default)]
pub struct Saving {
    view: Option<View>,
}

/// What is held for a save.
#[derive(Debug)]
struct View {
    save: u64,
    /// When the last question came, by the node's clock.
    asked_ns: u64,
    /// Locations of which something is still to be given.
    waiting: VecDeque<Waiting>,
    /// Communicators whose members are still to be given.
    groups: VecDeque<(CommId, Group)>,
    /// Pages that were given, and the last of them.
    pages: u64,
    last: Option<SavedPage>,
    host: String,
    clock_error_ns: u64,
}

#[derive(Debug)]
struct Waiting {
    /// The rank's number here.
    index: usize,
    location: LocationId,
    /// Until its first piece.
    frozen: Option<FrozenLocation>,
    is_held: bool,
}

impl Saving {
    /// The answer to a question of a save.
    pub fn answer(
        &mut self,
        now: Now,
        query: SaveQuery,
        clock: &JobClock,
        is_paused: bool,
        local: &mut LocalRanks,
    ) -> Saved {
        let is_known = self
            .view
            .as_ref()
            .is_some_and(|view| view.save == query.save);
        if let Some(view) = self.view.as_mut().filter(|_| is_known) {
            view.asked_ns = now.ns;
        }
        match query.ask {
            SaveAsk::Freeze {
                chosen,
                from_ns,
                to_ns,
            } => {
                if self.view.is_some() && !is_known {
                    return Saved {
                        busy: 1,
                        ..Saved::default()
                    };
                }
                self.give_up(local);
                let (view, saved) = View::freeze(
                    now,
                    query.save,
                    clock,
                    is_paused,
                    &chosen,
                    from_ns..to_ns,
                    local,
                );
                self.view = Some(view);
                saved
            }
            SaveAsk::Page { rank, page } => {
                if local.index(rank).is_none() {
                    return Saved::default();
                }
                let view = self.view.as_mut().filter(|_| is_known);
                let page = match view {
                    Some(view) => view.page(page, local),
                    None => gone(page),
                };
                Saved {
                    page: Some(page),
                    ..Saved::default()
                }
            }
            SaveAsk::Thaw => {
                if is_known {
                    self.give_up(local);
                }
                Saved::default()
            }
        }
    }

    /// Gives up a save that nobody has asked for.
    pub fn give_up_forgotten(&mut self, now: Now, local: &mut LocalRanks) {
        let view = self.view.as_ref();
        if view.is_some_and(|view| now.ns.saturating_sub(view.asked_ns) > SAVE_LEASE_NS) {
            self.give_up(local);
        }
    }

    /// Lets go of all that is held.
    pub fn give_up(&mut self, local: &mut LocalRanks) {
        for waiting in self.view.take().into_iter().flat_map(|view| view.waiting) {
            let records = &mut local.ranks[waiting.index].records;
            records.thaw(usize::from(waiting.location.thread));
        }
    }
}

/// A page of a place that holds nothing.
fn gone(number: u64) -> SavedPage {
    SavedPage {
        number,
        is_gone: true,
        is_last: true,
        ..SavedPage::default()
    }
}

impl View {
    fn freeze(
        now: Now,
        save: u64,
        clock: &JobClock,
        is_paused: bool,
        ranks: &Chosen,
        job_ns: Range<u64>,
        local: &mut LocalRanks,
    ) -> (View, Saved) {
        let chosen: Vec<usize> = (0..local.len())
            .filter(|index| ranks.holds(local.rank(*index)))
            .collect();
        // All of them first, one right behind the other: what follows takes longer.
        for &index in &chosen {
            let one = &mut local.ranks[index];
            if one.life == Life::Alive {
                let feed = &mut local.feed;
                one.records.peek(now.ns, now.ticks, Eagerness::Now, feed);
            }
        }

        let mut saved = Saved::default();
        let mut waiting = VecDeque::new();
        let mut memberships = memberships(local, ranks);
        // Apart from the ranks, which are changed while it is read.
        let node = local.feed.analyses.clock().clone();
        let moment = crate::time_point::TimePoint::new(now, &node, clock);
        let mut oldest_ns = u64::MAX;
        for &index in &chosen {
            let rank = local.rank(index);
            for thread in 0..local.ranks[index].records.threads() {
                let (records, analyses) = (&mut local.ranks[index].records, &local.feed.analyses);
                let mut frozen = records.freeze(thread, &moment, analyses, &job_ns);
                let piece = &mut frozen.about.piece;
                piece.state = local.ranks[index].state(piece.state, is_paused);
                if !local.feed.cuts.is_on() {
                    // Nobody says what is left meanwhile.
                    piece.open_regions.clear();
                }
                // Once for each rank.
                if thread == 0 {
                    let known = local.feed.analyses.communicators();
                    let of_rank = memberships.remove(&rank).unwrap_or_default();
                    frozen.about.comms_left_out = name_communicators(piece, known, &of_rank);
                    let (_, pauses) = local.feed.analyses.over_time(rank);
                    let job_ns = |at| moment.job_of_ticks(at);
                    let pauses = pauses.kept(moment.ticks());
                    let pauses = pauses.map(|(begin, end)| (job_ns(begin), job_ns(end)));
                    frozen.about.pauses = pauses.collect();
                    let records = &local.ranks[index].records;
                    records.describe_samples(&mut frozen.about, &moment);
                }
                let begin = frozen.about.clock.first().map(|(_, job_ns)| *job_ns);
                oldest_ns = oldest_ns.min(begin.unwrap_or(u64::MAX));
                saved.locations += 1;
                saved.bytes += frozen.bytes.unwrap_or(0);
                waiting.push_back(Waiting {
                    index,
                    location: frozen.about.piece.location,
                    is_held: frozen.bytes.is_some(),
                    frozen: Some(frozen),
                });
            }
        }

        let oldest_ns = oldest_ns.min(moment.job_ns());
        let mut error_ns = moment.error_since_ns(oldest_ns);
        // What other places save is compared with it.
        if local.layout.places() > 1 {
            error_ns = error_ns.saturating_add(moment.reading_error_since_ns(oldest_ns));
        }
        let view = View {
            save,
            asked_ns: now.ns,
            groups: if chosen.is_empty() {
                VecDeque::new()
            } else {
                groups(local)
            },
            waiting,
            pages: 0,
            last: None,
            host: host(),
            clock_error_ns: error_ns,
        };
        (view, saved)
    }

    /// The page behind `number` others; the one given last again, if that is asked for.
    fn page(&mut self, number: u64, local: &mut LocalRanks) -> SavedPage {
        if let Some(last) = self.last.as_ref().filter(|last| last.number == number) {
            return last.clone();
        }
        if number != self.pages {
            return gone(number);
        }
        let mut page = SavedPage {
            number,
            host: self.host.clone(),
            clock_error_ns: self.clock_error_ns,
            ..SavedPage::default()
        };
        let mut room = SAVED_PAGE_BYTES;
        // A group that does not fit into what is left goes with the next page.
        while let Some((id, group)) = self.groups.pop_front() {
            let bytes = (1 + runs(&group)) * DEFINITION_BYTES;
            if bytes > room && !page.groups.is_empty() {
                self.groups.push_front((id, group));
                break;
            }
            room = room.saturating_sub(bytes);
            page.groups.insert(id, group);
        }
        while room > 0
            && page.pieces.len() < SAVED_PIECES_MAX
            && let Some(waiting) = self.waiting.front_mut()
        {
            let piece = waiting.piece(&mut room, local);
            if piece.is_complete {
                self.waiting.pop_front();
            }
            page.pieces.push(piece);
        }
        page.is_last = self.waiting.is_empty() && self.groups.is_empty();
        self.pages += 1;
        self.last = Some(page.clone());
        page
    }
}

impl Waiting {
    /// What there is room for of a location, one bin at least. A location that is complete is not
    /// held any longer.
    fn piece(&mut self, room: &mut usize, local: &mut LocalRanks) -> SavedPiece {
        let thread = usize::from(self.location.thread);
        let records = &mut local.ranks[self.index].records;
        let mut piece = SavedPiece {
            location: self.location,
            ..SavedPiece::default()
        };
        if let Some(frozen) = self.frozen.take() {
            let comms = frozen.about.piece.comms.len();
            // They get their names when the page is given.
            let regions = match thread {
                0 => local.feed.analyses.regions_met_count(self.location.rank),
                _ => 0,
            };
            let names = regions + frozen.about.piece.contexts.len();
            let definitions = comms * DEFINITION_BYTES + names * NAME_BYTES;
            *room = room.saturating_sub(LOCATION_BYTES + definitions);
            piece.about = Some(Box::new(frozen.about));
        }
        while self.is_held && (*room > 0 || (piece.bins.is_empty() && piece.about.is_none())) {
            let mut content = Vec::new();
            match records.next_bin(thread, &mut content) {
                Ok(Some(chain)) => {
                    *room = room.saturating_sub(content.len());
                    piece.bins.push(SavedBin { chain, content });
                }
                Ok(None) => self.is_held = false,
                Err(_) => (self.is_held, piece.is_cut) = (false, true),
            }
        }
        if !self.is_held {
            records.thaw(thread);
            piece.is_complete = true;
        }
        piece
    }
}

/// What ranks call their communicators, by rank and in the order of their numbers.
fn memberships(local: &LocalRanks, ranks: &Chosen) -> BTreeMap<Rank, Vec<(CommLocal, Membership)>> {
    let known = local.feed.analyses.communicators();
    let mut by_rank: BTreeMap<Rank, Vec<(CommLocal, Membership)>> = BTreeMap::new();
    for (rank, comm, of) in known.memberships().filter(|(rank, ..)| ranks.holds(*rank)) {
        by_rank.entry(rank).or_default().push((comm, of));
    }
    for of_rank in by_rank.values_mut() {
        of_rank.sort_unstable_by_key(|(comm, _)| *comm);
    }
    by_rank
}

/// Members of communicators, as far as they are known here: those that ranks of this place have
/// told, whoever uses them, and those that it has learned for its own ranks.
fn groups(local: &LocalRanks) -> VecDeque<(CommId, Group)> {
    let known = local.feed.analyses.communicators();
    let used: HashSet<CommId> = known
        .memberships()
        .flat_map(|(_, _, of)| [of.id, of.peers])
        .collect();
    let is_told = |id: CommId| local.index(id.leader).is_some() || used.contains(&id);
    let groups = known.groups().filter(|(id, _)| is_told(*id));
    let mut groups: Vec<(CommId, Group)> = groups.map(|(id, group)| (id, group.clone())).collect();
    groups.sort_unstable_by_key(|(id, _)| *id);
    groups.into()
}

/// This node's name.
fn host() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}
