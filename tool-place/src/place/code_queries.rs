//! Answers queries about call sites and regions, and those in which regions stand: supervisors look
//! up the names of new addresses.
//!
//! What is at an address is asked for when somebody wants to see it, and once: tables of large
//! programs take a supervisor some time. So a job that nobody asks pays nothing for names, but at
//! its end, where its report has them.
//!
//! ```text
//! Query -> Name what is new -> Named -> the answer
//! ```
//!
//! A name that comes too late is in the next answer.

use super::local_ranks::LocalRanks;
use super::region_names::Unnamed;
use super::stack_names::StackNames;
use crate::time_point::Now;
use invivo_analysis::{regions, sites};
use invivo_proto::control::local::{Module, Named, OFFSETS_MAX, ToSupervisor};
use invivo_proto::control::regions::Region;
use invivo_proto::control::results::Coverage;
use invivo_proto::control::sites::Place;
use invivo_proto::control::tree::{Partial, Up};
use invivo_proto::ids::{Rank, WaveId};
use std::collections::{BTreeMap, BTreeSet};

/// How long names are waited for: well below what a wave may take. Reading the tables of a large
/// program takes longer, once.
const PATIENCE_NS: u64 = 750_000_000;
/// Questions that a supervisor has before it at one time: what its socket has room for many times
/// over. The rest is asked for when it has answered some.
const QUESTIONS_MAX: usize = 8;
/// Addresses of files, by the files' numbers in [`StackNames`].
type Address = (usize, u64);

/// Rows of an answer without names yet.
pub enum Found {
    Sites(sites::Found),
    Regions(regions::Found),
    Unnamed(Box<Unnamed>),
}

impl Found {
    /// The addresses that are to be named: the file, a rank that has it, and the address.
    fn code(&self) -> Vec<(&Module, Rank, u64)> {
        match self {
            Found::Sites(found) => all(&found.code, |site| &site.place),
            Found::Regions(found) => all(&found.code, place),
            Found::Unnamed(unnamed) => unnamed.code(),
        }
    }

    /// The answer, with what is known at addresses.
    fn named(self, at: impl Fn(&Module, u64) -> Option<Vec<Named>>) -> Partial {
        match self {
            Found::Sites(sites::Found { mut table, code }) => {
                let rows = table.rows.iter_mut();
                let rows = rows.map(|(site, row)| (code.get(site), &site.place, &mut row.named));
                table.unnamed += name(rows, at);
                Partial::Sites(Box::new(table))
            }
            Found::Regions(regions::Found { mut table, code }) => {
                let rows = table.rows.iter_mut();
                let rows =
                    rows.map(|(region, row)| (code.get(region), place(region), &mut row.named));
                table.unnamed += name(rows, at);
                Partial::Regions(Box::new(table))
            }
            Found::Unnamed(unnamed) => unnamed.named(at),
        }
    }
}

/// Names rows that have code; how many have no name yet.
fn name<'a>(
    rows: impl Iterator<Item = (Option<&'a (Module, Rank)>, &'a Place, &'a mut Vec<Named>)>,
    at: impl Fn(&Module, u64) -> Option<Vec<Named>>,
) -> u64 {
    let mut unnamed = 0;
    for (code, place, named) in rows {
        let Some(((module, _), offset)) = code.zip(offset(place)) else {
            continue;
        };
        match at(module, offset) {
            Some(all) => *named = all,
            None => unnamed += 1,
        }
    }
    unnamed
}

/// Where a region's code is.
fn place(region: &Region) -> &Place {
    match region {
        Region::Function(place) => place,
        Region::Marked(_) => &Place::Nowhere,
    }
}

fn all<'a, K>(
    code: &'a BTreeMap<K, (Module, Rank)>,
    place: impl Fn(&'a K) -> &'a Place,
) -> Vec<(&'a Module, Rank, u64)> {
    let code = code.iter();
    code.filter_map(|(key, (module, rank))| Some((module, *rank, offset(place(key))?)))
        .collect()
}

/// The address of code that is in a file.
fn offset(place: &Place) -> Option<u64> {
    match place {
        Place::Code { offset, .. } => Some(*offset),
        _ => None,
    }
}

/// Questions that wait for supervisors, and the names so far.
#[derive(Default)]
pub struct CodeQueries {
    under_way: Vec<Waiting>,
    names: StackNames,
    /// Addresses that nobody has been asked about yet, by the rank whose supervisor is to be.
    ahead: BTreeMap<Rank, BTreeSet<Address>>,
    /// Questions that a rank's supervisor has not answered.
    asked: BTreeMap<Rank, Vec<(usize, Vec<u64>)>>,
    /// Answers so far.
    learned: u64,
}

struct Waiting {
    wave: WaveId,
    begun_ns: u64,
    found: Found,
    /// Of the same moment.
    coverage: Coverage,
}

impl CodeQueries {
    /// Begins to answer with these rows. The answer, where no supervisor has to be asked.
    pub fn begin(
        &mut self,
        now: Now,
        wave: WaveId,
        found: Found,
        local: &mut LocalRanks,
    ) -> Option<Up> {
        if self.under_way.is_empty() {
            // What was not answered will not be: ranks end with their supervisors.
            self.ahead.clear();
            self.asked.clear();
            self.names.make_room();
        }
        for (module, rank, offset) in found.code() {
            self.look_up(module, rank, offset);
        }
        self.ask(local);
        let waiting = Waiting {
            wave,
            begun_ns: now.ns,
            found,
            coverage: local.coverage(now),
        };
        if self.asked.is_empty() {
            return Some(self.answer(waiting));
        }
        self.under_way.push(waiting);
        None
    }

    /// Answers with these rows, with the names that are known already.
    pub fn known(&self, now: Now, wave: WaveId, found: Found, local: &LocalRanks) -> Up {
        self.answer(Waiting {
            wave,
            begun_ns: now.ns,
            found,
            coverage: local.coverage(now),
        })
    }

    /// What is at an address of a file that a rank has, the innermost first. Nothing while that is
    /// not known; then it is asked for with the next [`CodeQueries::ask`].
    pub fn look_up(&mut self, module: &Module, rank: Rank, offset: u64) -> Option<&[Named]> {
        let address = (self.names.number(module), offset);
        if !self.names.has(address) && !self.is_awaited(address) {
            self.ahead.entry(rank).or_default().insert(address);
        }
        self.names.at(address)
    }

    /// How often supervisors have answered: while that is the same, no name is new.
    pub fn learned(&self) -> u64 {
        self.learned
    }

    /// A supervisor knows what is at these addresses.
    pub fn named(&mut self, module: &Module, named: &[(u64, Vec<Named>)]) {
        self.names.learn(module, named);
        self.learned += 1;
        let names = &self.names;
        for questions in self.asked.values_mut() {
            questions.retain(|(of, offsets)| !offsets.iter().all(|at| names.has((*of, *at))));
        }
        self.asked.retain(|_, questions| !questions.is_empty());
    }

    /// Answers what is complete or has waited for long enough.
    pub fn due(&mut self, now: Now, local: &mut LocalRanks) -> Vec<Up> {
        if self.under_way.is_empty() {
            return Vec::new();
        }
        self.ask(local);
        let is_complete = self.asked.is_empty();
        let is_due = |waiting: &mut Waiting| {
            is_complete || now.ns.saturating_sub(waiting.begun_ns) >= PATIENCE_NS
        };
        let due: Vec<Waiting> = self.under_way.extract_if(.., is_due).collect();
        due.into_iter()
            .map(|waiting| self.answer(waiting))
            .collect()
    }

    /// Whether somebody has been asked about an address, or will be.
    fn is_awaited(&self, address: Address) -> bool {
        let (of, offset) = address;
        let mut asked = self.asked.values().flatten();
        self.ahead.values().any(|ahead| ahead.contains(&address))
            || asked.any(|(number, offsets)| *number == of && offsets.contains(&offset))
    }

    /// Asks the supervisors as much as they may have before them.
    pub fn ask(&mut self, local: &mut LocalRanks) {
        for (rank, ahead) in &mut self.ahead {
            // Of a rank that has ended, another one's supervisor sees the files as well.
            let mut ranks = [*rank].into_iter().chain(local.numbers());
            let Some(rank) = ranks.find(|rank| local.has_supervisor(*rank)) else {
                ahead.clear();
                continue;
            };
            let asked = self.asked.entry(rank).or_default();
            while asked.len() < QUESTIONS_MAX
                && let Some((of, _)) = ahead.first().copied()
            {
                let of_file = ahead.range((of, 0)..=(of, u64::MAX));
                let some: BTreeSet<Address> = of_file.take(OFFSETS_MAX).copied().collect();
                let offsets: Vec<u64> = some.iter().map(|(_, offset)| *offset).collect();
                let question = ToSupervisor::Name {
                    module: self.names.module(of).clone(),
                    offsets: offsets.clone(),
                };
                // It takes no more: not in this answer.
                if !local.tell(rank, &question) {
                    ahead.clear();
                    break;
                }
                self.names.want(&some);
                ahead.retain(|address| !some.contains(address));
                asked.push((of, offsets));
            }
        }
        self.ahead.retain(|_, ahead| !ahead.is_empty());
        self.asked.retain(|_, asked| !asked.is_empty());
    }

    fn answer(&self, waiting: Waiting) -> Up {
        let names = &self.names;
        let at = |module: &Module, offset| {
            let of = names.known_number(module)?;
            names.at((of, offset)).map(<[Named]>::to_vec)
        };
        Up::Partial {
            wave: waiting.wave,
            partial: waiting.found.named(at),
            coverage: waiting.coverage,
            missing: Vec::new(),
        }
    }
}
