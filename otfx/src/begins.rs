//! Gives records in the order of their begins.
//!
//! Records lie in order of their ends; a region's record comes after those of everything in it.
//! This reader holds back a bounded number of records and gives them in order of their begins,
//! together with what is open and has no record yet.

use crate::contents::{BinError, Contents};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use invivo_proto::ids::RegionId;

/// Records held back: more than regions usually have inside.
pub const WINDOW_DEFAULT: usize = 4096;

/// What began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    /// Something that has ended.
    Record {
        record: Contents,
        /// It began before one that was given before it: more lay inside it than the window holds.
        late: bool,
    },
    /// Something that is under way.
    Open(Open),
}

/// A region that was entered and not left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    pub region: RegionId,
    /// When it was entered.
    pub begin: u64,
}

#[derive(Debug)]
pub struct Begins {
    window: usize,
    /// By begin; what began together in order of its arrival, but the longer first, and of equal
    /// ones the outer.
    held: BTreeMap<(u64, u64, u8, u64), Contents>,
    arrived: u64,
    last_begin: u64,
    /// Newest first.
    open: Vec<Open>,
}

impl Begins {
    /// Holds back `window` records. `open` is what was entered and not left, outermost first, as
    /// the location's status tells.
    pub fn new(window: usize, open: &[Open]) -> Self {
        Begins {
            window,
            held: BTreeMap::new(),
            arrived: 0,
            last_begin: 0,
            open: open.iter().rev().copied().collect(),
        }
    }

    /// What begins next. `source` gives records in order of their ends: [`crate::Reader::next`],
    /// [`crate::Frozen::next`].
    ///
    /// # Errors
    /// Those of `source`.
    pub fn next(
        &mut self,
        mut source: impl FnMut() -> Result<Option<Contents>, BinError>,
    ) -> Result<Option<Begun>, BinError> {
        while self.held.len() <= self.window
            && let Some(record) = source()?
        {
            let (begin, end) = (record.head.begin(), record.head.end());
            self.held
                // The end is inverted, so that of equal begins the outer (longer) record comes
                // first.
                .insert((begin, u64::MAX - end, record.depth, self.arrived), record);
            self.arrived += 1;
        }

        // An open region that began before everything held back comes first.
        let first = self.held.first_key_value().map(|((begin, ..), _)| *begin);
        if let Some(open) = self
            .open
            .pop_if(|open| first.is_none_or(|first| open.begin <= first))
        {
            return Ok(Some(Begun::Open(open)));
        }

        let Some(((begin, ..), record)) = self.held.pop_first() else {
            return Ok(None);
        };
        // A record whose begin lies before the window: it is given all the same, and marked.
        let late = begin < self.last_begin;
        self.last_begin = self.last_begin.max(begin);
        Ok(Some(Begun::Record { record, late }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contents::Head;
    use crate::event::Pass;
    use proptest::prelude::*;

    fn pass(begin: u64, end: u64) -> Contents {
        Contents {
            head: Head::Region(Pass {
                region: RegionId(1),
                end,
                duration: end - begin,
            }),
            ..Contents::default()
        }
    }

    fn all(window: usize, records: &[Contents], open: &[Open]) -> Vec<Begun> {
        let mut source = records.iter().cloned();
        let mut begins = Begins::new(window, open);
        let mut all = Vec::new();
        while let Some(begun) = begins
            .next(|| Ok(source.next()))
            .expect("the source does not fail")
        {
            all.push(begun);
        }
        all
    }

    fn record(record: Contents, late: bool) -> Begun {
        Begun::Record { record, late }
    }

    #[test]
    fn what_is_open_stands_where_it_began() {
        let open = Open {
            region: RegionId(9),
            begin: 5,
        };
        let records = [pass(1, 4), pass(7, 8), pass(6, 9)];
        assert_eq!(
            all(10, &records, &[open]),
            [
                record(pass(1, 4), false),
                Begun::Open(open),
                record(pass(6, 9), false),
                record(pass(7, 8), false),
            ]
        );
    }

    #[test]
    fn a_window_that_is_too_small_says_so() {
        let records = [pass(2, 3), pass(4, 5), pass(6, 7), pass(1, 8)];
        let begun = all(1, &records, &[]);
        assert_eq!(begun[0], record(pass(2, 3), false));
        assert!(begun.contains(&record(pass(1, 8), true)));
    }

    proptest! {
        /// With room for everything, the order is that of a sort.
        #[test]
        fn equals_sorting(spans in prop::collection::vec((0u64..1000, 0u64..1000), 0..60)) {
            let mut records: Vec<Contents> = spans
                .iter()
                .map(|(begin, length)| pass(*begin, begin + length))
                .collect();
            records.sort_by_key(|record| record.head.end());
            let begins: Vec<u64> = all(60, &records, &[])
                .into_iter()
                .map(|begun| match begun {
                    Begun::Record { record, late } => { assert!(!late); record.head.begin() }
                    Begun::Open(_) => unreachable!("nothing is open"),
                })
                .collect();
            let mut sorted: Vec<u64> = spans.iter().map(|(begin, _)| *begin).collect();
            sorted.sort_unstable();
            prop_assert_eq!(begins, sorted);
        }
    }
}
