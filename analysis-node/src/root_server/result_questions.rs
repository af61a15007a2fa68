//! The root's questions for the result of the job, and for its last seconds.

use super::last_seconds::LastSeconds;
use super::{Asker, RootServer, ServerAction};
use invivo_proto::control::link::Answer;
use invivo_proto::ids::WorldRank;
use invivo_tbon::root::{Ask, RootInput};

impl RootServer {
    pub(super) fn ask_for_result(&mut self, now_ns: u64) {
        // The hang query takes supervisors up to half a second: too long when SIGKILL may follow.
        let has_time = !self.shutdown.is_hurried() && !self.shutdown.is_measurement_over();
        // Looking up names may take a second or more: where all is well nobody kills meanwhile.
        let is_well = !self.shutdown.is_abnormal() || self.shutdown.is_second_in_health();
        for query in self.result.begin(has_time, is_well) {
            let ask = self.new_ask(Asker::Result);
            let what = Ask::Query(query);
            self.run(now_ns, RootInput::Ask { ask, what });
        }

        // After a shutdown the job goes on: nothing has happened to it. Nor has it where it came
        // through when it was asked to end: its last seconds are those before that.
        let went_well = self.shutdown.is_measurement_over() || self.shutdown.is_second_in_health();
        if self.shutdown.is_abnormal() && !went_well {
            let since_ns = self.wrong_ns.unwrap_or(now_ns);
            self.last_seconds = Some(LastSeconds::begin(self.root.ranks(), since_ns, now_ns));
            self.ask_next_page(now_ns);
        }
    }

    /// Asks for the next page of the last seconds, if there is one.
    pub(super) fn ask_next_page(&mut self, now_ns: u64) {
        match self.last_seconds.as_ref().and_then(LastSeconds::next) {
            Some(query) => {
                let ask = self.new_ask(Asker::LastSeconds);
                let what = Ask::Query(query);
                self.run(now_ns, RootInput::Ask { ask, what });
            }
            None => self.conclude_answers(),
        }
    }

    pub(super) fn page_answered(&mut self, answer: Answer, missing: Vec<WorldRank>) {
        let Some(last_seconds) = &mut self.last_seconds else {
            return;
        };
        match answer {
            Answer::Timeline(last, _) => {
                let page = Box::new(last_seconds.page(last, missing));
                self.actions.push(ServerAction::Page(page));
            }
            _ => {
                last_seconds.give_up();
                self.conclude_answers();
            }
        }
    }

    /// Goes on with the shutdown once the result is complete.
    pub(super) fn conclude_answers(&mut self) {
        let has_pages = self.last_seconds.as_ref().is_none_or(LastSeconds::is_over);
        if self.result.is_answered() && has_pages {
            self.shutdown.all_answered();
        }
    }

    pub(super) fn write_result(&mut self, now_ns: u64) {
        // Pages that have not come by now are missing there.
        self.last_seconds = None;
        if !self.result.is_answered() {
            // Ends the waves now: partial answers come at once, and the silent members are named.
            self.run(now_ns, RootInput::Enough);
        }
        // Late answers to these queries must not be taken for those of a second result.
        let ours = |asker: &Asker| matches!(asker, Asker::Result | Asker::LastSeconds);
        self.asked.retain(|_, asker| !ours(asker));

        let early = self.shutdown.is_early();
        let analyses = self.result.analyses();
        let result = self
            .result
            .written(self.shutdown.is_measurement_over(), early);
        if early {
            // What goes wrong from here on is what the last seconds of the second one lead to.
            self.wrong_ns = None;
        }
        let faults = self.result.faults().to_vec();
        if !faults.is_empty() {
            self.actions.push(ServerAction::Faults(faults));
        }
        self.actions.push(ServerAction::Report {
            result,
            analyses,
            early,
        });
    }
}
