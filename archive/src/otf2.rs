//! A saved observation as an OTF2 archive, written by libotf2.
//!
//! ```text
//! library        libotf2, loaded at run time; archive and writers call it
//! communicators  their numbers
//! functions      MPI functions and regions of the program: number, role, operation of collectives
//! contexts       calling contexts of samples: the same number for equal ones of all ranks
//! definitions    system tree, locations, regions, groups, communicators, properties
//! partial        messages and collectives of which a side is not there
//! events         what a location did as enter, communication and leave, in order of time
//! ```
//!
//! Times are ns of job time. Locations are written one after the other, so memory does not grow
//! with their number but for the definitions.

mod archive;
mod communicators;
mod contexts;
mod counts;
mod definitions;
mod events;
mod functions;
mod library;
mod partial;
mod writers;

use crate::new_directory::NewDirectory;
use crate::saved::{SavedError, SavedObservation};
use archive::Archive;
use communicators::Communicators;
use contexts::Contexts;
use events::LocationWriter;
use functions::Regions;
use library::Library;
use partial::Partial;
use std::io;
use std::path::Path;

pub use counts::Exported;
pub use library::Otf2Error;

/// The archive's name: its anchor file is this with `.otf2`.
pub const NAME: &str = "traces";

/// Why there is no archive.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The observation is damaged.
    #[error(transparent)]
    Saved(#[from] SavedError),
    /// The library is missing, or cannot write.
    #[error(transparent)]
    Otf2(#[from] Otf2Error),
    /// The directory cannot be made.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Which messages and collectives an archive has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Communication {
    /// All that is known of them.
    All,
    /// Those of which all sides are there, as readers need that replay them.
    Matched,
}

/// Writes an archive into a new directory, which appears whole or not at all. `progress` is told
/// how many locations are written, of how many.
///
/// # Errors
/// When something has the name, the observation is damaged, or the library is missing or cannot
/// write.
pub fn export(
    of: &SavedObservation,
    to: &Path,
    communication: Communication,
    mut progress: impl FnMut(u64, u64),
) -> Result<Exported, ExportError> {
    let library = Library::load()?;
    let dir = NewDirectory::beside(to)?;
    let archive = Archive::create(&library, dir.path(), NAME)?;
    let about = of.about();
    archive.describe(&about.writer, &about.job.host)?;

    let communicators = Communicators::of(of);
    let without = match communication {
        Communication::All => Partial::default(),
        Communication::Matched => Partial::of(of)?,
    };
    let mut exported = Exported::default();
    let mut events_of = Vec::new();
    let (mut regions, mut contexts) = (Regions::default(), Contexts::default());
    archive.begin_events()?;
    for location in of.locations() {
        let writer = archive.events(definitions::location(location.rank, location.thread))?;
        let met = (&mut regions, &mut contexts);
        let mut writer = LocationWriter::new(of, location, &communicators, met, &without, writer);
        let mut calls = of.calls(location)?.by_begin()?;
        // Samples have no duration: they need not be held back until what is around them has ended.
        let mut samples = of.samples(location)?;
        let mut sample = samples.next_sample()?;
        while let Some(call) = calls.next_call()? {
            let begin = call.contents.head.begin();
            while let Some(before) = sample.take_if(|sample| sample.at_ticks < begin) {
                writer.sample(&before)?;
                sample = samples.next_sample()?;
            }
            writer.call(&call)?;
        }
        while let Some(last) = sample {
            writer.sample(&last)?;
            sample = samples.next_sample()?;
        }
        let (events, counts) = writer.close(calls.late())?;
        exported.add(events, &counts);
        events_of.push((events, counts));
        progress(exported.locations, of.locations().len() as u64);
    }
    // Groups name every rank of the job: those that were not saved have no events.
    let others = definitions::others(of);
    for rank in &others {
        archive.events(definitions::location(*rank, 0))?.close()?;
    }
    definitions::write(
        of,
        &communicators,
        &events_of,
        (&regions, &contexts),
        &archive,
    )?;
    definitions::properties(of, &exported, &archive)?;
    archive.close()?;
    dir.appear()?;
    Ok(exported)
}
