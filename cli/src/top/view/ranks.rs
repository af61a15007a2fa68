//! The page of ranks, those with the least time in MPI first: the others wait for them.

use super::table;
use crate::top::palette::Palette;
use crate::top::picture::Picture;
use crate::top::view::frame::{nothing, titled};
use invivo_grpc::convert::state_name;
use invivo_grpc::v1::{RankState, RankStatus, Snapshot};
use invivo_report::glyphs::Look;
use invivo_report::recording::span_ns;
use invivo_report::table::Side;
use invivo_report::units::{count, duration, share};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::collections::BTreeMap;

const COLUMNS: [table::Column; 8] = [
    ("rank", Side::Right),
    ("in MPI", Side::Right),
    ("", Side::Left),
    ("state", Side::Left),
    ("function", Side::Left),
    ("since", Side::Right),
    ("calls", Side::Right),
    ("calls/s", Side::Right),
];
/// Columns of the bar that shows a share.
const BAR: usize = 12;

/// Draws the page.
pub fn draw(picture: &Picture, scroll: usize, look: Look, area: Rect, buffer: &mut Buffer) {
    let Some(snapshot) = &picture.snapshot else {
        return nothing("No rank has been seen yet.", look, area, buffer);
    };
    let status = snapshot.status.clone().unwrap_or_default();
    let ranks = snapshot
        .coverage
        .as_ref()
        .map_or(0, |coverage| coverage.ranks);
    let title = format!(
        "{} of {ranks} ranks, the least time in MPI first",
        status.named.len()
    );
    let area = titled(&title, look, area, buffer);

    let before = entered(picture.before.as_ref());
    let seconds = picture
        .before
        .as_ref()
        .map(|before| snapshot.unix_ns.saturating_sub(before.unix_ns) as f64 / 1e9);
    let rows: Vec<_> = status
        .named
        .iter()
        .map(|rank| {
            let of_time = rank.mpi_ns as f64 / span_ns(&status).max(1) as f64;
            let earlier = before.get(&rank.rank).copied();
            let cells = vec![
                rank.rank.to_string(),
                share(of_time.min(1.0), 1.0),
                look.bar(of_time, BAR),
                state_name(rank.state).to_owned(),
                function(rank),
                duration(rank.since_ns),
                count(rank.entered),
                rate(rank, earlier, seconds),
            ];
            let style = if rank.state == i32::from(RankState::Paused) {
                look.warning()
            } else {
                ratatui::style::Style::new()
            };
            (cells, style)
        })
        .collect();
    table::draw(&COLUMNS, &rows, scroll, look, area, buffer);
}

fn function(rank: &RankStatus) -> String {
    if rank.function.is_empty() {
        "-".to_owned()
    } else {
        rank.function.clone()
    }
}

fn entered(snapshot: Option<&Snapshot>) -> BTreeMap<u32, u64> {
    let status = snapshot.and_then(|snapshot| snapshot.status.as_ref());
    let named = status.into_iter().flat_map(|status| &status.named);
    named.map(|rank| (rank.rank, rank.entered)).collect()
}

fn rate(rank: &RankStatus, earlier: Option<u64>, seconds: Option<f64>) -> String {
    // The rank may not have been named in the snapshot before.
    let calls = earlier.and_then(|earlier| rank.entered.checked_sub(earlier));
    match (calls, seconds) {
        (Some(calls), Some(seconds)) if seconds > 0.0 => {
            count((calls as f64 / seconds).round() as u64)
        }
        _ => "-".to_owned(),
    }
}
