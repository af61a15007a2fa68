//! The calls of one location and its visits of regions, in order of their ends or of their begins.

use super::format::{Location, OpenRegion};
use super::reader::{SavedError, SavedObservation};
use super::records::Records;
pub use super::saved_call::{OPEN_END, SavedCall};
use invivo_otfx::{Begins, Begun, Contents, Head, Pass, WINDOW_DEFAULT};
use invivo_proto::ids::RegionId;
use std::collections::VecDeque;

/// The calls and visits of a location that lie in the observation's interval.
#[derive(Debug)]
pub struct Calls {
    records: Records,
    /// There are visits of regions.
    has_visits: bool,
    /// Regions that were not left.
    open: Vec<OpenRegion>,
}

impl SavedObservation {
    /// The calls of one of its locations. The file of events is checked from begin to end first.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn calls(&self, of: &Location) -> Result<Calls, SavedError> {
        Ok(Calls {
            records: self.records(of)?,
            has_visits: of.visits.is_some() || !of.open_regions.is_empty(),
            open: of.open_regions.clone(),
        })
    }
}

impl Calls {
    /// The next call, in order of their ends.
    ///
    /// # Errors
    /// What is wrong with the file of events.
    pub fn next_call(&mut self) -> Result<Option<SavedCall>, SavedError> {
        self.records
            .next_of(|head| matches!(head, Head::Call(_) | Head::Rest { .. } | Head::Region(_)))
    }

    /// The job time of ticks, in ns, as of the times of its calls.
    pub fn job_ns(&self, ticks: u64) -> u64 {
        self.records.job_ns(ticks)
    }

    /// The same in order of their begins, with the regions that were not left.
    ///
    /// # Errors
    /// As of [`Calls::next_call`].
    pub fn by_begin(mut self) -> Result<ByBegin, SavedError> {
        let mut early: Vec<SavedCall> = (0..)
            .zip(&self.open)
            .map(|(depth, open)| self.visit(depth, open))
            .collect();
        if self.has_visits {
            // What is long ends behind more than anybody holds back: it is looked for before.
            let mut begins = begins();
            while let Some((call, late)) = self.next_begun(&mut begins)? {
                if late {
                    early.push(call);
                }
            }
            self.records.rewind();
        }
        early.sort_by_key(order);
        Ok(ByBegin {
            calls: self,
            begins: begins(),
            early: early.into(),
            next: None,
            late: 0,
        })
    }

    /// A region that was not left.
    fn visit(&self, depth: usize, open: &OpenRegion) -> SavedCall {
        let pass = Pass {
            region: RegionId(open.number),
            end: OPEN_END,
            duration: OPEN_END - open.begin_ticks,
        };
        SavedCall {
            contents: Contents {
                head: Head::Region(pass),
                occupant: open.occupant,
                depth: u8::try_from(depth).unwrap_or(u8::MAX),
                ..Contents::default()
            },
            job_ns: open.begin_ns..u64::MAX,
        }
    }

    /// What begins next, and whether it began before what was given before it.
    fn next_begun(&mut self, begins: &mut Begins) -> Result<Option<(SavedCall, bool)>, SavedError> {
        let mut failed = None;
        // The reader's own error is of bins that it reads itself; here it reads none.
        let begun = begins.next(|| match self.next_call() {
            Ok(call) => Ok(call.map(|call| call.contents)),
            Err(error) => {
                failed = Some(error);
                Ok(None)
            }
        });
        match (failed, begun) {
            (Some(error), _) => Err(error),
            (None, Ok(Some(Begun::Record { record, late }))) => {
                Ok(Some((self.records.call(record), late)))
            }
            _ => Ok(None),
        }
    }
}

fn begins() -> Begins {
    Begins::new(WINDOW_DEFAULT, &[])
}

/// What began together is given from the outside in.
fn order(call: &SavedCall) -> (u64, u8) {
    (call.contents.head.begin(), call.contents.depth)
}

/// Calls and visits of regions in order of their begins.
#[derive(Debug)]
pub struct ByBegin {
    calls: Calls,
    begins: Begins,
    /// What would come too late, in order.
    early: VecDeque<SavedCall>,
    /// Of the others the next one.
    next: Option<SavedCall>,
    late: u64,
}

impl ByBegin {
    /// The next one.
    ///
    /// # Errors
    /// As of [`Calls::next_call`].
    pub fn next_call(&mut self) -> Result<Option<SavedCall>, SavedError> {
        while self.next.is_none()
            && let Some((call, late)) = self.calls.next_begun(&mut self.begins)?
        {
            match late && self.calls.has_visits {
                // It was given.
                true => {}
                false => {
                    self.late += u64::from(late);
                    self.next = Some(call);
                }
            }
        }
        let is_early = |early: &mut SavedCall| match &self.next {
            Some(next) => order(early) <= order(next),
            None => true,
        };
        let early = self.early.pop_front_if(is_early);
        Ok(early.or_else(|| self.next.take()))
    }

    /// Calls so far that began before one that was given before them.
    pub fn late(&self) -> u64 {
        self.late
    }
}
