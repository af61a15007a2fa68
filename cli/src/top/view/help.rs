//! The keys, explained.

use crate::top::view::frame::titled;
use invivo_report::glyphs::Look;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

const TEXT: [&str; 18] = [
    "1 to 7     overview, ranks, functions, matrix, buffers, time, waits",
    "arrows     move a long page; so do PgUp, PgDn, Home, j and k",
    "M          tables and time of the last minute, or of the whole run",
    "space      freeze the view, and go on; the bar above stays live",
    "P          pause the application, or let it go on",
    "R          switch recording off, or on; the job runs on unobserved",
    "X          reset: forget everything recorded so far",
    "W          record a window: forget everything, record for a while, then stop",
    "A          switch the analysis of the page, if it has one, else messages",
    "           P, R, X, W and A ask first; y does it, any other key does not",
    "? or Esc   leave this page; q quits, and the job is not affected",
    "lag        age of the oldest record that is not in the numbers yet",
    "dropped    calls without a record: no packet free, too many threads, no memory",
    "overhead   the ranks' time in the measurement, and the processors that it takes",
    "           from them, as a share of their time",
    "scope      what this connection may do: view, or control",
    "FROZEN     the view stands still; PAUSED: the application does; RECORDING OFF:",
    "           the application runs unobserved",
];

/// Draws it.
pub fn draw(look: Look, area: Rect, buffer: &mut Buffer) {
    let area = titled("keys and words", look, area, buffer);
    for (text, y) in TEXT.iter().zip(area.y..area.bottom()) {
        Line::raw(format!(" {text}")).render(
            Rect {
                y,
                height: 1,
                ..area
            },
            buffer,
        );
    }
}
