//! The last seconds in a terminal: a row for each rank, what it was doing over time, and the call
//! that it is in.

use super::units::{count, counted, duration};
use crate::glyphs::Look;
use crate::terminal::{PLAIN, RED};
use invivo_archive::observation::{Observation, Track};
use std::cmp::Reverse;
use std::fmt::Write;

/// Ranks that are shown; of more, the worst.
pub const ROWS_MAX: usize = 24;
/// Columns of the whole picture.
const WIDTH: usize = 80;
/// Columns of the time.
const TIME_WIDTH: usize = 40;

/// Shades of the time in MPI, from none to all of it.
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];
const SHADES_ASCII: [char; 5] = ['.', '-', '=', '%', '#'];
/// Nothing is known of this time.
const UNKNOWN: char = ' ';
/// The call that a rank is in, where recording was off and the function was not noted.
const SOME_CALL: &str = "an MPI call";
/// The mark of a rank that died.
const DEAD: &str = "×";
const DEAD_ASCII: &str = "x";

/// The picture: the ranks that are worst first, which are those that died, those that stand in a
/// call the longest, and those with the most time in MPI.
pub fn text(of: &Observation, look: Look) -> String {
    // One row for each rank: further threads are in the trace.
    let mut tracks: Vec<&Track> = of.tracks.iter().filter(|track| track.thread == 0).collect();
    let total = tracks.len();
    if total > ROWS_MAX {
        // The dead first, then those that have been in their call for longest.
        tracks.sort_by_key(|track| {
            (
                of.death(track.rank).is_none(),
                Reverse(open_ns(of, track)),
                track.rank,
            )
        });
        tracks.truncate(ROWS_MAX);
    }
    let mut page = head(of, total, tracks.len());
    let label = tracks
        .iter()
        .map(|track| track.rank.to_string().len())
        .max()
        .unwrap_or(1);
    for track in &tracks {
        row(&mut page, of, track, label, look);
    }
    scale(&mut page, of, label, look);
    losses(&mut page, of);
    page
}

/// How long a rank has been in the call that it is in, as far as that is known.
fn open_ns(of: &Observation, track: &Track) -> u64 {
    inside(of, track)
        .and_then(|(_, since_ns)| since_ns)
        .map_or(0, |since_ns| of.to_ns.saturating_sub(since_ns))
}

/// The call that a rank was in at the end of the time, by its name and since when: one that is
/// still open, or that has ended since. Of a call that is not recorded neither is known.
fn inside<'a>(of: &Observation, track: &'a Track) -> Option<(Option<&'a str>, Option<u64>)> {
    match (&track.open, track.calls.last()) {
        (Some(open), _) => {
            let function = open.function.as_deref();
            Some((function, function.map(|_| open.begin_ns)))
        }
        // A call that ended behind the interval was open at its end.
        (None, Some(last)) if last.end_ns > of.to_ns => {
            Some((last.function.as_deref(), Some(last.begin_ns)))
        }
        _ => None,
    }
}

fn head(of: &Observation, total: usize, shown: usize) -> String {
    let the_last = if of.is_past { "" } else { "the last " };
    let mut text = format!(
        "{the_last}{} of {}, {}",
        duration(of.to_ns.saturating_sub(of.from_ns)),
        counted(total as u64, "rank"),
        counted(of.calls(), "MPI call"),
    );
    if shown < total {
        let _ = write!(text, "; the worst {} of them", count(shown as u64));
    }
    text.push('\n');
    text
}

fn row(page: &mut String, of: &Observation, track: &Track, label: usize, look: Look) {
    let death = of.death(track.rank);
    let mark = match death {
        Some(_) if look.ascii => DEAD_ASCII,
        Some(_) => DEAD,
        None if inside(of, track).is_some() => ">",
        None => " ",
    };
    let doing = match (inside(of, track), death) {
        // When it died is not known.
        (Some((name, _)), Some(_)) | (Some((name, None)), None) => {
            name.unwrap_or(SOME_CALL).to_owned()
        }
        (Some((name, Some(since_ns))), None) => {
            let for_ns = of.to_ns.saturating_sub(since_ns);
            format!("{} {}", name.unwrap_or(SOME_CALL), duration(for_ns))
        }
        (None, Some(_)) => "outside MPI".to_owned(),
        (None, None) => track.state.clone(),
    };
    let bar = if look.ascii { '|' } else { '│' };
    let line = format!(
        "rank {:>label$} {bar}{}{bar}{mark} {doing}",
        track.rank,
        cells(of, track, look)
    );
    // Cut before the colours: their escape sequences are not columns.
    let line: String = line.chars().take(WIDTH).collect();
    let line = line.trim_end();
    match death {
        Some(_) if look.color => {
            // Writing to a string cannot fail.
            let _ = writeln!(page, "{RED}{line}{PLAIN}");
        }
        _ => {
            let _ = writeln!(page, "{line}");
        }
    }
}

/// The time, cut into cells of equal length, each as dark as its share of time in MPI.
fn cells(of: &Observation, track: &Track, look: Look) -> String {
    let length = of.to_ns.saturating_sub(of.from_ns).max(1);
    let at = |ns: u64| {
        let past = ns.clamp(of.from_ns, of.to_ns) - of.from_ns;
        past as f64 * TIME_WIDTH as f64 / length as f64
    };

    // The part of each cell that was spent in MPI, 0 to 1.
    let mut inside = [0.0_f64; TIME_WIDTH];
    let mut add = |from: f64, to: f64| {
        let mut cell = from.floor() as usize;
        while cell < TIME_WIDTH && (cell as f64) < to {
            // The part of the call that lies in this cell, in cells.
            inside[cell] += to.min(cell as f64 + 1.0) - from.max(cell as f64);
            cell += 1;
        }
    };
    for call in &track.calls {
        add(at(call.begin_ns), at(call.end_ns));
    }
    let recorded = track.open.as_ref().filter(|open| open.function.is_some());
    if let Some(open) = recorded {
        add(at(open.begin_ns), TIME_WIDTH as f64);
    }

    let known_from = known_from(of, track).map_or(0.0, at);
    // Nothing is known behind what a rank did last if it died, or is in an unrecorded call.
    let known_to = match (of.death(track.rank), &track.open) {
        (Some(_), None) => track.last_ns().map_or(0.0, at),
        (_, Some(_)) if recorded.is_none() => {
            track.calls.last().map_or(0.0, |call| at(call.end_ns))
        }
        _ => TIME_WIDTH as f64,
    };
    let shades = if look.ascii { SHADES_ASCII } else { SHADES };
    (0..TIME_WIDTH)
        .map(|cell| {
            if (cell as f64 + 1.0) <= known_from
                || cell as f64 >= known_to.max(known_from + 1e-9).ceil()
            {
                return UNKNOWN;
            }
            // The first and the last shade are what the scale says of them.
            shades[match inside[cell] {
                ..0.005 => 0,
                ..0.35 => 1,
                ..0.65 => 2,
                ..0.95 => 3,
                _ => 4,
            }]
        })
        .collect()
}

/// From when on nothing is missing; nothing where that is all of the time.
fn known_from(of: &Observation, track: &Track) -> Option<u64> {
    let gone_ns = track.gaps.gone_until_ns.filter(|gone| *gone > of.from_ns);
    let left_out = (track.gaps.left_out > 0)
        .then(|| track.calls.first().map_or(of.to_ns, |call| call.begin_ns));
    gone_ns.max(left_out)
}

/// What the columns mean.
fn scale(page: &mut String, of: &Observation, label: usize, look: Look) {
    let length = duration(of.to_ns.saturating_sub(of.from_ns));
    // Relative times: the end is what the reader has seen happen.
    let left = format!("-{length}");
    let shades = if look.ascii { SHADES_ASCII } else { SHADES };
    let end = if of.is_past { "end" } else { "now" };
    let gap = TIME_WIDTH.saturating_sub(left.len() + 3);
    let _ = writeln!(
        page,
        "{:indent$}{left}{:gap$}{end}   {} no MPI  {} only MPI",
        "",
        "",
        shades[0],
        shades[4],
        indent = label + 7
    );
}

/// What is missing, in words.
fn losses(page: &mut String, of: &Observation) {
    let sum = |of_track: fn(&Track) -> u64| of.tracks.iter().map(of_track).sum::<u64>();
    let gone = of.tracks.iter().filter(|track| {
        let gone_ns = track.gaps.gone_until_ns;
        gone_ns.is_some_and(|gone_ns| gone_ns > of.from_ns)
    });
    let gone = gone.count() as u64;
    let facts = [
        (
            gone,
            "location whose buffer does not reach back so far",
            "locations whose buffers do not reach back so far",
        ),
        (
            sum(|track| track.gaps.left_out),
            "older call left out",
            "older calls left out",
        ),
        (
            sum(|track| track.gaps.in_flight),
            "call not read yet",
            "calls not read yet",
        ),
        (
            sum(|track| track.gaps.not_kept),
            "call that found no buffer",
            "calls that found no buffer",
        ),
        (
            sum(|track| track.gaps.dropped),
            "call dropped in the whole run",
            "calls dropped in the whole run",
        ),
        (
            of.missing.len() as u64,
            "tool process silent",
            "tool processes silent",
        ),
    ];
    let missing: Vec<String> = facts
        .into_iter()
        .filter(|(number, ..)| *number > 0)
        .map(|(number, one, several)| {
            format!(
                "{} {}",
                count(number),
                if number == 1 { one } else { several }
            )
        })
        .collect();
    let _ = match missing.is_empty() {
        true => writeln!(page, "missing: nothing"),
        false => writeln!(page, "missing: {}", missing.join("; ")),
    };
}

#[cfg(test)]
mod tests;
