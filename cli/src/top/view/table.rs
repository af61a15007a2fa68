//! Tables that scroll: a head that stays, columns that are left out from the end where there is no
//! room.

use crate::top::palette::Palette;
use invivo_report::glyphs::Look;
use invivo_report::table::Side;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::Widget;

/// A column: its name, and which side its cells stand on.
pub type Column = (&'static str, Side);

/// Draws as many columns as there is room for and the rows from `scroll` on; the last line says how
/// many lie outside.
pub fn draw(
    columns: &[Column],
    rows: &[(Vec<String>, Style)],
    scroll: usize,
    look: Look,
    area: Rect,
    buffer: &mut Buffer,
) {
    // Over all rows, not only those shown: columns stay where they are while one scrolls.
    let width_of = |column: usize| {
        let cells = rows.iter().filter_map(|(cells, _)| cells.get(column));
        let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
        widest.max(columns[column].0.len())
    };

    // One column stays free at the left edge.
    let mut room = usize::from(area.width).saturating_sub(1);
    let mut widths = Vec::new();
    for column in 0..columns.len() {
        let width = width_of(column);
        let with_gap = width + if column > 0 { 2 } else { 0 };
        if with_gap > room {
            break;
        }
        room -= with_gap;
        widths.push(width);
    }
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut text = String::from(" ");
        for (at, ((cell, width), (_, side))) in cells.zip(&widths).zip(columns).enumerate() {
            text.push_str(if at > 0 { "  " } else { "" });
            match side {
                Side::Left => text.push_str(&format!("{cell:<width$}")),
                Side::Right => text.push_str(&format!("{cell:>width$}")),
            }
        }
        look.text(&text)
    };

    let mut y = area.y;
    let mut put = |text: String, style: Style| {
        if y < area.bottom() {
            Line::styled(text, style).render(
                Rect {
                    y,
                    height: 1,
                    ..area
                },
                buffer,
            );
            y += 1;
        }
    };
    put(
        line(&mut columns.iter().map(|(name, _)| *name)),
        look.title(),
    );

    // Without the head, and where not all rows fit also without the last line.
    let height = usize::from(area.height).saturating_sub(1);
    let all = rows.len() <= height;
    let shown = if all {
        height
    } else {
        height.saturating_sub(1)
    };
    // The model does not know how many rows fit, so it may scroll too far.
    let first = scroll.min(rows.len().saturating_sub(shown));
    for (cells, style) in rows.iter().skip(first).take(shown) {
        put(line(&mut cells.iter().map(String::as_str)), *style);
    }
    if !all {
        let last = (first + shown).min(rows.len());
        let text = format!(
            " {} to {last} of {}; arrow keys move",
            first + 1,
            rows.len()
        );
        put(text, look.aside());
    }
}
