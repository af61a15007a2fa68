//! The title and the bar above every page: the job, the connection, coverage and losses.

use crate::top::finding::dropped;
use crate::top::model::{Connection, Model};
use crate::top::palette::Palette;
use invivo_grpc::v1::{Coverage, JobStatus};
use invivo_report::glyphs::Look;
use invivo_report::recording;
use invivo_report::status::library;
use invivo_report::units::{counted, duration, share};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use std::time::Duration;

/// Missing tool processes that are named: as many as there is room for beside the rest.
const NAMED_MAX: usize = 4;

/// Which job this is.
pub fn title(model: &Model, look: Look, area: Rect, buffer: &mut Buffer) {
    let status = model
        .live
        .snapshot
        .as_ref()
        .and_then(|snapshot| snapshot.status.as_ref());
    let mut facts = vec![counted(model.ranks().into(), "rank")];
    if let Some(job) = model.hello.as_ref().and_then(|hello| hello.job.as_ref()) {
        facts.push(library(&job.library));
    }
    facts.extend(status.map(|status| duration(status.observed_ns)));
    let right = look.text(&facts.join("  ")) + " ";
    let left = look.text(&format!(
        " invivo top  job {}: {}",
        model.job, model.command
    ));
    // The command line may be long: it gives way, not the facts about the job.
    let room = usize::from(area.width).saturating_sub(right.chars().count() + 1);
    let left: String = left.chars().take(room).collect();
    let gap = usize::from(area.width).saturating_sub(left.chars().count() + right.chars().count());
    Line::styled(format!("{left}{}{right}", " ".repeat(gap)), look.title()).render(area, buffer);
}

/// Two lines that no page hides.
pub fn draw(model: &Model, look: Look, area: Rect, buffer: &mut Buffer) {
    let snapshot = model.live.snapshot.as_ref();
    let status = snapshot
        .and_then(|snapshot| snapshot.status.clone())
        .unwrap_or_default();
    let coverage = snapshot
        .and_then(|snapshot| snapshot.coverage.clone())
        .unwrap_or_default();

    // Always of the live numbers, even while the page below is frozen.
    let state = states(model, &status);
    let fine = state == ["LIVE"] || state == ["SAVED"];
    let mut first = vec![(
        state.join(" + "),
        if fine { Mood::Good } else { Mood::Warning },
    )];
    let mut second = Vec::new();
    if snapshot.is_some() {
        first.push(members(&coverage));
        first.extend(recording(&status));
        second.extend(losses(&coverage, model.live.history.overhead()));
    } else {
        second.push(("no numbers yet".to_owned(), Mood::Plain));
    }
    if let Some(hello) = &model.hello {
        second.push((format!("scope {}", hello.scope), Mood::Plain));
    }
    if snapshot.is_some() {
        let calls = coverage.ledger.unwrap_or_default().entered;
        second.push((counted(calls, "call"), Mood::Plain));
    }
    for (parts, y) in [first, second].into_iter().zip(area.y..) {
        let line = Rect {
            y,
            height: 1,
            ..area
        };
        buffer.set_style(line, look.bar_line());
        spans(parts, look).render(line, buffer);
    }
}

#[derive(Clone, Copy)]
enum Mood {
    Plain,
    Good,
    Warning,
}

fn spans(parts: Vec<(String, Mood)>, look: Look) -> Line<'static> {
    let mut spans = vec![Span::raw(" ")];
    for (at, (text, mood)) in parts.into_iter().enumerate() {
        if at > 0 {
            spans.push(Span::raw(look.separator()));
        }
        // Reversed: the colour becomes the background.
        let style = match mood {
            Mood::Plain => Style::new(),
            Mood::Good => look.good(),
            Mood::Warning => look.warning(),
        };
        spans.push(Span::styled(
            look.text(&text),
            style.add_modifier(Modifier::REVERSED),
        ));
    }
    Line::from(spans)
}

/// What is not as in a job that is simply watched, in capitals; LIVE where nothing is, and SAVED
/// where it is no job.
fn states(model: &Model, status: &JobStatus) -> Vec<String> {
    let mut states = Vec::new();
    match &model.connection {
        Connection::Opening => states.push("CONNECTING".to_owned()),
        Connection::Ended => states.push("ENDED".to_owned()),
        // The reason is long and stays out of the bar; how long it lasts decides what to do.
        Connection::Lost { since, why: _ } => {
            let away = Duration::from_secs(model.now.saturating_sub(*since).as_secs());
            states.push(format!(
                "GATEWAY LOST {} s ago, trying again",
                away.as_secs()
            ));
        }
        Connection::Live => {}
    }
    if let Some(pause) = &status.pause {
        states.push(format!("PAUSED {}", duration(pause.lease_left_ns)));
    }
    let counts = status.ranks.unwrap_or_default();
    if counts.held > 0 {
        states.push("HELD".to_owned());
    }
    states.extend(status.recording.as_ref().and_then(recording::alert));
    if model.frozen.is_some() {
        states.push("FROZEN".to_owned());
    }
    if states.is_empty() {
        let job = model.hello.as_ref().and_then(|hello| hello.job.as_ref());
        let is_saved = job.is_some_and(|job| job.observation.is_some());
        states.push(if is_saved { "SAVED" } else { "LIVE" }.to_owned());
    }
    states
}

/// Nothing where the state says that something is not recorded.
fn recording(status: &JobStatus) -> Option<(String, Mood)> {
    let recording = status.recording.unwrap_or_default();
    if recording::alert(&recording).is_some() {
        return None;
    }
    let text = match recording.since_ns {
        0 => "recording".to_owned(),
        since => format!(
            "recording since {} ago",
            duration(recording.now_ns.saturating_sub(since))
        ),
    };
    Some((text, Mood::Plain))
}

fn members(coverage: &Coverage) -> (String, Mood) {
    let mut text = format!("{} of {} ranks", coverage.ranks_reporting, coverage.ranks);
    let missing = coverage.members_missing as usize;
    if missing > 0 {
        let names: Vec<String> = coverage
            .missing
            .iter()
            .take(NAMED_MAX)
            .map(u32::to_string)
            .collect();
        let more = if missing > names.len() { " .." } else { "" };
        text.push_str(&format!(", missing: {}{more}", names.join(" ")));
    }
    let all = missing == 0 && coverage.ranks_reporting == coverage.ranks;
    (text, if all { Mood::Plain } else { Mood::Warning })
}

fn losses(coverage: &Coverage, overhead: Option<f64>) -> [(String, Mood); 3] {
    let ledger = coverage.ledger.unwrap_or_default();
    let lost = dropped(coverage);
    let drops = if lost == 0 {
        ("dropped 0".to_owned(), Mood::Plain)
    } else {
        let text = format!(
            "dropped {} ({})",
            invivo_report::units::count(lost),
            share(lost as f64, ledger.entered as f64)
        );
        (text, Mood::Warning)
    };
    let overhead = overhead.map_or_else(|| "-".to_owned(), |of_time| share(of_time, 1.0));
    [
        (format!("lag {}", duration(coverage.lag_ns)), Mood::Plain),
        drops,
        (format!("overhead {overhead}"), Mood::Plain),
    ]
}
