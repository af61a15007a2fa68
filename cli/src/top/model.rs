//! The state of the screen and its reaction to events. Pure: time comes in as an argument, actions
//! come out.

use super::confirmation;
use super::keys::Key;
use super::picture::{LATELY_NS, Picture, Table};
use crate::steer::nanoseconds;
use invivo_grpc::v1::{CommandReply, HelloReply, RankCounts, Snapshot};
use invivo_proto::control::analyses::{Analysis, AnalysisSet};
use invivo_proto::control::order::Order;
use invivo_report::explain::Explanation;
use std::time::Duration;

/// How long the outcome of a command is shown in the last line.
const SAID_FOR: Duration = Duration::from_secs(15);
/// Lines that a page key moves by.
const PAGE_LINES: usize = 10;

/// What is shown between the bar and the last line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// What goes on, at a glance.
    Overview,
    /// Some ranks, those with the least time in MPI first.
    Ranks,
    /// The MPI function table.
    Functions,
    /// The communication matrix in blocks.
    Matrix,
    /// Where the records are, and what the measurement costs.
    Buffers,
    /// Time in MPI of each rank over the run.
    Time,
    /// Who waits for whom.
    Waits,
}

impl Page {
    /// All, in the order of their keys.
    pub const ALL: [Page; 7] = [
        Page::Overview,
        Page::Ranks,
        Page::Functions,
        Page::Matrix,
        Page::Buffers,
        Page::Time,
        Page::Waits,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Page::Overview => "Overview",
            Page::Ranks => "Ranks",
            Page::Functions => "Functions",
            Page::Matrix => "Matrix",
            Page::Buffers => "Buffers",
            Page::Time => "Time",
            Page::Waits => "Waits",
        }
    }
}

/// The connection to the gateway.
#[derive(Clone, Debug, PartialEq)]
pub enum Connection {
    /// No snapshot has come yet.
    Opening,
    /// Snapshots come.
    Live,
    /// They do not; it is tried again and again.
    Lost {
        /// Since when.
        since: Duration,
        /// Why, as far as is known.
        why: String,
    },
    /// The measurement is over; so nearly always is the job.
    Ended,
}

/// The last line.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// The keys.
    Keys,
    /// A question that waits for y or n.
    Asked(Order),
    /// It is being done.
    Doing(Order),
    /// How it went.
    Said {
        /// In words.
        text: String,
        /// Whether all is well.
        good: bool,
        /// When it was said.
        at: Duration,
    },
}

/// What happens.
#[derive(Clone, Debug)]
pub enum Event {
    /// The gateway says who it is.
    Hello(HelloReply),
    /// A snapshot came.
    Snapshot(Box<Snapshot>),
    /// What a page shows came, which was asked for of so long a time up to now, in ns; 0 of the
    /// whole run.
    Table(u64, Box<Table>),
    /// What limits the job, as far as that is known now.
    Explained(Option<Box<Explanation>>),
    /// No snapshots come any more, for this reason.
    Lost(String),
    /// The measurement is over.
    Ended,
    /// A command is over: the gateway's answer, or why there is none.
    Answered(Order, Result<CommandReply, String>),
    /// A key was pressed.
    Key(Key),
    /// Time has passed.
    Tick,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Give this command to the job.
    Do(Order),
    /// Leave.
    Quit,
}

/// What P and W ask for.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The longest that a pause lasts.
    pub lease: Duration,
    /// How long a window is.
    pub window: Duration,
}

/// The state of the screen.
#[derive(Clone, Debug)]
pub struct Model {
    /// The job's id.
    pub job: String,
    /// The application's command line.
    pub command: String,
    /// What the gateway said about itself and the job.
    pub hello: Option<HelloReply>,
    /// The connection to the gateway.
    pub connection: Connection,
    /// What is known now.
    pub live: Picture,
    /// What is shown instead while the view is frozen.
    pub frozen: Option<Box<Picture>>,
    /// Which page is shown.
    pub page: Page,
    /// The keys are explained instead of it.
    pub help: bool,
    /// Lines that lie above the page.
    pub scroll: usize,
    /// The last line.
    pub line: Line,
    /// The time of the last event.
    pub now: Duration,
    settings: Settings,
}

impl Model {
    /// Of a job before its first snapshot.
    pub fn new(job: &str, command: &str, settings: Settings) -> Model {
        Model {
            job: job.to_owned(),
            command: command.to_owned(),
            hello: None,
            connection: Connection::Opening,
            live: Picture {
                lately: true,
                ..Picture::default()
            },
            frozen: None,
            page: Page::Overview,
            help: false,
            scroll: 0,
            line: Line::Keys,
            now: Duration::ZERO,
            settings,
        }
    }

    /// What the pages show.
    pub fn picture(&self) -> &Picture {
        self.frozen.as_deref().unwrap_or(&self.live)
    }

    /// Ranks of the job, as far as is known.
    pub fn ranks(&self) -> u32 {
        let told = self.hello.as_ref().and_then(|hello| hello.job.as_ref());
        let covered = self
            .live
            .snapshot
            .as_ref()
            .and_then(|snapshot| snapshot.coverage.as_ref());
        told.map(|job| job.ranks)
            .or(covered.map(|coverage| coverage.ranks))
            .unwrap_or(0)
    }

    /// Ranks by state, now.
    pub fn counts(&self) -> RankCounts {
        let status = self
            .live
            .snapshot
            .as_ref()
            .and_then(|snapshot| snapshot.status.as_ref());
        status.and_then(|status| status.ranks).unwrap_or_default()
    }

    /// Whether the application is paused or held, now.
    pub fn stands(&self) -> bool {
        let status = self
            .live
            .snapshot
            .as_ref()
            .and_then(|snapshot| snapshot.status.as_ref());
        let paused = status.is_some_and(|status| status.pause.is_some());
        let counts = self.counts();
        paused || counts.paused + counts.held > 0
    }

    /// The page that is looked at, where its numbers are to be asked for; and of how long a time up
    /// to now, in ns, 0 of the whole run.
    pub fn wants(&self) -> Option<(Page, u64)> {
        let is_live = self.frozen.is_none() && self.connection == Connection::Live;
        let last_ns = if self.live.lately { LATELY_NS } else { 0 };
        is_live.then_some((self.page, last_ns))
    }

    /// Handles an event at `now` (time since the start, never running back); returns what is to be
    /// done.
    pub fn step(&mut self, now: Duration, event: Event) -> Option<Action> {
        self.now = now;
        if let Line::Said { at, .. } = self.line
            && now.saturating_sub(at) >= SAID_FOR
        {
            self.line = Line::Keys;
        }
        match event {
            Event::Hello(hello) => {
                let job = hello.job.as_ref();
                // An observation has tables of all its time alone.
                if job.is_some_and(|job| job.observation.is_some()) {
                    self.live.turn(false);
                }
                self.hello = Some(hello);
            }
            Event::Snapshot(snapshot) => self.take(*snapshot),
            // Asked for before M was pressed it is of another time.
            Event::Table(last_ns, table) if (last_ns != 0) == self.live.lately => {
                self.live.show(*table);
            }
            Event::Table(..) => {}
            Event::Explained(told) => self.live.explained = told.map(|told| *told),
            Event::Lost(why) => {
                // Repeated failures are one outage: its beginning stays.
                let since = match self.connection {
                    Connection::Lost { since, .. } => since,
                    _ => now,
                };
                self.connection = Connection::Lost { since, why };
            }
            Event::Ended => self.connection = Connection::Ended,
            Event::Answered(order, answer) => self.answered(order, answer),
            Event::Key(key) => return self.pressed(key),
            Event::Tick => {}
        }
        None
    }

    fn take(&mut self, snapshot: Snapshot) {
        self.connection = Connection::Live;
        let live = &mut self.live;
        if let Some(before) = &live.snapshot {
            live.history.note(before, &snapshot);
        }
        // Two are enough for rates; older numbers live on in the history.
        live.before = live.snapshot.replace(snapshot);
    }

    fn say(&mut self, text: String, good: bool) {
        self.line = Line::Said {
            text,
            good,
            at: self.now,
        };
    }

    fn answered(&mut self, order: Order, answer: Result<CommandReply, String>) {
        let (text, good) = match &answer {
            Ok(reply) => confirmation::outcome(&order, reply),
            Err(why) => (why.clone(), false),
        };
        // An open question stays: a `y` that is typed now must not confirm another one.
        if !matches!(self.line, Line::Asked(_)) {
            self.say(text, good);
        }
    }

    fn pressed(&mut self, key: Key) -> Option<Action> {
        if let Line::Asked(order) = &self.line {
            let order = order.clone();
            return self.confirmed(order, key);
        }
        match key {
            Key::Char('q') | Key::Interrupt => return Some(Action::Quit),
            Key::Char('?') => self.help = !self.help,
            Key::Escape if self.help => self.help = false,
            Key::Escape => self.line = Line::Keys,
            Key::Char(digit @ '1'..='7') => {
                self.page = Page::ALL[digit as usize - '1' as usize];
                (self.help, self.scroll) = (false, 0);
            }
            Key::Char(' ') => {
                self.frozen = match self.frozen.take() {
                    Some(_) => None,
                    // A copy, so that the live numbers go on: the bar above still shows what
                    // happens.
                    None => Some(Box::new(self.live.clone())),
                };
            }
            Key::Up | Key::Char('k') => self.scroll = self.scroll.saturating_sub(1),
            Key::Down | Key::Char('j') => self.scroll = self.scroll.saturating_add(1),
            Key::PageUp => self.scroll = self.scroll.saturating_sub(PAGE_LINES),
            Key::PageDown => self.scroll = self.scroll.saturating_add(PAGE_LINES),
            Key::Home => self.scroll = 0,
            Key::Char('m' | 'M') => self.turn(),
            Key::Char(letter) => {
                if let Some(order) = self.order(letter) {
                    self.ask(order);
                }
            }
        }
        None
    }

    /// The last minute, or the whole run.
    fn turn(&mut self) {
        let job = self.hello.as_ref().and_then(|hello| hello.job.as_ref());
        match job.is_some_and(|job| job.observation.is_some()) {
            true => self.say("a saved observation is shown as a whole".to_owned(), false),
            false if self.frozen.is_some() => {
                self.say("the view is frozen: space goes on".to_owned(), false);
            }
            false => self.live.turn(!self.live.lately),
        }
    }

    /// Only y does it; every other key lets it be, so that nothing happens by a slip of the finger.
    fn confirmed(&mut self, order: Order, key: Key) -> Option<Action> {
        if key != Key::Char('y') && key != Key::Char('Y') {
            self.line = Line::Keys;
            return (key == Key::Interrupt).then_some(Action::Quit);
        }
        self.line = Line::Doing(order.clone());
        Some(Action::Do(order))
    }

    fn order(&self, letter: char) -> Option<Order> {
        let status = self
            .live
            .snapshot
            .as_ref()
            .and_then(|snapshot| snapshot.status.as_ref());
        let recording = status.and_then(|status| status.recording.as_ref());
        Some(match letter.to_ascii_uppercase() {
            // One key for both: what it does follows from what the application does now.
            'P' if self.stands() => Order::Resume,
            'P' => Order::Pause {
                lease_ns: nanoseconds(self.settings.lease),
            },
            'R' => Order::Record {
                on: recording.is_some_and(|recording| recording.on == 0),
            },
            'X' => Order::Reset,
            'W' => Order::Window {
                length_ns: nanoseconds(self.settings.window),
            },
            // That of the page, and the one without a page from all others.
            'A' => {
                let analysis = match self.page {
                    Page::Functions => Analysis::Functions,
                    Page::Matrix => Analysis::Matrix,
                    Page::Time => Analysis::Grid,
                    Page::Waits => Analysis::WaitStates,
                    Page::Overview | Page::Ranks | Page::Buffers => Analysis::Messages,
                };
                let all = status.map_or(&[][..], |status| &status.analyses);
                let is_on = all
                    .iter()
                    .any(|one| one.name == analysis.name() && one.on > 0);
                Order::Analyses {
                    these: AnalysisSet::of(analysis),
                    on: !is_on,
                }
            }
            _ => return None,
        })
    }

    /// Asks for a confirmation, where it could be done at all.
    fn ask(&mut self, order: Order) {
        let Some(hello) = &self.hello else {
            return self.say("not connected yet".to_owned(), false);
        };
        let word = order.name();
        // One command after the other: the answer has to belong to the question shown.
        if matches!(self.line, Line::Doing(_)) {
            return;
        }
        if hello.scope != "control" {
            let text = format!(
                "{word} needs the scope control; this connection has the scope {}",
                hello.scope
            );
            self.say(text, false);
        // An older gateway would refuse; here the user learns why before saying yes.
        } else if !hello.capabilities.iter().any(|known| known == word) {
            self.say(
                format!("the gateway of this job does not know {word}"),
                false,
            );
        } else if self.connection != Connection::Live {
            self.say(
                "the gateway is away: nothing can be asked of the job now".to_owned(),
                false,
            );
        } else {
            self.line = Line::Asked(order);
        }
    }
}

#[cfg(test)]
mod tests;
