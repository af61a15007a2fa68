//! Carries out commands that switch analyses: at their point in job time, on all of the place's
//! ranks.

use super::local_ranks::LocalRanks;
use crate::time_point::{Now, TimePoint};
use invivo_analysis::switches::{Planned, Switches};
use invivo_proto::control::analyses::AnalysisSet;
use invivo_proto::control::tree::{Acks, Command, Cut, Up, Verb};
use invivo_proto::ids::CommandId;
use invivo_tbon::job_time::JobClock;

/// Commands under way that switch analyses.
#[derive(Default)]
pub struct AnalysisSwitches {
    /// Those that came before job time was known, in their order.
    early: Vec<Command>,
    asked: Vec<Asked>,
}

struct Asked {
    command: CommandId,
    came_ns: u64,
    cut: Cut,
}

impl AnalysisSwitches {
    /// These are on from the start of the job.
    pub fn begin(on: AnalysisSet, local: &mut LocalRanks) {
        local.feed.analyses.begin(Switches::new(on));
        local.say_what_is_wanted();
    }

    /// A command came. The answers that are due by now.
    pub fn command(
        &mut self,
        now: Now,
        command: &Command,
        clock: &JobClock,
        local: &mut LocalRanks,
    ) -> Vec<Up> {
        self.early.push(command.clone());
        self.step(now, clock, local)
    }

    /// Time has passed. The answers that are due by now.
    pub fn step(&mut self, now: Now, clock: &JobClock, local: &mut LocalRanks) -> Vec<Up> {
        // Without a command under way nothing is planned.
        if self.early.is_empty() && self.asked.is_empty() {
            return Vec::new();
        }
        // A copy, as the plan below is made in the analyses, which own the clock.
        let node = local.feed.analyses.clock().clone();
        let time_point = TimePoint::new(now, &node, clock);
        if time_point.is_known() {
            for command in std::mem::take(&mut self.early) {
                let Verb::Analyses { these, on, at_ns } = command.verb else {
                    continue;
                };
                // A time that has passed is now: calls before it may have been judged already.
                let job_ns = at_ns.max(time_point.job_ns());
                let planned = local.feed.analyses.switches.plan(Planned {
                    job_ns,
                    ticks: time_point.ticks_of(job_ns),
                    these,
                    on,
                });
                self.asked.push(Asked {
                    command: command.id,
                    came_ns: now.ns,
                    cut: Cut {
                        earliest_ns: planned.job_ns,
                        latest_ns: planned.job_ns,
                        error_ns: time_point.error_ns(),
                    },
                });
            }
        }
        let switches = &mut local.feed.analyses.switches;
        switches.retime(|job_ns| time_point.ticks_of(job_ns));
        local.feed.analyses.pass(now.ticks);
        local.say_what_is_wanted();

        let job_ns = time_point.job_ns();
        let is_done = |asked: &mut Asked| job_ns >= asked.cut.latest_ns;
        let done = self.asked.extract_if(.., is_done);
        done.map(|asked| Up::Ack {
            command: asked.command,
            acks: Acks {
                targets: local.len() as u32,
                done: local.len() as u32,
                slowest: local
                    .numbers()
                    .last()
                    .map(|rank| (rank, now.ns.saturating_sub(asked.came_ns))),
                from: Some(asked.cut),
                ..Acks::default()
            },
        })
        .collect()
    }

    /// What is under way will not be done, for this reason.
    pub fn refuse(&mut self, refusal: &Acks) -> Vec<Up> {
        let early = self.early.drain(..).map(|command| command.id);
        let ids = early.chain(self.asked.drain(..).map(|asked| asked.command));
        ids.map(|command| Up::Ack {
            command,
            acks: refusal.clone(),
        })
        .collect()
    }
}
