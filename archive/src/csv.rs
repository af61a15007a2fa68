//! A saved observation as a table of comma-separated values: a line for each call or visit of a
//! region, and one for each part of a call that posts, completes or exchanges more. Samples have a
//! table of their own.

use crate::observation::{CallKind, Facts};
use crate::saved::calls::SavedCall;
use crate::saved::{SavedError, SavedObservation};
use invivo_otfx::Head;
use std::io::{self, Write};

/// The first line.
const HEAD: &str = "rank,thread,occupant,begin_ns,end_ns,function,part_of,kind,communicator,peer,\
                    peer_rank,tag,bytes_out,bytes_in,request,instance,clipped\n";

/// The first line of a table of samples.
const SAMPLES_HEAD: &str = "rank,thread,occupant,time_ns,ordinal,function,path\n";

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum CsvError {
    /// The observation is damaged.
    #[error(transparent)]
    Saved(#[from] SavedError),
    /// It cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub calls: u64,
    /// Visits of regions.
    pub visits: u64,
}

/// Writes the calls of all locations and their visits of regions, one location after the other,
/// each in order of their ends. Times are job time in ns; what does not apply is empty.
///
/// # Errors
/// When the observation is damaged, or `out` takes no more.
pub fn write(of: &SavedObservation, out: &mut impl Write) -> Result<Written, CsvError> {
    out.write_all(HEAD.as_bytes())?;
    let mut written = Written::default();
    for location in of.locations() {
        let mut calls = of.calls(location)?;
        while let Some(call) = calls.next_call()? {
            call_lines(of, location.rank, location.thread, &call, out)?;
            match call.contents.head {
                Head::Region(_) => written.visits += 1,
                _ => written.calls += 1,
            }
        }
    }
    Ok(written)
}

/// Writes the samples of all locations, one location after the other, each in order of time; how
/// many there are. Times are job time in ns; the path is that of the function with those that
/// called it, the outermost first, joined by semicolons.
///
/// # Errors
/// When the observation is damaged, or `out` takes no more.
pub fn write_samples(of: &SavedObservation, out: &mut impl Write) -> Result<u64, CsvError> {
    out.write_all(SAMPLES_HEAD.as_bytes())?;
    let mut written = 0;
    for location in of.locations() {
        let (rank, thread) = (location.rank, location.thread);
        let mut samples = of.samples(location)?;
        while let Some(sample) = samples.next_sample()? {
            let function = quoted(of.context_name(rank, sample.context));
            let path = quoted(&of.context_path(rank, sample.context));
            let (occupant, at_ns, ordinal) = (sample.occupant, sample.at_ns, sample.ordinal);
            writeln!(
                out,
                "{rank},{thread},{occupant},{at_ns},{ordinal},{function},{path}"
            )?;
            written += 1;
        }
    }
    Ok(written)
}

fn call_lines(
    of: &SavedObservation,
    rank: u32,
    thread: u32,
    call: &SavedCall,
    out: &mut impl Write,
) -> io::Result<()> {
    let contents = &call.contents;
    let begin = format!(
        "{rank},{thread},{},{},{}",
        contents.occupant, call.job_ns.start, call.job_ns.end
    );
    let mut function = "";
    if let Head::Call(head) = &contents.head {
        function = of.function(head.facts.region.0);
        let facts = of.facts_of(rank, &head.facts);
        let request = if head.facts.kind.posts() {
            head.request.to_string()
        } else {
            String::new()
        };
        let instance = if head.facts.kind.has_ordinal() {
            head.ordinal.to_string()
        } else {
            String::new()
        };
        let clipped = u8::from(contents.clipped);
        let told = told(&facts);
        writeln!(
            out,
            "{begin},{function},,{told},{request},{instance},{clipped}"
        )?;
    }
    if let Head::Region(pass) = &contents.head {
        let name = quoted(&of.region_name(rank, pass.region.0));
        let clipped = u8::from(contents.clipped);
        writeln!(out, "{begin},{name},,region,,,,,,,,,{clipped}")?;
    }
    for part in &contents.parts {
        let name = of.function(part.facts.region.0);
        let facts = of.facts_of(rank, &part.facts);
        let told = told(&facts);
        let request = part.request;
        writeln!(out, "{begin},{name},{function},{told},{request},,0")?;
    }
    Ok(())
}

/// A name as a value: those of C++ have commas.
fn quoted(name: &str) -> String {
    match name.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.to_owned(),
    }
}

/// Kind, communicator, peer, its rank in the job, tag and bytes.
fn told(facts: &Facts) -> String {
    let empty = String::new;
    let number = |number: Option<u32>| number.map_or_else(empty, |number| number.to_string());
    let communicates = facts.kind != CallKind::Plain;
    let signed = |number: i32| {
        if communicates {
            number.to_string()
        } else {
            empty()
        }
    };
    let bytes = |number: u64| {
        if communicates || number != 0 {
            number.to_string()
        } else {
            empty()
        }
    };
    format!(
        "{},{},{},{},{},{},{}",
        facts.kind.name(),
        number(facts.comm),
        signed(facts.peer),
        number(facts.rank.filter(|_| communicates)),
        signed(facts.tag),
        bytes(facts.bytes_out),
        bytes(facts.bytes_in),
    )
}
