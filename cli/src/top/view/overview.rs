//! The overview page: a sentence, rates over time, ranks by state, the heaviest functions, notes.

use crate::top::finding::{Weight, finding, observed};
use crate::top::history::Sample;
use crate::top::palette::Palette;
use crate::top::picture::Picture;
use crate::top::view::frame::titled;
use invivo_grpc::v1::{FunctionRow, RankCounts};
use invivo_report::functions::observed_mpi_ns;
use invivo_report::glyphs::Look;
use invivo_report::recording;
use invivo_report::units::{count, share};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Sparkline, Widget, Wrap};

/// Lines of the sentence.
const FINDING: u16 = 2;
/// Lines of ranks by state, the title included.
const STATES: u16 = 7;
/// Lines of the rates beside a title at least.
const RATES_MIN: u16 = 4;

/// Lines for the sentence, as far as the others can spare them.
fn finding_lines(text: &str, area: Rect) -> u16 {
    let width = usize::from(area.width.saturating_sub(1));
    let (mut lines, mut column) = (1, 0);
    for word in text.split(' ').map(|word| word.chars().count()) {
        if column > 0 && column + 1 + word > width {
            (lines, column) = (lines + 1, word);
        } else {
            column += word + usize::from(column > 0);
        }
    }
    let room = area.height.saturating_sub(1 + RATES_MIN + STATES);
    lines.min(room).max(FINDING)
}

/// Draws the page.
pub fn draw(picture: &Picture, look: Look, area: Rect, buffer: &mut Buffer) {
    let status = picture
        .snapshot
        .as_ref()
        .and_then(|snapshot| snapshot.status.as_ref());
    let notes = status.map_or(&[][..], |status| &status.notes);
    let (text, weight) = finding(picture);
    let finding_lines = finding_lines(&text, area);
    let room_for_notes = area
        .height
        .saturating_sub(finding_lines + 1 + RATES_MIN + STATES);
    // Notes are last in the layout: the curves keep their least height.
    let notes_lines = (notes.len() as u16).min(room_for_notes);
    let [sentence, rates, below, noted] = Layout::vertical([
        Constraint::Length(finding_lines),
        Constraint::Min(RATES_MIN),
        Constraint::Length(STATES),
        Constraint::Length(notes_lines),
    ])
    .areas(area);
    let style = match weight {
        Weight::Fine => look.good(),
        Weight::Notable => look.warning(),
        Weight::Trouble => look.bad(),
    };
    let inner = Rect {
        x: sentence.x + 1,
        width: sentence.width.saturating_sub(1),
        ..sentence
    };
    Paragraph::new(look.text(&text))
        .style(style)
        .wrap(Wrap { trim: true })
        .render(inner, buffer);

    let halves = |area| {
        Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)])
            .spacing(2)
            .areas(area)
    };
    let [left, right]: [Rect; 2] = halves(rates);
    draw_calls(picture, look, left, buffer);
    draw_share(picture, look, right, buffer);
    let [left, right]: [Rect; 2] = halves(below);
    let counts = status.and_then(|status| status.ranks).unwrap_or_default();
    draw_states(&counts, look, left, buffer);
    let functions = picture
        .snapshot
        .as_ref()
        .map_or(&[][..], |snapshot| &snapshot.functions);
    draw_functions(functions, look, right, buffer);
    for (note, y) in notes.iter().zip(noted.y..noted.bottom()) {
        let line = Line::styled(look.text(&format!(" note: {note}")), look.warning());
        line.render(
            Rect {
                y,
                height: 1,
                ..noted
            },
            buffer,
        );
    }
}

fn draw_calls(picture: &Picture, look: Look, area: Rect, buffer: &mut Buffer) {
    let now = picture.history.last().calls_per_s;
    let now = now.map_or_else(|| "-".to_owned(), |rate| count(rate.round() as u64));
    let columns = usize::from(area.width);
    let most = picture
        .history
        .newest(columns)
        .filter_map(|sample| sample.calls_per_s)
        .fold(0.0, f64::max);
    let title = format!("calls/s {now}, most {}", count(most.round() as u64));
    let area = titled(&title, look, area, buffer);
    // The scale begins at 0, so that a height is a number; in thousandths, as the widget counts in
    // integers.
    let scaled = |sample: &Sample| {
        sample
            .calls_per_s
            .map(|rate| (1000.0 * rate / most.max(1.0)) as u64)
    };
    sparkline(picture, scaled, look, area, buffer);
}

fn draw_share(picture: &Picture, look: Look, area: Rect, buffer: &mut Buffer) {
    let now = picture.history.last().mpi_share;
    let now = now.map_or_else(|| "-".to_owned(), |of_time| share(of_time, 1.0));
    let status = picture
        .snapshot
        .as_ref()
        .and_then(|snapshot| snapshot.status.as_ref());
    let alert = status.and_then(|status| status.recording.as_ref().and_then(recording::alert));
    let title = match alert.filter(|alert| alert == "RECORDING OFF") {
        Some(_) => format!("time in MPI {now} before recording was switched off"),
        None => format!("time in MPI {now}, scale to 100 %"),
    };
    let area = titled(&title, look, area, buffer);
    // A share has a fixed scale, so that two jobs look alike when they are.
    let scaled = |sample: &Sample| sample.mpi_share.map(|of_time| (1000.0 * of_time) as u64);
    sparkline(picture, scaled, look, area, buffer);
}

/// The newest at the right edge.
fn sparkline(
    picture: &Picture,
    scaled: impl Fn(&Sample) -> Option<u64>,
    look: Look,
    area: Rect,
    buffer: &mut Buffer,
) {
    let columns = usize::from(area.width);
    let data: Vec<Option<u64>> = picture.history.newest(columns).map(scaled).collect();
    let width = data.len() as u16;
    let right = Rect {
        x: area.right() - width,
        width,
        ..area
    };
    Sparkline::default()
        .data(data)
        .max(1000)
        .bar_set(look.bars())
        .style(look.data())
        .render(right, buffer);
}

fn draw_states(counts: &RankCounts, look: Look, area: Rect, buffer: &mut Buffer) {
    let area = titled("ranks by state", look, area, buffer);
    let states = [
        ("starting", counts.starting),
        ("held", counts.held),
        ("computing", counts.computing),
        ("in MPI", counts.in_mpi),
        ("paused", counts.paused),
        ("finished", counts.finished),
    ];
    let all: u32 = states.iter().map(|(_, ranks)| ranks).sum();
    let width = usize::from(area.width).saturating_sub(21);
    for ((name, ranks), y) in states.into_iter().zip(area.y..area.bottom()) {
        let bar = look.bar(f64::from(ranks) / f64::from(all.max(1)), width);
        let text = format!(" {name:<9} {:>8}  {bar}", count(ranks.into()));
        let style = if ranks == 0 {
            look.aside()
        } else {
            look.data()
        };
        Line::styled(text, style).render(
            Rect {
                y,
                height: 1,
                ..area
            },
            buffer,
        );
    }
}

fn draw_functions(rows: &[FunctionRow], look: Look, area: Rect, buffer: &mut Buffer) {
    let area = titled("MPI time since the start or reset", look, area, buffer);
    let whole = observed_mpi_ns(rows);
    let width = usize::from(area.width).saturating_sub(29);
    for (row, y) in observed(rows).zip(area.y..area.bottom()) {
        let of_all = row.time_ns as f64 / whole.max(1) as f64;
        let name: String = row.function.chars().take(18).collect();
        let text = format!(
            " {name:<18} {:>7} {}",
            share(row.time_ns as f64, whole as f64),
            look.bar(of_all, width)
        );
        Line::styled(look.text(&text), look.data()).render(
            Rect {
                y,
                height: 1,
                ..area
            },
            buffer,
        );
    }
}
