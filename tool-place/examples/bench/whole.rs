//! The whole place, as its process drives it. Its root is played.

use crate::Stage;
use crate::answers::Expected;
use crate::feed::Message;
use anyhow::{Context, Result, ensure};
use invivo_mpi_link::clock::{NodeClock, Reading};
use invivo_proto::control::analyses::{Analysis, AnalysisSet};
use invivo_proto::control::encode;
use invivo_proto::control::results::Coverage;
use invivo_proto::control::tree::{Down, JobInfo, Partial, Query, Up};
use invivo_proto::control::whereabouts::Whereabouts;
use invivo_proto::ids::{WaveId, WorldRank};
use invivo_tbon::layout::{FanIn, Layout, Policy};
use invivo_tool_place::place::Place;
use invivo_tool_place::time_point::Now;

/// When the place begins, in ns and in ticks.
const START: u64 = 1 << 40;
/// Job time is ahead by so much, in ns.
const AHEAD: u64 = 777_000_000_000;
/// The most rows of the matrix.
const SIDE_MAX: u32 = 512;

/// A clock whose ticks are nanoseconds, so that times can be compared to the last digit.
pub fn clock() -> NodeClock {
    let reading = Reading {
        ticks: START,
        ns: START,
        width_ticks: 0,
    };
    NodeClock::from_readings(reading, reading)
}

/// The layout in which one place has all ranks, and that place.
pub fn layout(ranks: u32) -> Result<(Layout, WorldRank)> {
    let layout = Layout::for_app(ranks, FanIn::new(&[ranks])?, Policy::Tail)?;
    Ok((layout, layout.place(0)))
}

/// A place, and the time that it is given.
pub struct Whole {
    name: &'static str,
    on: AnalysisSet,
    place: Place,
    now: Now,
}

impl Whole {
    /// A place of so many ranks with these analyses, each with a buffer of so many bytes.
    pub fn new(
        name: &'static str,
        on: AnalysisSet,
        ranks: u32,
        buffer_bytes: u64,
    ) -> Result<Whole> {
        let (layout, me) = layout(ranks)?;
        let now = Now {
            ns: START,
            ticks: START,
        };
        let place = Place::new(layout, me, None, clock(), now).context("no place")?;
        let mut whole = Whole {
            name,
            on,
            place,
            now,
        };
        whole.down(&Down::Analyses(on))?;
        whole.down(&Down::Job(JobInfo {
            id: "bench".into(),
            buffer_bytes,
            budget_bytes: u64::from(ranks) * buffer_bytes,
            recording: true,
            ..JobInfo::default()
        }))?;
        for _ in 0..100 {
            whole.step(1_000_000);
        }
        ensure!(
            whole.place.is_ready() && whole.place.hears_peers(),
            "the place did not begin"
        );
        Ok(whole)
    }

    fn down(&mut self, message: &Down) -> Result<()> {
        self.place.down(self.now, &encode(message)?);
        Ok(())
    }

    /// Time passes, and the place looks after everything; what it asks for the time is answered.
    fn step(&mut self, ns: u64) -> Vec<Up> {
        self.now.ns += ns;
        self.now.ticks += ns;
        self.place.step(self.now);
        let mut said = self.place.take_up();
        said.retain(|up| {
            let Up::WhatTime { asked_ns, .. } = *up else {
                return true;
            };
            let time = Down::Time {
                asked_ns,
                job_ns: asked_ns + AHEAD,
                error_ns: 0,
                parent_ns: 0,
                here: Whereabouts::default(),
            };
            self.down(&time).is_err()
        });
        said
    }

    fn ask(&mut self, query: Query) -> Result<(Partial, Coverage)> {
        self.down(&Down::Query {
            wave: WaveId(1),
            query,
        })?;
        let said = self.step(1000).into_iter();
        let answer = |up| match up {
            Up::Partial {
                partial, coverage, ..
            } => Some((partial, coverage)),
            _ => None,
        };
        said.filter_map(answer).next_back().context("no answer")
    }
}

impl Stage for Whole {
    fn name(&self) -> &'static str {
        self.name
    }

    fn feed(&mut self, messages: &[Message]) {
        for message in messages {
            let from = WorldRank(message.location as u32);
            self.place.packet(from, Some(&message.bytes));
        }
        // No more than the questions that every turn of the loop asks; time is short, so that no
        // second passes in which the real clock would be measured.
        self.step(1000);
    }

    fn check(&mut self, expected: &Expected) -> Result<()> {
        let (functions, coverage) = self.ask(Query::Functions {
            rank_rows_max: 0,
            past: None,
        })?;
        let (matrix, _) = self.ask(Query::Matrix {
            side_max: SIDE_MAX,
            past: None,
        })?;
        let (messages, _) = self.ask(Query::Messages { past: None })?;
        let (Partial::Functions(functions), Partial::Matrix(matrix), Partial::Messages(messages)) =
            (functions, matrix, messages)
        else {
            anyhow::bail!("answers to other questions");
        };
        expected.check_ledger(&coverage.ledger)?;
        if self.on.contains(Analysis::Functions) {
            expected.check_functions(&functions)?;
        }
        if self.on.contains(Analysis::Matrix) {
            expected.check_matrix(&matrix)?;
        }
        if self.on.contains(Analysis::Messages) {
            let matched = expected.check_messages(&messages)?;
            println!(
                "{{\"locations\": {}, \"stage\": \"answers\", \"matched\": {matched:.6}, \
                 \"given_up\": {}}}",
                coverage.ranks, messages.unmatched.limit
            );
        }
        Ok(())
    }
}
