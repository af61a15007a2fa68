//! Who waits for whom.

use crate::top::picture::Picture;
use crate::top::view::frame::{nothing, titled};
use invivo_report::glyphs::Look;
use invivo_report::wait_states;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Widget, Wrap};

/// Ranks that waited longest, and as many that made others wait, on a screen of this height:
/// the first table has some more lines.
pub fn ranks(height: u16) -> u32 {
    u32::from(height / 4).max(1)
}

/// Draws the page.
pub fn draw(picture: &Picture, scroll: usize, look: Look, area: Rect, buffer: &mut Buffer) {
    let Some(waits) = &picture.waits else {
        return nothing("The wait states have been asked for.", look, area, buffer);
    };
    let off = ["waitstates", "messages"].map(|name| picture.off(name));
    let title = format!(
        "who waits for whom, {}",
        picture.of_time(waits.interval.as_ref())
    );
    let title = std::iter::once(title).chain(off.into_iter().flatten());
    let title: Vec<String> = title.collect();
    let area = titled(&title.join("; "), look, area, buffer);
    let text = wait_states::text(waits);
    let lines: Vec<Line> = (text.lines())
        .map(|line| Line::raw(format!(" {}", look.text(line))))
        .collect();
    // The last line stays on the screen.
    let first = scroll.min(lines.len().saturating_sub(1));
    Paragraph::new(lines)
        .wrap(Wrap { trim: false })
        .scroll((u16::try_from(first).unwrap_or(u16::MAX), 0))
        .render(area, buffer);
}
