//! The root as its surroundings see it: who asked what, what partial results mean as answers, and
//! what is to happen when the job ends. Knows no MPI: `main` carries messages to and fro and tells
//! the time.

use crate::ending::{Ending, QUIET_NS, Step};
use crate::gateway::{ConnectionId, Gateway};
use crate::own::Own;
use crate::saving::Saving;
use crate::watchdog::Watchdog;
use invivo_analysis::groups::Members;
use invivo_analysis::hang::{Surroundings, explain};
use invivo_analysis::merge::Mismatch;
use invivo_proto::control::decode;
use invivo_proto::control::link::{
    Answer, Ask as LinkAsk, Final, JobDescription, Request, TimelinePage,
};
use invivo_proto::control::results::{Coverage, FunctionTable, JobStatus, Matrix, NOTES_MAX};
use invivo_proto::control::tree::{Down, JobInfo, Order, Partial, Query, RankEnded, Up};
use invivo_proto::ids::{CommandId, WorldRank};
use invivo_tbon::node::Position;
use invivo_tbon::root::{Ask, AskId, Root, RootAction, RootInput};
use std::collections::BTreeMap;

/// Questions and commands of gateways under way in the tree; fewer than it takes, so that the
/// root's own find room at the end.
pub const ASKED_MAX: usize = 32;
/// Deaths that the result names. A report shows the first few; more than so many die together of
/// one cause.
pub const ENDED_MAX: usize = 1024;

// The last questions, and one each for what ranks wait for and for the last seconds.
const _: () = assert!(ASKED_MAX + LAST_QUESTIONS.len() + 1 < invivo_tbon::limits::WAVES_MAX);

/// Rows by rank in the result: all of them up to some hundred ranks, the worst ones of more.
pub const LAST_RANK_ROWS: u32 = 4096;
/// Side of the matrix in the result: exact up to so many ranks, and readable as a picture beyond.
pub const LAST_MATRIX_SIDE: u32 = 256;
/// What the result is made of.
const LAST_QUESTIONS: [Query; 3] = [
    Query::Functions {
        rank_rows_max: LAST_RANK_ROWS,
    },
    Query::Matrix {
        side_max: LAST_MATRIX_SIDE,
    },
    Query::Status,
];

/// What is asked for after a death as well. A rank that waits for a dead one has done so for most
/// of the quiet that precedes.
const WHO_WAITS: Query = Query::Hang {
    older_ns: QUIET_NS / 2,
};

/// How partial results become one: by the analyses' own law.
pub(crate) type MergeFn = fn(&mut Partial, Partial) -> Result<(), Mismatch>;

/// Who asked.
#[derive(Clone, Copy, Debug)]
enum Asker {
    Gateway(ConnectionId, u64),
    /// The same; when it is answered the measurement is over.
    Shutdown(ConnectionId, u64),
    /// The root itself, for the result.
    Ending,
    /// The root itself, for the last seconds.
    Saving,
    /// The root's watchdog.
    Watchdog,
    /// The root itself, which needs no answer.
    Nobody,
}

/// The only command of the root's own. Others have the ids that their clients gave them, at random.
const RESUME_TO_END: CommandId = CommandId(u64::MAX);

/// What `main` has to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Send to a child.
    Send(WorldRank, Down),
    /// Hand a page of the last seconds to our supervisor, and say when it is taken.
    Page(Box<TimelinePage>),
    /// Say this to the user, as one line on standard error.
    Say(String),
    /// Hand the result to our supervisor.
    Report {
        /// The result.
        result: Box<Final>,
        /// Another one follows, should the job come to its end.
        early: bool,
    },
    /// Leave, finalising MPI or not.
    Leave {
        /// Whether MPI can be finalised.
        finalize: bool,
    },
}

/// See the module's head.
pub struct Station {
    root: Root<MergeFn>,
    me: WorldRank,
    children: usize,
    job: JobDescription,
    gateway: Option<Gateway>,
    asked: BTreeMap<AskId, Asker>,
    next_ask: u64,
    ending: Ending,
    watchdog: Watchdog,
    result: Final,
    /// The result has the table that was asked for last.
    has_table: bool,
    unanswered: usize,
    /// The last seconds, while they are asked for.
    saving: Option<Saving>,
    /// A page of it is on its way to our supervisor.
    page_is_out: bool,
    /// When the first thing went wrong.
    wrong_ns: Option<u64>,
    own: Own,
    actions: Vec<Action>,
}

impl Station {
    /// The root at its position. The tree learns the job with the first action.
    pub fn new(
        now_ns: u64,
        position: Position,
        job: JobDescription,
        info: JobInfo,
        gateway: Option<Gateway>,
    ) -> Station {
        let ending = Ending::new(position.height, job.ranks);
        let mut station = Station {
            me: position.me,
            children: position.children.len(),
            root: Root::new(now_ns, position, invivo_analysis::merge::merge as MergeFn),
            gateway,
            asked: BTreeMap::new(),
            next_ask: 0,
            ending,
            watchdog: Watchdog::new(now_ns, 0),
            result: Final {
                job: job.clone(),
                functions: FunctionTable::default(),
                matrix: Matrix::default(),
                status: JobStatus::default(),
                coverage: Coverage::default(),
                ended: Vec::new(),
                hang: Box::default(),
                shut_down: false,
            },
            has_table: false,
            job,
            unanswered: 0,
            saving: None,
            page_is_out: false,
            wrong_ns: None,
            own: Own::default(),
            actions: Vec::new(),
        };
        station.run(now_ns, RootInput::Job(info));
        station
    }

    /// With a watchdog that speaks.
    pub fn watched_by(mut self, watchdog: Watchdog) -> Station {
        self.watchdog = watchdog;
        self
    }

    /// Tool processes that report to it.
    pub fn children(&self) -> usize {
        self.children
    }

    /// The link to the gateway, for waiting.
    pub fn gateway(&self) -> Option<&Gateway> {
        self.gateway.as_ref()
    }

    /// A child says something.
    pub fn up(&mut self, now_ns: u64, from: WorldRank, bytes: &[u8]) {
        let input = match decode::<Up>(bytes) {
            Ok(message) => RootInput::Up { from, message },
            Err(_) => RootInput::Garbage(from),
        };
        self.run(now_ns, input);
    }

    /// Takes the gateway's requests. Whether there were any.
    pub fn hear_gateway(&mut self, now_ns: u64) -> bool {
        let requests = self.gateway.as_mut().map(Gateway::poll).unwrap_or_default();
        let worked = !requests.is_empty();
        for (connection, request) in requests {
            self.request(now_ns, connection, request);
        }
        worked
    }

    /// The launcher asks for the end, or somebody else does.
    pub fn asked_to_end(&mut self, now_ns: u64) {
        if self.ending.is_hurried() {
            return;
        }
        self.wrong_ns.get_or_insert(now_ns);
        self.ending.asked_to_end(now_ns);
        // Ranks that are held may have something to do before they end, and nobody else can let
        // them go now.
        let ask = self.new_ask(Asker::Nobody);
        let what = Ask::Command {
            id: RESUME_TO_END,
            order: Order::Resume,
        };
        self.run(now_ns, RootInput::Ask { ask, what });
    }

    /// Our supervisor has dealt with the result, or never will.
    pub fn dealt_with(&mut self) {
        self.ending.dealt_with();
    }

    /// Our supervisor has taken a page of the last seconds.
    pub fn page_taken(&mut self, now_ns: u64) {
        if std::mem::take(&mut self.page_is_out) {
            self.save_more(now_ns);
        }
    }

    /// Whether nothing is measured any more and only the job's end is waited for.
    pub fn is_shut_down(&self) -> bool {
        self.ending.is_idle()
    }

    /// Time passes.
    pub fn tick(&mut self, now_ns: u64, own: Own) {
        self.own = own;
        self.run(now_ns, RootInput::Tick);
        self.watch(now_ns);
        while let Some(step) = self.ending.next(now_ns) {
            match step {
                Step::Ask => self.ask_last(now_ns),
                Step::Write => {
                    // What has not come by now is missing there.
                    (self.saving, self.page_is_out) = (None, false);
                    if self.unanswered > 0 {
                        // Who has not answered is named then, and what the others said is there.
                        self.run(now_ns, RootInput::Enough);
                    }
                    // Nor is it taken for an answer to what a second result is made of.
                    let ours = |asker: &Asker| matches!(asker, Asker::Ending | Asker::Saving);
                    self.asked.retain(|_, asker| !ours(asker));
                    self.result.shut_down = self.ending.is_shut_down();
                    let mut result = Box::new(self.result.clone());
                    let early = self.ending.is_early();
                    if early {
                        let note = "the end of the job was asked for: this is as it was then";
                        result.status.notes.insert(0, note.to_owned());
                        result.status.notes.truncate(NOTES_MAX);
                        // What goes wrong from here on is what the last seconds of the second one
                        // lead to.
                        self.wrong_ns = None;
                        self.has_table = false;
                    }
                    self.actions.push(Action::Report { result, early });
                }
                Step::CloseGateway => self.gateway = None,
                Step::Release => self.run(now_ns, RootInput::Release),
                Step::Leave { finalize } => {
                    self.run(now_ns, RootInput::Shutdown);
                    self.actions.push(Action::Leave { finalize });
                }
            }
        }
    }

    /// What is to be done now.
    pub fn take_actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }

    fn request(&mut self, now_ns: u64, connection: ConnectionId, request: Request) {
        let Request { id, ask } = request;
        let mut asker = Asker::Gateway(connection, id);
        let what = match ask {
            LinkAsk::Job => {
                return self.answer(connection, id, Answer::Job(self.job.clone()), Vec::new());
            }
            LinkAsk::Query(query) => Ask::Query(query),
            LinkAsk::Command { id: command, order } => {
                if order == Order::Shutdown {
                    asker = Asker::Shutdown(connection, id);
                }
                Ask::Command { id: command, order }
            }
        };
        if let Some(why) = self.refusal() {
            return self.answer(connection, id, Answer::Refused(why), Vec::new());
        }
        let ask = self.new_ask(asker);
        self.run(now_ns, RootInput::Ask { ask, what });
    }

    /// Why nothing is answered now.
    fn refusal(&self) -> Option<String> {
        if self.ending.is_shut_down() {
            Some("the measurement was shut down: the job runs on unobserved".into())
        } else if self.ending.has_begun() {
            Some("the job is ending; its report comes next".into())
        } else if self.asked.len() >= ASKED_MAX {
            Some(format!(
                "{ASKED_MAX} questions are being answered already; ask again when one of them is"
            ))
        } else {
            None
        }
    }

    /// Lets the watchdog ask, if it is time and nothing has begun to end.
    fn watch(&mut self, now_ns: u64) {
        if self.ending.has_begun() || self.ending.is_shut_down() {
            return;
        }
        if let Some(older_ns) = self.watchdog.asks(now_ns) {
            let ask = self.new_ask(Asker::Watchdog);
            let what = Ask::Query(Query::Hang { older_ns });
            self.run(now_ns, RootInput::Ask { ask, what });
        }
    }

    fn ask_last(&mut self, now_ns: u64) {
        // Supervisors look at their ranks for it, which takes longer than there is in a hurry.
        let has_time = !self.ending.is_hurried() && !self.ending.is_shut_down();
        let who_waits = (has_time && !self.result.ended.is_empty()).then_some(WHO_WAITS);
        self.unanswered = LAST_QUESTIONS.len() + usize::from(who_waits.is_some());
        for query in LAST_QUESTIONS.into_iter().chain(who_waits) {
            let ask = self.new_ask(Asker::Ending);
            self.run(
                now_ns,
                RootInput::Ask {
                    ask,
                    what: Ask::Query(query),
                },
            );
        }
        // After a shutdown the job goes on: nothing has happened to it. Nor has it where it came
        // through when it was asked to end: its last seconds are those before that.
        let went_well = self.ending.is_shut_down() || self.ending.is_second_in_health();
        if self.ending.is_abnormal() && !went_well {
            let since_ns = self.wrong_ns.unwrap_or(now_ns);
            self.saving = Some(Saving::begin(self.root.ranks(), since_ns, now_ns));
            self.save_more(now_ns);
        }
    }

    /// Asks for the next page of the last seconds, if there is one.
    fn save_more(&mut self, now_ns: u64) {
        match self.saving.as_ref().and_then(Saving::next) {
            Some(query) => {
                let ask = self.new_ask(Asker::Saving);
                self.run(
                    now_ns,
                    RootInput::Ask {
                        ask,
                        what: Ask::Query(query),
                    },
                );
            }
            None => self.all_is_answered(),
        }
    }

    fn all_is_answered(&mut self) {
        if self.unanswered == 0 && self.saving.as_ref().is_none_or(Saving::is_over) {
            self.ending.all_answered();
        }
    }

    fn saved(&mut self, answer: Answer, missing: Vec<WorldRank>) {
        let Some(saving) = &mut self.saving else {
            return;
        };
        match answer {
            Answer::Timeline(last, _) => {
                let page = Box::new(saving.page(last, missing));
                self.page_is_out = true;
                self.actions.push(Action::Page(page));
            }
            _ => {
                saving.give_up();
                self.all_is_answered();
            }
        }
    }

    fn new_ask(&mut self, asker: Asker) -> AskId {
        self.next_ask += 1;
        let ask = AskId(self.next_ask);
        self.asked.insert(ask, asker);
        ask
    }

    fn answer(
        &mut self,
        connection: ConnectionId,
        id: u64,
        answer: Answer,
        missing: Vec<WorldRank>,
    ) {
        if let Some(gateway) = &mut self.gateway {
            gateway.answer(connection, id, answer, missing);
        }
    }

    /// Lets something happen to the root, and does what it asks for.
    fn run(&mut self, now_ns: u64, input: RootInput) {
        for action in self.root.step(now_ns, input) {
            match action {
                RootAction::Down { to, message } => self.actions.push(Action::Send(to, message)),
                RootAction::Answer {
                    ask,
                    partial,
                    coverage,
                    missing,
                } => {
                    let answer = self.present(partial, coverage);
                    self.answered(ask, answer, missing);
                }
                RootAction::Acked { ask, acks } => {
                    let missing = acks.missing.clone();
                    self.answered(ask, Answer::Command(acks), missing);
                }
                RootAction::Refused { ask, refusal } => {
                    self.answered(ask, Answer::Refused(refusal.to_string()), Vec::new());
                }
                RootAction::Present { .. } => {}
                RootAction::RankEnded(ended) => self.rank_ended(now_ns, ended),
                RootAction::Drained => self.ending.all_drained(),
            }
        }
    }

    fn rank_ended(&mut self, now_ns: u64, ended: RankEnded) {
        if self.result.ended.len() < ENDED_MAX {
            self.result.ended.push(ended);
        }
        self.wrong_ns.get_or_insert(now_ns);
        self.ending.rank_ended(now_ns);
    }

    /// Makes an answer of what the tree found.
    fn present(&self, partial: Partial, mut coverage: Coverage) -> Answer {
        coverage.tool_cpu_ns = coverage.tool_cpu_ns.saturating_add(self.own.cpu_ns);
        match partial {
            Partial::Functions(table) => Answer::Functions(table, coverage),
            Partial::Matrix(matrix) => Answer::Matrix(matrix, coverage),
            Partial::Messages(messages) => Answer::Messages(*messages, coverage),
            Partial::Buffers(buffers) => Answer::Buffers(buffers, coverage),
            Partial::Records(records) => Answer::Records(records, coverage),
            Partial::Timeline(last) => Answer::Timeline(last, coverage),
            Partial::Hang(waits) => {
                let around = Surroundings {
                    ranks: self.job.ranks,
                    members: &|comm| self.root.group(comm).map(Members::of),
                };
                Answer::Hang(Box::new((explain(&waits, &around), *waits)), coverage)
            }
            Partial::Stacks(stacks) => Answer::Stacks(stacks, coverage),
            Partial::Status(mut status) => {
                status.notes.extend(self.own_notes());
                status.notes.truncate(NOTES_MAX);
                Answer::Status(status, coverage)
            }
        }
    }

    /// What went wrong at the root itself.
    fn own_notes(&self) -> impl Iterator<Item = String> {
        let refusals = self.gateway.as_ref().and_then(Gateway::refusals);
        let closed = refusals.map(|(count, why)| {
            format!("{count} connections of a gateway were closed, the first because {why}")
        });
        closed.into_iter().chain(self.own.notes(self.me))
    }

    /// An answer for whoever asked.
    fn answered(&mut self, ask: AskId, answer: Answer, missing: Vec<WorldRank>) {
        match self.asked.remove(&ask) {
            Some(Asker::Gateway(connection, id)) => self.answer(connection, id, answer, missing),
            Some(Asker::Shutdown(connection, id)) => {
                // Where no rank has done it, nothing is over: whoever asked sees why, and may ask
                // again.
                let over = matches!(&answer, Answer::Command(acks) if acks.done > 0);
                self.answer(connection, id, answer, missing);
                if over {
                    self.ending.shut_down();
                }
            }
            Some(Asker::Ending) => self.last_answer(answer),
            Some(Asker::Saving) => self.saved(answer, missing),
            Some(Asker::Watchdog) => match answer {
                Answer::Hang(found, _) => {
                    let line = self.watchdog.hears(&found.0, &found.1);
                    self.actions.extend(line.map(Action::Say));
                }
                _ => self.watchdog.unanswered(),
            },
            Some(Asker::Nobody) | None => {}
        }
    }

    fn last_answer(&mut self, answer: Answer) {
        match answer {
            // The books are of the moment of the table: the job may run on while it is asked.
            Answer::Functions(functions, coverage) => {
                self.result.functions = functions;
                self.result.coverage = coverage;
                self.has_table = true;
            }
            Answer::Matrix(matrix, _) => self.result.matrix = matrix,
            Answer::Status(mut status, coverage) => {
                status.notes.truncate(NOTES_MAX - 1);
                status
                    .notes
                    .extend(self.watchdog.last_words().map(str::to_owned));
                self.result.status = status;
                if !self.has_table {
                    self.result.coverage = coverage;
                }
            }
            // The tree is shut down only after the result; nothing to take over.
            Answer::Refused(_)
            | Answer::Job(_)
            | Answer::Command(_)
            | Answer::Messages(..)
            | Answer::Buffers(..)
            | Answer::Records(..)
            | Answer::Timeline(..)
            | Answer::Stacks(..) => {}
            Answer::Hang(found, _) => *self.result.hang = found.1,
        }
        self.unanswered = self.unanswered.saturating_sub(1);
        self.all_is_answered();
    }
}

#[cfg(test)]
mod tests;
