//! One iteration of a loop, as the time that a timeline is of.

use crate::client::{Client, patiently};
use crate::job::Job;
use invivo_grpc::v1;
use invivo_report::units::{duration, duration_f64};
use std::ops::Range;

/// Which iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Which {
    /// The last usual one that is over
    Last,
    /// The longest usual one
    Longest,
}

/// An iteration that can be shown.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// From its begin to its end, in job time.
    pub time: Range<u64>,
    /// How far back it begins, in ns.
    pub length_ns: u64,
    /// Which it is.
    pub said: String,
}

/// Asked for later than its end by this, records have come: what ranks hold back and tool places
/// have not read is younger.
const SLACK_NS: u64 = 1_000_000_000;

/// Chooses an iteration of the main loop, or of the row `number` of `invivo iterations`, from 1.
///
/// # Errors
/// Why there is none.
pub async fn choose(
    job: &Job,
    client: &Client,
    which: Which,
    number: Option<u32>,
) -> anyhow::Result<Chosen> {
    let asked = v1::IterationsRequest::default();
    let loops = patiently(job, async || client.clone().iterations(asked).await).await?;
    let at = match number {
        None => invivo_report::iterations::main(&loops),
        Some(number) => Some(number as usize - 1),
    };
    let row = at.and_then(|at| loops.rows.get(at));
    let row = row.ok_or_else(|| match (number, loops.rows.len()) {
        (Some(number), rows @ 1..) => {
            anyhow::anyhow!("there is no loop {number}: invivo iterations shows {rows}")
        }
        _ => anyhow::anyhow!("no loop has been found yet; see what invivo iterations says"),
    })?;
    let status = patiently(job, async || {
        client.clone().status(v1::StatusRequest {}).await
    })
    .await?;
    let status = status.status.unwrap_or_default();
    let now_ns = status.recording.unwrap_or_default().now_ns;
    let (name, since) = match which {
        Which::Last => ("the last iteration", row.last_from_ns..row.last_to_ns),
        Which::Longest => ("the longest iteration", row.max_from_ns..row.max_to_ns),
    };
    let at = |ns: u64| loops.begin_ns.saturating_add(ns);
    let time = at(since.start)..at(since.end);
    Ok(Chosen {
        length_ns: now_ns.saturating_sub(time.start).saturating_add(SLACK_NS),
        said: format!(
            "{name} of the loop at {}: {}, from {} on; the mean is {}",
            invivo_report::iterations::name(row),
            duration(since.end.saturating_sub(since.start)),
            duration(since.start),
            duration_f64(row.mean_ns)
        ),
        time,
    })
}

/// Leaves of a page what is in this time.
pub fn crop(page: &mut v1::TimelinePage, time: &Range<u64>) {
    (page.from_ns, page.to_ns) = (time.start, time.end);
    for piece in &mut page.pieces {
        piece.calls.retain(|call| {
            let begin_ns = call.end_ns.saturating_sub(call.duration_ns);
            call.end_ns > time.start && begin_ns < time.end
        });
        piece.samples.retain(|sample| time.contains(&sample.at_ns));
        // What the rank does now is not what it did then; what began later was not open.
        piece.state.clear();
        piece.open = piece.open.take().filter(|open| open.begin_ns < time.end);
        piece.open_regions.retain(|open| open.begin_ns < time.end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_keeps_what_overlaps_the_time() {
        let call = |begin_ns, end_ns| v1::CallRecord {
            end_ns,
            duration_ns: end_ns - begin_ns,
            ..v1::CallRecord::default()
        };
        let open = |begin_ns| v1::OpenCall {
            begin_ns,
            ..v1::OpenCall::default()
        };
        let piece = v1::LocationPiece {
            calls: vec![
                call(0, 10),
                call(5, 11),
                call(12, 15),
                call(18, 30),
                call(20, 21),
            ],
            open: Some(open(25)),
            open_regions: vec![open(3), open(22)],
            ..v1::LocationPiece::default()
        };
        let mut page = v1::TimelinePage {
            to_ns: 40,
            pieces: vec![piece],
            ..v1::TimelinePage::default()
        };
        crop(&mut page, &(10..20));
        assert_eq!((page.from_ns, page.to_ns), (10, 20));
        let piece = &page.pieces[0];
        let ends: Vec<u64> = piece.calls.iter().map(|call| call.end_ns).collect();
        assert_eq!(ends, [11, 15, 30]);
        assert_eq!((piece.open.as_ref(), piece.open_regions.len()), (None, 1));
    }
}
