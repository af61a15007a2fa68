//! What the root asks and orders by itself: for the watchdog, and for the governor.

use super::{Asker, RootServer, ServerAction};
use invivo_proto::control::link::Answer;
use invivo_proto::control::tree::Query;
use invivo_proto::ids::CommandId;
use invivo_tbon::root::{Ask, AskId, RootInput};

/// Commands that are remembered: clients repeat one that was not answered, and soon.
const HEARD_MAX: usize = 64;

impl RootServer {
    /// Lets the watchdog ask, if it is time and nothing has begun to end.
    pub(super) fn watch(&mut self, now_ns: u64) {
        if !self.is_measuring() {
            return;
        }
        if let Some(older_ns) = self.watchdog.asks(now_ns) {
            let ask = self.new_ask(Asker::Watchdog);
            let what = Ask::Query(Query::Hang { older_ns });
            self.run(now_ns, RootInput::Ask { ask, what });
        }
    }

    pub(super) fn watchdog_hears(&mut self, answer: Answer) {
        match answer {
            Answer::Hang(found, _) => {
                let line = self.watchdog.hears(&found.0, &found.1);
                self.actions.extend(line.map(ServerAction::Print));
            }
            _ => self.watchdog.unanswered(),
        }
    }

    /// Lets the governor ask or give an order, if it is time and nothing has begun to end.
    pub(super) fn govern(&mut self, now_ns: u64) {
        if !self.is_measuring() {
            return;
        }
        if self.governor.asks(now_ns) {
            let ask = self.new_ask(Asker::Governor);
            let what = Ask::Query(Query::Status);
            self.run(now_ns, RootInput::Ask { ask, what });
        }
        // What a user has ordered may be about the same, and is heard of when it is done.
        if self.users.is_empty()
            && let Some(order) = self.governor.order()
        {
            self.governed += 1;
            let id = CommandId(super::RESUME_TO_END.0 - self.governed);
            let ask = self.new_ask(Asker::GovernorsOrder);
            let what = Ask::Command { id, order };
            self.run(now_ns, RootInput::Ask { ask, what });
        }
    }

    /// A user's command is over, if that is what was asked: where some rank has done it, the
    /// governor hears of it.
    pub(super) fn users_command_answered(&mut self, now_ns: u64, ask: AskId, answer: &Answer) {
        let Some((id, order)) = self.users.remove(&ask) else {
            return;
        };
        let is_done = matches!(answer, Answer::Command(acks) if acks.done > 0);
        if !is_done || self.heard.contains(&id) {
            return;
        }
        if self.heard.len() == HEARD_MAX {
            self.heard.pop_front();
        }
        self.heard.push_back(id);
        self.governor.heard(now_ns, &order);
    }

    pub(super) fn governor_hears(&mut self, now_ns: u64, answer: Answer) {
        match answer {
            Answer::Status(status, coverage) => {
                let line = self.governor.hears(now_ns, &status, &coverage);
                self.actions.extend(line.map(ServerAction::Print));
            }
            _ => self.governor.unanswered(),
        }
    }

    /// Nothing has begun to end.
    fn is_measuring(&self) -> bool {
        !self.shutdown.has_begun() && !self.shutdown.is_measurement_over()
    }
}
