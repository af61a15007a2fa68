//! Titles of pages, and the text of an empty page.

use crate::top::palette::Palette;
use invivo_report::glyphs::Look;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line as TextLine, Span, Text};
use ratatui::widgets::Widget;

/// A title with a rule behind it; the area below.
pub fn titled(title: &str, look: Look, area: Rect, buffer: &mut Buffer) -> Rect {
    let [head, below] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    let rest = usize::from(head.width).saturating_sub(title.chars().count() + 2);
    let line = TextLine::from(vec![
        Span::styled(look.text(title), look.title()),
        Span::raw(" "),
        Span::styled(look.rule().repeat(rest), look.aside()),
    ]);
    line.render(head, buffer);
    below
}

/// Text where there is nothing to show yet.
pub fn nothing(text: &str, look: Look, area: Rect, buffer: &mut Buffer) {
    Text::styled(format!("\n {text}"), look.aside()).render(area, buffer);
}
