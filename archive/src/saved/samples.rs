//! The samples of one location, in order of time.

use super::calls::SavedCall;
use super::format::Location;
use super::reader::{SavedError, SavedObservation};
use super::records::Records;
use invivo_otfx::Head;

/// A sample of an observation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedSample {
    /// When it was taken, in job time.
    pub at_ns: u64,
    /// The same in ticks of its node's clock.
    pub at_ticks: u64,
    /// Its number in units of the first interval, from 1.
    pub ordinal: u64,
    /// The number of the rank's calling context; 0 where it is not known.
    pub context: u32,
    /// Which of the location's threads, one after the other, it is of.
    pub occupant: u32,
    /// Its counters.
    pub values: Vec<u64>,
}

impl SavedSample {
    /// What a record says, if it is a sample.
    pub fn of(record: SavedCall) -> Option<SavedSample> {
        let Head::Sample {
            time,
            ordinal,
            context,
        } = record.contents.head
        else {
            return None;
        };
        Some(SavedSample {
            at_ns: record.job_ns.end,
            at_ticks: time,
            ordinal,
            context,
            occupant: record.contents.occupant,
            values: record.contents.values,
        })
    }
}

/// The samples of a location that lie in the observation's interval.
#[derive(Debug)]
pub struct Samples {
    /// Nothing where the location has none.
    records: Option<Records>,
}

impl SavedObservation {
    /// The samples of one of its locations. Where it has some, the file of events is checked from
    /// begin to end first.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn samples(&self, of: &Location) -> Result<Samples, SavedError> {
        let has_some = of.samples.is_some();
        let records = has_some.then(|| self.records(of)).transpose()?;
        Ok(Samples { records })
    }
}

impl Samples {
    /// The next sample, in order of time.
    ///
    /// # Errors
    /// What is wrong with the file of events.
    pub fn next_sample(&mut self) -> Result<Option<SavedSample>, SavedError> {
        let Some(records) = &mut self.records else {
            return Ok(None);
        };
        let next = records.next_of(|head| matches!(head, Head::Sample { .. }))?;
        Ok(next.and_then(SavedSample::of))
    }
}
