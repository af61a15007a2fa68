//! What the ranks did in the last minute, or over the whole run, as a picture.

use crate::top::picture::Picture;
use crate::top::view::frame::{nothing, titled};
use crate::view::heatmap;
use invivo_report::glyphs::Look;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

/// Columns beside the cells: the names of the ranks, and their means.
const BESIDE: u16 = 24;
/// Lines of the page beside the rows: title, scale, times, and who has most and least.
const LINES: u16 = 5;
/// Lines of the screen that are no page.
const FRAME: u16 = 5;

/// The most columns and rows that a screen of this size shows.
pub fn size(width: u16, height: u16) -> (u32, u32) {
    let across = width.saturating_sub(BESIDE).max(1);
    let down = height.saturating_sub(FRAME + LINES).max(1);
    (u32::from(across), u32::from(down))
}

/// Draws the page.
pub fn draw(picture: &Picture, look: Look, area: Rect, buffer: &mut Buffer) {
    let Some(grid) = &picture.grid else {
        return nothing(
            "The ranks over time have been asked for.",
            look,
            area,
            buffer,
        );
    };
    let text = heatmap::text(grid, look);
    let (title, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let title = match picture.off("heatmap") {
        Some(off) => format!("{title}; {off}"),
        None => title.to_owned(),
    };
    let area = titled(&title, look, area, buffer);
    // The blank line between the scale and the rows is one that a row can have.
    let lines = rest.lines().filter(|line| !line.is_empty());
    for (line, y) in lines.zip(area.y..area.bottom()) {
        let line = format!(" {line}");
        Line::raw(line).render(
            Rect {
                y,
                height: 1,
                ..area
            },
            buffer,
        );
    }
}
