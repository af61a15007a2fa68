//! The MPI function table, the function with the most time first.

use super::table;
use crate::top::picture::Picture;
use crate::top::view::frame::{nothing, titled};
use invivo_report::functions::quantiles;
use invivo_report::glyphs::Look;
use invivo_report::table::Side;
use invivo_report::units::{bytes, count, duration, duration_f64, share};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// What matters most first: a narrow terminal leaves out the last ones.
const COLUMNS: [table::Column; 14] = [
    ("function", Side::Left),
    ("time", Side::Right),
    ("share", Side::Right),
    ("calls", Side::Right),
    ("mean", Side::Right),
    ("max", Side::Right),
    ("of rank", Side::Right),
    ("p99", Side::Right),
    ("median", Side::Right),
    ("sent", Side::Right),
    ("received", Side::Right),
    ("sigma", Side::Right),
    ("min", Side::Right),
    ("clipped", Side::Right),
];

/// Draws the page.
pub fn draw(picture: &Picture, scroll: usize, look: Look, area: Rect, buffer: &mut Buffer) {
    let of_snapshot = || Some(&picture.snapshot.as_ref()?.functions[..]);
    let rows = match picture.lately {
        true => picture.functions.as_ref().map(|reply| &reply.rows[..]),
        false => Some(of_snapshot().unwrap_or_default()),
    };
    let Some(rows) = rows else {
        return nothing("The functions have been asked for.", look, area, buffer);
    };
    if rows.is_empty() {
        let text = picture
            .off("functions")
            .unwrap_or_else(|| match picture.lately {
                true => "No MPI call has ended in the last minute.".to_owned(),
                false => "No MPI call has been recorded yet.".to_owned(),
            });
        return nothing(&text, look, area, buffer);
    }

    let whole: u64 = rows.iter().map(|row| row.time_ns).sum();
    let clipped: u64 = rows.iter().map(|row| row.clipped).sum();
    let interval = picture.functions.as_ref();
    let interval = interval.and_then(|reply| reply.interval.as_ref());
    let title = format!("all ranks together, {}", picture.of_time(interval));
    let title = match clipped {
        0 => title,
        _ => format!("{title}; {} calls are clipped at a cut", count(clipped)),
    };
    let title = match picture.off("functions") {
        Some(off) => format!("{title}; {off}"),
        None => title,
    };
    let area = titled(&title, look, area, buffer);
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            let [median, p99] = quantiles(row);
            let cells = vec![
                row.function.clone(),
                duration(row.time_ns),
                share(row.time_ns as f64, whole as f64),
                count(row.calls),
                duration_f64(row.mean_ns),
                duration(row.max_ns),
                row.max_rank.to_string(),
                p99,
                median,
                bytes(row.bytes_out),
                bytes(row.bytes_in),
                duration_f64(row.stddev_ns),
                duration(row.min_ns),
                count(row.clipped),
            ];
            (cells, Style::new())
        })
        .collect();
    table::draw(&COLUMNS, &rows, scroll, look, area, buffer);
}
