//! The screen as a function of the model: title, bar, tabs, one page, and the last line.
//!
//! ```text
//! invivo top  job known: ./app -v          4 ranks, Open MPI v4.1.4  12.3 s     title
//! LIVE | 4 of 4 ranks | recording                                               bar
//! lag 5.00 ms | dropped 7 (0.1 %) | overhead 0.9 % | scope control | 10,000 calls
//! 1 Overview  2 Ranks  3 Functions  4 Matrix  5 Buffers  6 Time                 tabs
//! ...                                                                           page
//! space freeze  M time  P pause  R recording  X reset  W window  ? help  q quit  last line
//! ```

mod bar;
mod buffers;
mod frame;
mod functions;
mod help;
mod matrix;
mod overview;
mod ranks;
mod table;
#[cfg(test)]
mod tests;
mod time;
mod waits;

pub use matrix::side as matrix_side;
pub use time::size as time_size;
pub use waits::ranks as waits_ranks;

use super::confirmation;
use super::model::{Line, Model, Page};
use crate::top::palette::Palette;
use invivo_report::glyphs::Look;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line as TextLine, Span};
use ratatui::widgets::{Paragraph, Widget, Wrap};

/// Columns that the pages need.
pub const WIDTH_MIN: u16 = 80;
/// Lines that the pages need.
pub const HEIGHT_MIN: u16 = 24;

/// Draws the screen.
pub fn draw(model: &Model, look: Look, area: Rect, buffer: &mut Buffer) {
    if area.width < WIDTH_MIN || area.height < HEIGHT_MIN {
        let text = format!(
            "invivo top needs {WIDTH_MIN} columns and {HEIGHT_MIN} lines; this terminal has {} and \
             {}. q quits.",
            area.width, area.height
        );
        return Paragraph::new(text)
            .wrap(Wrap { trim: true })
            .render(area, buffer);
    }
    let [title, bar, tabs, page, last] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(2),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(area);
    bar::title(model, look, title, buffer);
    bar::draw(model, look, bar, buffer);
    draw_tabs(model, look, tabs, buffer);
    let picture = model.picture();
    if model.help {
        help::draw(look, page, buffer);
    } else {
        match model.page {
            Page::Overview => overview::draw(picture, look, page, buffer),
            Page::Ranks => ranks::draw(picture, model.scroll, look, page, buffer),
            Page::Functions => functions::draw(picture, model.scroll, look, page, buffer),
            Page::Matrix => matrix::draw(picture, look, page, buffer),
            Page::Buffers => buffers::draw(picture, look, page, buffer),
            Page::Time => time::draw(picture, look, page, buffer),
            Page::Waits => waits::draw(picture, model.scroll, look, page, buffer),
        }
    }
    draw_last(model, look, last, buffer);
}

fn draw_tabs(model: &Model, look: Look, area: Rect, buffer: &mut Buffer) {
    let mut spans = vec![Span::raw(" ")];
    for (page, number) in Page::ALL.into_iter().zip(1..) {
        let style = if page == model.page && !model.help {
            look.title().add_modifier(Modifier::REVERSED)
        } else {
            Style::new()
        };
        // Where nothing can be reversed, the brackets tell.
        let name = if page == model.page && !model.help {
            format!("[{number} {}]", page.name())
        } else {
            format!(" {number} {} ", page.name())
        };
        spans.push(Span::styled(name, style));
    }
    TextLine::from(spans).render(area, buffer);
}

fn draw_last(model: &Model, look: Look, area: Rect, buffer: &mut Buffer) {
    let (text, style) = match &model.line {
        Line::Asked(order) => (confirmation::question(order, model.ranks()), look.warning()),
        Line::Doing(order) => (confirmation::progress(order), look.title()),
        Line::Said {
            text, good: true, ..
        } => (text.clone(), look.good()),
        Line::Said { text, .. } => (text.clone(), look.bad()),
        Line::Keys => {
            let pause = if model.stands() {
                "P resume"
            } else {
                "P pause"
            };
            let freeze = if model.frozen.is_some() {
                "space go on"
            } else {
                "space freeze"
            };
            let keys = format!(
                "{freeze}  M time  {pause}  R recording  X reset  W window  ? help  q quit"
            );
            (keys, look.aside())
        }
    };
    let text = fitting(&look.text(&text), usize::from(area.width).saturating_sub(1));
    TextLine::styled(format!(" {text}"), style).render(area, buffer);
}

/// As many parts of a sentence as there is room for: what matters most comes first.
fn fitting(text: &str, columns: usize) -> String {
    let mut text = text;
    while text.chars().count() > columns {
        // Whole clauses go, never half a number.
        match text.rfind("; ") {
            Some(end) => text = &text[..end],
            None => break,
        }
    }
    text.to_owned()
}
