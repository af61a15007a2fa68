//! The twin: records as plain values in bins that are elements of a `VecDeque`. What a record takes it learns from
//! [`crate::size`]; what goes it decides by looking at everything.

use crate::size::Measure;
use invivo_otfx::{
    AtCap, Attributes, Contents, EventClass, Geometry, Head, Label, Ledger, LevelStatus, Reason, Stored,
    Strategy,
};
use invivo_proto::record::Part;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// No record carries more parts; see [`invivo_proto::record::MAX_PARTS`].
const MAX_PARTS: usize = 256;
/// What a head and a part take at most.
const HEAD_MAX: usize = 128;
const PART_MAX: usize = 64;

pub fn class_of(contents: &Contents) -> EventClass {
    match contents.head {
        Head::Call(_) | Head::Rest { .. } => EventClass::Call,
        Head::Region(_) => EventClass::Region,
        Head::Sample { .. } => EventClass::Sample,
        Head::Metric { .. } => EventClass::Metric,
        Head::Opaque { class, .. } => class,
    }
}

fn is_record(contents: &Contents) -> bool {
    !matches!(contents.head, Head::Rest { .. })
}

#[derive(Clone, Debug)]
struct Bin {
    id: u64,
    items: Vec<Contents>,
    measure: Measure,
}

impl Bin {
    fn records(&self) -> impl Iterator<Item = &Contents> + Clone {
        self.items.iter().filter(|item| is_record(item))
    }
}

#[derive(Debug)]
struct Level {
    label: Label,
    bins: VecDeque<Bin>,
    /// Whether the newest bin takes more.
    open: bool,
    closed: bool,
    last_end: u64,
    next_request: u64,
    losses: Losses,
}

/// Records by class and reason, with their ends.
type Losses = BTreeMap<(EventClass, Reason), Vec<u64>>;

#[derive(Debug)]
enum Last {
    Gone,
    Call { level: usize, bin: u64 },
    Over,
}

#[derive(Debug)]
pub struct Naive {
    pub strategy: Strategy,
    geometry: Geometry,
    levels: Vec<Level>,
    former: Vec<Level>,
    earlier: Losses,
    stored: u64,
    parts_reduced: u64,
    pub reductions: u64,
    last: Last,
    pub iteration: u64,
    iterations: u64,
    pub halvings: u32,
    pub dropped_at: Option<u64>,
    bins_made: u64,
    pub frozen: Option<View>,
    /// Bins that only the view has.
    detached: BTreeSet<u64>,
}

/// What a view still has to read, by chain.
#[derive(Debug)]
pub struct View {
    chains: Vec<ViewChain>,
    lent: Option<usize>,
}

#[derive(Debug)]
struct ViewChain {
    bins: VecDeque<(u64, VecDeque<Contents>)>,
    pending: Option<Contents>,
}

impl Level {
    fn new(label: Label) -> Level {
        Level {
            label,
            bins: VecDeque::new(),
            open: false,
            closed: false,
            last_end: 0,
            next_request: 0,
            losses: Losses::new(),
        }
    }

    fn samples(&self) -> bool {
        matches!(self.label, Label::Ordinal(_))
    }

    fn lose(&mut self, class: EventClass, reason: Reason, end: u64) {
        self.losses.entry((class, reason)).or_default().push(end);
    }

    fn lose_bin(&mut self, bin: &Bin, reason: Reason) {
        for record in bin.records() {
            self.lose(class_of(record), reason, record.head.end());
        }
    }
}

impl Naive {
    pub fn new(strategy: Strategy, geometry: Geometry) -> Self {
        Naive {
            levels: strategy.labels().into_iter().map(Level::new).collect(),
            strategy,
            geometry,
            former: Vec::new(),
            earlier: Losses::new(),
            stored: 0,
            parts_reduced: 0,
            reductions: 0,
            last: Last::Gone,
            iteration: 0,
            iterations: 0,
            halvings: 0,
            dropped_at: None,
            bins_made: 0,
            frozen: None,
            detached: BTreeSet::new(),
        }
    }

    /// Stores a record, given as it would be read back but for its end and its iteration.
    pub fn store(&mut self, mut contents: Contents, duration: u64, ordinal: u64, refused: bool) -> Stored {
        self.stored += 1;
        let class = class_of(&contents);
        let is_call = matches!(contents.head, Head::Call(_));
        if !is_call && matches!(self.last, Last::Call { .. }) {
            self.last = Last::Over;
        }
        if !matches!(contents.head, Head::Opaque { .. }) {
            contents.iteration = self.iteration;
        }
        let attributes = Attributes {
            depth: contents.depth,
            clipped: contents.clipped,
        };
        let level = crate::policy::level(
            &self.strategy,
            class,
            attributes,
            duration,
            ordinal,
            self.iteration,
        );
        let gone = self.gone();
        let end = contents.head.end();
        if refused {
            return self.refuse(level, class, Reason::Refused, end, gone, is_call);
        }
        let kept = normal(contents.clone(), self.levels[level].last_end);
        if self.levels[level].open && self.whole(level, &kept, kept.parts.len()) {
            self.stored_in(level, is_call);
            return Stored {
                kept: true,
                given_up: 0,
            };
        }
        if is_call {
            self.last = Last::Gone;
        }
        let posts = |part: &&Part| part.facts.kind.posts();
        let of_head = match kept.head {
            Head::Call(call) if call.facts.kind.posts() => Some(call.request),
            _ => None,
        };
        let posted = of_head.or_else(|| kept.parts.iter().find(posts).map(|part| part.request));
        if let Err(reason) = self.open_bin(level, end, posted) {
            return self.refuse(level, class, reason, end, gone, is_call);
        }
        if self.whole(level, &kept, kept.parts.len()) {
            self.stored_in(level, is_call);
            return Stored {
                kept: true,
                given_up: self.gone() - gone,
            };
        }
        // The bin is still empty: from the beginning.
        let emptied = &mut self.levels[level];
        emptied.open = true;
        let measure = Measure::new(emptied.last_end, emptied.next_request);
        emptied.bins.back_mut().expect("just made").measure = measure;
        let room = self.geometry.bin_bytes - invivo_otfx::BIN_HEAD_BYTES;
        let fit = kept.parts.len().min(MAX_PARTS).min((room - HEAD_MAX) / PART_MAX);
        assert!(self.whole(level, &kept, fit));
        self.stored_in(level, true);
        let parts_reduced = self.parts_reduced;
        self.store_more(&contents.parts[fit..]);
        let kept = matches!(self.last, Last::Call { .. });
        Stored {
            kept: kept && parts_reduced == self.parts_reduced,
            given_up: self.gone() - gone - u64::from(!kept),
        }
    }

    fn refuse(
        &mut self,
        level: usize,
        class: EventClass,
        reason: Reason,
        end: u64,
        gone: u64,
        is_call: bool,
    ) -> Stored {
        if is_call {
            self.last = Last::Gone;
        }
        let given_up = self.gone() - gone;
        self.levels[level].lose(class, reason, end);
        Stored {
            kept: false,
            given_up,
        }
    }

    fn stored_in(&mut self, level: usize, is_call: bool) {
        if is_call {
            let bin = self.levels[level].bins.back().expect("it was stored there").id;
            self.last = Last::Call { level, bin };
        }
    }

    /// Tries the open bin with so many parts of the record (the rest apart from it, if it is all of them).
    fn whole(&mut self, level: usize, contents: &Contents, parts: usize) -> bool {
        let room = self.geometry.bin_bytes;
        let level = &mut self.levels[level];
        let bin = level.bins.back_mut().expect("an open level has a bin");
        let measure = &mut bin.measure;
        let used = measure.used;
        let beside = parts.min(MAX_PARTS);
        measure.record(contents, beside);
        let mut fits = measure.used <= room;
        let mut rest = &contents.parts[beside..parts];
        while fits && !rest.is_empty() {
            let fit = surely(measure, room, rest);
            fits = fit > 0;
            if fits {
                measure.more(&rest[..fit]);
                rest = &rest[fit..];
            }
        }
        if !fits {
            // Nothing else of it is looked at in a bin that is closed.
            measure.used = used;
            level.open = false;
            return false;
        }
        let mut item = contents.clone();
        item.parts.truncate(parts);
        level.last_end = item.head.end();
        level.next_request = measure.next_request;
        bin.items.push(item);
        true
    }

    pub fn store_more(&mut self, mut parts: &[Part]) {
        let room = self.geometry.bin_bytes;
        while !parts.is_empty() {
            let level = match self.last {
                Last::Call { level, .. } => level,
                Last::Gone => return,
                Last::Over => {
                    self.parts_reduced += parts.len() as u64;
                    return;
                }
            };
            let end = self.levels[level].last_end;
            if self.levels[level].open {
                let level = &mut self.levels[level];
                let bin = level.bins.back_mut().expect("an open level has a bin");
                let fit = surely(&bin.measure, room, parts);
                if fit > 0 {
                    bin.measure.more(&parts[..fit]);
                    level.next_request = bin.measure.next_request;
                    bin.items.push(normal(
                        Contents {
                            head: Head::Rest { end },
                            parts: parts[..fit].to_vec(),
                            ..Contents::default()
                        },
                        end,
                    ));
                    parts = &parts[fit..];
                    continue;
                }
            }
            let posted = parts
                .iter()
                .find(|part| part.facts.kind.posts())
                .map(|part| part.request);
            if self.open_bin(level, end, posted).is_err() {
                self.parts_reduced += parts.len() as u64;
                return;
            }
        }
    }

    pub fn begin_iteration(&mut self) {
        self.iterations += 1;
        self.iteration = self.iterations;
    }

    pub fn reset(&mut self) {
        self.last = Last::Gone;
        for which in (0..self.former.len())
            .map(Which::Former)
            .chain((0..self.levels.len()).map(Which::Level))
        {
            self.remove_all(which, Reason::Reset);
        }
        for level in &mut self.levels {
            level.closed = false;
            (level.last_end, level.next_request) = (0, 0);
        }
        self.halvings = 0;
        self.dropped_at = None;
    }

    pub fn set_strategy(&mut self, strategy: Strategy) {
        if matches!(self.last, Last::Call { .. }) {
            self.last = Last::Over;
        }
        let levels = strategy.labels().into_iter().map(Level::new).collect();
        self.former.extend(std::mem::replace(&mut self.levels, levels));
        for level in self.former.extract_if(.., |level| level.bins.is_empty()) {
            for (key, ends) in level.losses {
                self.earlier.entry(key).or_default().extend(ends);
            }
        }
        self.strategy = strategy;
        self.halvings = 0;
        self.dropped_at = None;
    }

    fn all(&self) -> impl Iterator<Item = &Level> + Clone {
        self.former.iter().chain(&self.levels)
    }

    fn free(&self) -> usize {
        let used: usize = self.all().map(|level| level.bins.len()).sum();
        self.geometry.bins as usize - used - self.detached.len()
    }

    fn held(&self, bin: u64) -> bool {
        let view = self.frozen.iter().flat_map(|view| &view.chains);
        view.flat_map(|chain| &chain.bins).any(|(id, _)| *id == bin)
    }

    fn open_bin(&mut self, level: usize, end: u64, posted: Option<u64>) -> Result<(), Reason> {
        if self.levels[level].closed {
            let samples = self.levels[level].samples();
            return Err(if samples { Reason::Closed } else { Reason::Cap });
        }
        self.levels[level].open = false;
        if let Some(cap) = self.strategy.event_cap
            && !self.levels[level].samples()
        {
            let limit = u64::from(self.geometry.bins) * u64::from(cap.bins_permille) / 1000;
            let events = |naive: &Naive| -> u64 {
                let levels = naive.levels.iter().filter(|level| !level.samples());
                levels.map(|level| level.bins.len() as u64).sum()
            };
            while events(self) >= limit {
                if cap.then == AtCap::Oldest {
                    self.make_room(level, true)?;
                    continue;
                }
                for index in 0..self.levels.len() {
                    if !self.levels[index].samples() {
                        self.remove_all(Which::Level(index), Reason::Cap);
                        self.levels[index].closed = true;
                    }
                }
                self.dropped_at = Some(end);
                return Err(Reason::Cap);
            }
        }
        while self.free() == 0 {
            self.make_room(level, false)?;
        }
        let level = &mut self.levels[level];
        level.next_request = posted.unwrap_or(level.next_request);
        level.last_end = level.last_end.max(end);
        level.bins.push_back(Bin {
            id: self.bins_made,
            items: Vec::new(),
            measure: Measure::new(level.last_end, level.next_request),
        });
        level.open = true;
        self.bins_made += 1;
        Ok(())
    }

    fn make_room(&mut self, wanting: usize, events_only: bool) -> Result<(), Reason> {
        if !events_only && let Some(index) = self.former.iter().position(|level| !level.bins.is_empty()) {
            return self.remove_oldest(Which::Former(index));
        }
        for index in 0..=wanting {
            let level = &self.levels[index];
            let empty = level.bins.is_empty();
            match (level.samples(), level.closed) {
                (_, true) => {}
                (false, false) if !empty => return self.remove_oldest(Which::Level(index)),
                (false, false) => {}
                (true, false) if events_only => {}
                (true, false) => {
                    if level.bins.front().is_some_and(|bin| self.held(bin.id)) {
                        return Err(Reason::Held);
                    }
                    let Label::Ordinal(lambda) = level.label else {
                        unreachable!("a level of samples")
                    };
                    self.halvings = u32::from(lambda) + 1;
                    self.remove_all(Which::Level(index), Reason::Room);
                    self.levels[index].closed = true;
                    if index == wanting {
                        return Err(Reason::Closed);
                    }
                    if !empty {
                        return Ok(());
                    }
                }
            }
        }
        Err(Reason::Room)
    }

    fn level(&mut self, which: Which) -> &mut Level {
        match which {
            Which::Former(index) => &mut self.former[index],
            Which::Level(index) => &mut self.levels[index],
        }
    }

    fn remove_oldest(&mut self, which: Which) -> Result<(), Reason> {
        let oldest = self.level(which).bins.front().expect("it has a bin").id;
        if self.held(oldest) {
            return Err(Reason::Held);
        }
        let level = self.level(which);
        let bin = level.bins.pop_front().expect("it has a bin");
        self.reductions += 1;
        let level = self.level(which);
        level.open &= !level.bins.is_empty();
        level.lose_bin(&bin, Reason::Room);
        if matches!(self.last, Last::Call { bin, .. } if bin == oldest) {
            self.last = Last::Gone;
        }
        Ok(())
    }

    fn remove_all(&mut self, which: Which, reason: Reason) {
        if let (Which::Level(index), Last::Call { level, .. }) = (which, &self.last)
            && index == *level
        {
            self.last = Last::Gone;
        }
        let level = self.level(which);
        level.open = false;
        let bins = std::mem::take(&mut level.bins);
        self.reductions += u64::from(!bins.is_empty() && reason != Reason::Reset);
        for bin in bins {
            self.level(which).lose_bin(&bin, reason);
            if self.held(bin.id) {
                self.detached.insert(bin.id);
            }
        }
    }

    fn losses(&self) -> impl Iterator<Item = (Label, &Losses)> {
        let earlier = std::iter::once((Label::Earlier, &self.earlier));
        earlier.chain(self.all().map(|level| (level.label, &level.losses)))
    }

    fn gone(&self) -> u64 {
        self.losses()
            .flat_map(|(_, losses)| losses.values())
            .map(|ends| ends.len() as u64)
            .sum()
    }

    /// How many records each level lost, by class and reason, and the first and the last of their ends.
    pub fn lost(&self) -> BTreeMap<(Label, EventClass, Reason), (u64, u64, u64)> {
        let mut all: BTreeMap<_, Vec<u64>> = BTreeMap::new();
        for (label, losses) in self.losses() {
            for ((class, reason), ends) in losses {
                all.entry((label, *class, *reason)).or_default().extend(ends);
            }
        }
        let row = |ends: &Vec<u64>| {
            let (first, last) = (ends.iter().min(), ends.iter().max());
            (
                ends.len() as u64,
                *first.expect("not empty"),
                *last.expect("not empty"),
            )
        };
        all.iter().map(|(key, ends)| (*key, row(ends))).collect()
    }

    /// What each level tells: its label, whether it is of an earlier strategy and whether it is closed, its bins, its records
    /// by class, and the end of the last that it gave up.
    pub fn levels(&self) -> Vec<LevelStatus> {
        let status = |(index, level): (usize, &Level)| {
            let records = |class| {
                level
                    .bins
                    .iter()
                    .flat_map(Bin::records)
                    .filter(move |r| class_of(r) == class)
            };
            LevelStatus {
                label: level.label,
                former: index < self.former.len(),
                closed: level.closed && index >= self.former.len(),
                bins: level.bins.len() as u32,
                kept: EventClass::ALL.map(|class| records(class).count() as u64),
                gone_until: level.losses.values().flatten().max().copied(),
            }
        };
        self.all().enumerate().map(status).collect()
    }

    pub fn ledger(&self) -> Ledger {
        let mut ledger = Ledger {
            stored: self.stored,
            kept: self
                .all()
                .flat_map(|level| &level.bins)
                .map(|bin| bin.records().count() as u64)
                .sum(),
            parts_reduced: self.parts_reduced,
            ..Ledger::default()
        };
        for ((_, reason), ends) in self.losses().flat_map(|(_, losses)| losses) {
            let records = ends.len() as u64;
            match reason {
                Reason::Held => ledger.dropped += records,
                Reason::Reset => ledger.reset += records,
                _ => ledger.reduced += records,
            }
        }
        ledger
    }

    /// Bins in use, and their bytes.
    pub fn used(&self) -> (usize, usize) {
        let bins = self.all().flat_map(|level| &level.bins);
        (bins.clone().count(), bins.map(|bin| bin.measure.used).sum())
    }

    /// The ends of the oldest and the newest kept record.
    pub fn span(&self) -> Option<(u64, u64)> {
        let bins = self.all().flat_map(|level| &level.bins);
        let ends = bins.flat_map(Bin::records).map(|record| record.head.end());
        ends.clone().min().zip(ends.max())
    }

    /// All that is kept: each level's records with their continuations joined, then sorted by their end.
    pub fn kept(&self) -> Vec<Contents> {
        let mut all = Vec::new();
        for level in self.all() {
            let mut joined: Vec<Contents> = Vec::new();
            for item in level.bins.iter().flat_map(|bin| &bin.items) {
                match joined.last_mut() {
                    Some(before) if !is_record(item) => before.parts.extend(&item.parts),
                    _ => joined.push(item.clone()),
                }
            }
            all.extend(joined);
        }
        all.sort_by_key(|item| item.head.end());
        all
    }

    pub fn freeze(&mut self) {
        while self.free() < self.geometry.bins as usize / 4 {
            if self.make_room(self.levels.len() - 1, false).is_err() {
                break;
            }
        }
        let chain = |level: &Level| ViewChain {
            bins: level
                .bins
                .iter()
                .map(|bin| (bin.id, bin.items.iter().cloned().collect()))
                .collect(),
            pending: None,
        };
        let chains = self
            .all()
            .filter(|level| !level.bins.is_empty())
            .map(chain)
            .collect();
        self.frozen = Some(View { chains, lent: None });
    }

    /// The view's next record.
    pub fn read_frozen(&mut self) -> Option<Contents> {
        let view = self.frozen.as_mut()?;
        if let Some(lent) = view.lent.take() {
            view.chains[lent].pending = None;
        }
        for chain in &mut view.chains {
            if chain.pending.is_none() {
                chain.advance(&mut self.detached);
            }
        }
        let end = |index: &usize| {
            view.chains[*index]
                .pending
                .as_ref()
                .map(|record| record.head.end())
        };
        view.lent = (0..view.chains.len())
            .filter(|index| end(index).is_some())
            .min_by_key(end);
        view.chains[view.lent?].pending.clone()
    }

    pub fn thaw(&mut self) {
        self.frozen = None;
        self.detached.clear();
    }
}

#[derive(Clone, Copy)]
enum Which {
    Former(usize),
    Level(usize),
}

impl ViewChain {
    /// Takes the next record with its continuations. A bin is done with as soon as its last record is taken.
    fn advance(&mut self, detached: &mut BTreeSet<u64>) {
        while let Some((id, items)) = self.bins.front_mut() {
            match (items.front(), &mut self.pending) {
                (Some(item), Some(pending)) if !is_record(item) => {
                    pending.parts.extend(&item.parts);
                    items.pop_front();
                }
                (Some(_), Some(_)) => return,
                (Some(_), pending) => *pending = items.pop_front(),
                (None, _) => {
                    detached.remove(id);
                    self.bins.pop_front();
                }
            }
        }
    }
}

/// How many parts surely fit as a continuation.
fn surely(measure: &Measure, room: usize, parts: &[Part]) -> usize {
    parts
        .len()
        .min(MAX_PARTS)
        .min((room - measure.used).saturating_sub(4) / PART_MAX)
}

/// The record as it is read back: what its kind does not carry is zero, its end is not before the last.
fn normal(mut contents: Contents, last_end: u64) -> Contents {
    match &mut contents.head {
        Head::Call(call) => {
            call.end = call.end.max(last_end);
            if !call.facts.kind.posts() {
                call.request = 0;
            }
            if !call.facts.kind.has_ordinal() {
                call.ordinal = 0;
            }
        }
        Head::Region(pass) => pass.end = pass.end.max(last_end),
        Head::Rest { end } => *end = (*end).max(last_end),
        Head::Sample { time, .. } | Head::Metric { time, .. } | Head::Opaque { time, .. } => {
            *time = (*time).max(last_end);
        }
    }
    let end = contents.head.end();
    for part in &mut contents.parts {
        let kind = part.facts.kind;
        if !kind.completes() && !kind.posts() {
            part.request = 0;
        }
        part.posted = if kind.completes() { part.posted.min(end) } else { 0 };
    }
    contents
}
