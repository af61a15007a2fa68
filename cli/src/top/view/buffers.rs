//! The page of buffers: where the records are, and what the measurement costs.

use crate::top::palette::Palette;
use crate::top::picture::Picture;
use crate::top::view::frame::{nothing, titled};
use invivo_grpc::v1::{Coverage, JobStatus, Ledger};
use invivo_report::glyphs::Look;
use invivo_report::units::{bytes, count, counted, duration, duration_f64, share};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::Widget;

/// Columns before the bars.
const BEFORE_BAR: usize = 62;

/// Draws the page.
pub fn draw(picture: &Picture, look: Look, area: Rect, buffer: &mut Buffer) {
    let Some(snapshot) = &picture.snapshot else {
        return nothing("Nothing has been recorded yet.", look, area, buffer);
    };
    let coverage = snapshot.coverage.clone().unwrap_or_default();
    let status = snapshot.status.clone().unwrap_or_default();
    let ledger = coverage.ledger.unwrap_or_default();
    let parts = parts(&ledger);
    let [above, below] = Layout::vertical([
        Constraint::Length(parts.len() as u16 + 1),
        Constraint::Min(0),
    ])
    .areas(area);
    let title = format!("where {} are", counted(ledger.entered, "recorded call"));
    let above = titled(&title, look, above, buffer);
    let bar = usize::from(above.width).saturating_sub(BEFORE_BAR);
    let rows = parts.into_iter().map(|(name, calls, bad)| {
        // Of all calls entered, so that the bars of all rows add up to one.
        let of_all = calls as f64 / ledger.entered.max(1) as f64;
        let text = format!(
            " {name:<34} {:>14}  {:>7}  {}",
            count(calls),
            share(calls as f64, ledger.entered as f64),
            look.bar(of_all, bar)
        );
        Line::styled(
            text,
            if bad && calls > 0 {
                look.warning()
            } else {
                Style::new()
            },
        )
    });
    for (line, y) in rows.zip(above.y..above.bottom()) {
        line.render(
            Rect {
                y,
                height: 1,
                ..above
            },
            buffer,
        );
    }

    let below = titled("what it costs", look, below, buffer);
    let rows = costs(&coverage, &ledger, &status).into_iter();
    for ((name, value), y) in rows.zip(below.y..below.bottom()) {
        let line = Line::raw(look.text(&format!(" {name:<22} {value}")));
        line.render(
            Rect {
                y,
                height: 1,
                ..below
            },
            buffer,
        );
    }
}

/// entered = the sum of these; the last word is whether it is a loss.
fn parts(ledger: &Ledger) -> Vec<(&'static str, u64, bool)> {
    let dropped = ledger.dropped.unwrap_or_default();
    let mut parts = vec![
        ("in a buffer", ledger.kept, false),
        ("given up by full buffers, analysed", ledger.reduced, false),
        ("on their way", ledger.in_flight, false),
        ("not returned yet", ledger.open, false),
        ("forgotten on request", ledger.reset, false),
        ("dropped: no packet was free", dropped.no_packet, true),
        ("dropped: too many threads", dropped.no_location, true),
        ("dropped by tool places", ledger.dropped_by_place, true),
    ];
    if ledger.not_selected > 0 {
        parts.push(("not selected", ledger.not_selected, false));
    }
    parts
}

fn costs(coverage: &Coverage, ledger: &Ledger, status: &JobStatus) -> Vec<(&'static str, String)> {
    let per_call = |sum: u64| sum as f64 / ledger.entered.max(1) as f64;
    let rank_ns = status.observed_ns as f64 * f64::from(coverage.ranks);
    let recording = status.recording.unwrap_or_default();
    let mut costs = vec![
        (
            "time in the ranks",
            format!(
                "{}, {} of theirs, {} per call",
                duration(coverage.overhead_ns),
                share(coverage.overhead_ns as f64, rank_ns),
                duration_f64(per_call(coverage.overhead_ns))
            ),
        ),
        (
            "CPU of tool processes",
            format!(
                "{}, {} of it on processors that ranks lacked",
                duration(coverage.tool_cpu_ns),
                duration(coverage.displaced_ns)
            ),
        ),
        ("buffers", bytes(coverage.buffer_bytes)),
        (
            "records",
            format!(
                "{}, {:.1} bytes per call",
                bytes(coverage.payload_bytes),
                per_call(coverage.payload_bytes)
            ),
        ),
        (
            "packets",
            format!(
                "{} over MPI, {} from shared memory, {} refused",
                count(coverage.packets_mpi),
                count(coverage.packets_shm),
                count(coverage.packets_refused)
            ),
        ),
        (
            "clocks of the places",
            format!("within {}", duration(recording.clock_error_ns)),
        ),
    ];
    if let Some(window) = &recording.window {
        costs.push((
            "last window",
            format!(
                "command {}, {} long, complete on {}",
                window.command_id,
                duration(window.to_ns.saturating_sub(window.from_ns)),
                counted(window.complete.into(), "rank")
            ),
        ));
    }
    costs
}
