//! The root's server: takes requests, sends them down the tree, makes answers, and ends the job.
//! Knows no MPI and no clock: its role carries messages and passes the time.

mod final_result;
mod last_seconds;
mod own_questions;
mod presented;
mod process_names;
mod rest;
mod result_questions;

use crate::gateway::{ConnectionId, Gateway};
use crate::governor::{Governor, Wanted};
use crate::self_stats::SelfStats;
use crate::shutdown::{Shutdown, Step};
use crate::watchdog::Watchdog;
use final_result::FinalResult;
pub use final_result::{ENDED_MAX, LAST_MATRIX_SIDE, LAST_RANK_ROWS};
use invivo_analysis::merge::Mismatch;
use invivo_proto::control::analyses::{AnalysesStatus, AnalysisSet};
use invivo_proto::control::decode;
use invivo_proto::control::fault::RankFaulted;
use invivo_proto::control::link::{
    Answer, Ask as LinkAsk, Final, JobDescription, Request, TimelinePage,
};
use invivo_proto::control::overhead::OverheadCap;
use invivo_proto::control::tree::{Down, JobInfo, Order, Partial, RankEnded, Up};
use invivo_proto::ids::{CommandId, WorldRank};
use invivo_tbon::layout::Layout;
use invivo_tbon::node::Position;
use invivo_tbon::root::{Ask, AskId, Root, RootAction, RootInput};
use last_seconds::LastSeconds;
pub use presented::present;
use process_names::ProcessNames;
use std::collections::{BTreeMap, VecDeque};

/// Questions of gateways under way in the tree; fewer than it takes, so that the root's own find
/// room at the end. Commands do not count: whoever may only look cannot keep others from steering.
pub const ASKED_MAX: usize = 32;

const _: () = assert!(
    ASKED_MAX + final_result::QUESTIONS.len() + 3 < invivo_tbon::limits::WAVES_MAX,
    "the tree has room for the root's own questions"
);

/// Merges two partial results.
type MergeFn = fn(&mut Partial, Partial) -> Result<(), Mismatch>;

/// Who asked.
#[derive(Clone, Copy, Debug)]
enum Asker {
    Gateway(ConnectionId, u64),
    /// A gateway with a command, of which the tree has a limit of its own.
    Command(ConnectionId, u64),
    /// A gateway that ends the measurement: over as soon as it is answered.
    Shutdown(ConnectionId, u64),
    /// The root itself, for the result.
    Result,
    /// The root itself, for the last seconds.
    LastSeconds,
    Watchdog,
    /// The root itself, to keep the overhead below its cap: a question, and a command.
    Governor,
    GovernorsOrder,
    /// The root itself, which needs no answer.
    Nobody,
}

/// A command of the root's own. Others have the ids that their clients gave them, at random; those
/// of the governor lie below this one.
const RESUME_TO_END: CommandId = CommandId(u64::MAX);

/// What the root's role has to do.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerAction {
    /// Send to a child.
    Send(WorldRank, Down),
    /// Hand a page of the last seconds to our supervisor, and say when it is taken.
    Page(Box<TimelinePage>),
    /// Let our supervisor save what the buffers hold, and say when that is over.
    Save,
    /// Say this to the user, as one line on standard error.
    Print(String),
    /// Tell our supervisor where threads were that ended their ranks; the result follows.
    Faults(Vec<RankFaulted>),
    /// Hand the result to our supervisor.
    Report {
        /// The result.
        result: Box<Final>,
        /// Which analyses it was made with.
        analyses: Box<AnalysesStatus>,
        /// Another one follows, should the job come to its end.
        early: bool,
    },
    /// Leave, finalising MPI or not.
    Leave {
        /// Whether MPI can be finalised.
        finalize: bool,
    },
}

/// The root, without its transport.
pub struct RootServer {
    root: Root<MergeFn>,
    me: WorldRank,
    names: ProcessNames,
    children: usize,
    job: JobDescription,
    gateway: Option<Gateway>,
    asked: BTreeMap<AskId, Asker>,
    next_ask: u64,
    shutdown: Shutdown,
    watchdog: Watchdog,
    governor: Governor,
    /// Orders that it has given.
    governed: u64,
    /// Users' commands under way.
    users: BTreeMap<AskId, (CommandId, Order)>,
    /// The last of those that were done, which count once however often they are repeated.
    heard: VecDeque<CommandId>,
    result: FinalResult,
    /// The last seconds, while they are fetched.
    last_seconds: Option<LastSeconds>,
    /// When the first thing went wrong, in ns of the node.
    wrong_ns: Option<u64>,
    stats: SelfStats,
    actions: Vec<ServerAction>,
}

impl RootServer {
    /// The root at its position. The tree learns the job, and which analyses are on from its start,
    /// with the first actions.
    pub fn new(
        now_ns: u64,
        position: Position,
        job: JobDescription,
        (info, analyses): (JobInfo, AnalysisSet),
        gateway: Option<Gateway>,
    ) -> RootServer {
        let mut server = RootServer {
            me: position.process,
            names: ProcessNames::default(),
            children: position.children.len(),
            shutdown: Shutdown::new(position.height, job.ranks),
            root: Root::new(now_ns, position, invivo_analysis::merge::merge as MergeFn),
            gateway,
            asked: BTreeMap::new(),
            next_ask: 0,
            watchdog: Watchdog::new(now_ns, 0),
            governor: Governor::new(Wanted::at_first(&info, analyses)),
            governed: 0,
            users: BTreeMap::new(),
            heard: VecDeque::new(),
            result: FinalResult::new(job.clone()),
            last_seconds: None,
            job,
            wrong_ns: None,
            stats: SelfStats::default(),
            actions: Vec::new(),
        };
        if analyses != AnalysisSet::DEFAULT {
            server.run(now_ns, RootInput::Analyses(analyses));
        }
        server.run(now_ns, RootInput::Job(info));
        server
    }

    /// In a tree whose members are named by their processes.
    pub fn named_by(mut self, layout: Layout) -> RootServer {
        self.names = ProcessNames(Some(layout));
        self
    }

    /// With a watchdog that reports a job without progress.
    pub fn watched_by(mut self, watchdog: Watchdog) -> RootServer {
        self.watchdog = watchdog;
        self
    }

    /// With a cap on the overhead from the start.
    pub fn capped_at(mut self, now_ns: u64, cap: Option<OverheadCap>) -> RootServer {
        if cap.is_some() {
            self.governor.set_cap(now_ns, cap);
        }
        self
    }

    /// What the buffers hold is saved by our supervisor before the job ends.
    pub fn saving(mut self) -> RootServer {
        self.shutdown.save_first();
        self
    }

    /// Our supervisor has saved it, or never will.
    pub fn saved(&mut self) {
        self.shutdown.saved();
    }

    /// Tool processes that report to it.
    pub fn children(&self) -> usize {
        self.children
    }

    /// The link to the gateway, for waiting.
    pub fn gateway(&self) -> Option<&Gateway> {
        self.gateway.as_ref()
    }

    /// A message of a child.
    pub fn up(&mut self, now_ns: u64, from: WorldRank, bytes: &[u8]) {
        let input = match decode::<Up>(bytes) {
            Ok(message) => RootInput::Up { from, message },
            Err(_) => RootInput::Garbage(from),
        };
        self.run(now_ns, input);
    }

    /// Takes the gateway's requests. Whether there were any.
    pub fn poll_gateway(&mut self, now_ns: u64) -> bool {
        let requests = self.gateway.as_mut().map(Gateway::poll).unwrap_or_default();
        let worked = !requests.is_empty();
        for (connection, request) in requests {
            self.request(now_ns, connection, request);
        }
        worked
    }

    /// The end is requested by a signal, of the launcher or of a user.
    pub fn end_asked(&mut self, now_ns: u64) {
        if self.shutdown.is_hurried() {
            return;
        }
        self.wrong_ns.get_or_insert(now_ns);
        self.shutdown.end_asked(now_ns);
        // Ranks that are held may have something to do before they end, and nobody else can let
        // them go now.
        let ask = self.new_ask(Asker::Nobody);
        let what = Ask::Command {
            id: RESUME_TO_END,
            order: Order::Resume,
        };
        self.run(now_ns, RootInput::Ask { ask, what });
    }

    /// The tree is that of a tool process that died, and has what it left in its ranks' memory.
    pub fn salvage(&mut self, now_ns: u64) {
        self.wrong_ns.get_or_insert(now_ns);
        self.shutdown.salvage(now_ns);
    }

    /// Our supervisor has dealt with the result, or never will.
    pub fn report_done(&mut self) {
        self.shutdown.report_done();
    }

    /// Our supervisor has taken a page of the last seconds.
    pub fn page_taken(&mut self, now_ns: u64) {
        if let Some(last_seconds) = &mut self.last_seconds
            && last_seconds.page_taken()
        {
            self.ask_next_page(now_ns);
        }
    }

    /// Whether nothing is measured any more and only the job's end is waited for.
    pub fn is_shut_down(&self) -> bool {
        self.shutdown.is_idle()
    }

    /// Time passes.
    pub fn tick(&mut self, now_ns: u64, stats: SelfStats) {
        self.stats = stats;
        self.run(now_ns, RootInput::Tick);
        self.watch(now_ns);
        self.govern(now_ns);
        while let Some(step) = self.shutdown.next(now_ns) {
            match step {
                Step::Save => self.actions.push(ServerAction::Save),
                Step::Ask => self.ask_for_result(now_ns),
                Step::Write => self.write_result(now_ns),
                Step::CloseGateway => self.gateway = None,
                Step::Release => self.run(now_ns, RootInput::Release),
                Step::Leave { finalize } => {
                    self.run(now_ns, RootInput::Shutdown);
                    self.actions.push(ServerAction::Leave { finalize });
                }
            }
        }
    }

    /// What is to be done now.
    pub fn take_actions(&mut self) -> Vec<ServerAction> {
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
                asker = match order {
                    // Its acknowledgement ends more than the request, see `answered`.
                    Order::Shutdown => Asker::Shutdown(connection, id),
                    _ => Asker::Command(connection, id),
                };
                Ask::Command { id: command, order }
            }
        };
        let is_question = matches!(what, Ask::Query(_));
        if let Some(why) = self.refusal(is_question) {
            return self.answer(connection, id, Answer::Refused(why), Vec::new());
        }
        let ask = self.new_ask(asker);
        if let Ask::Command { id, order } = &what {
            self.users.insert(ask, (*id, order.clone()));
        }
        self.run(now_ns, RootInput::Ask { ask, what });
    }

    /// Why a question or a command is not taken now.
    fn refusal(&self, is_question: bool) -> Option<String> {
        let is_gateways = |asker: &&Asker| matches!(asker, Asker::Gateway(..));
        if self.shutdown.is_measurement_over() && !self.shutdown.is_saving() {
            Some("the measurement was shut down: the job runs on unobserved".into())
        } else if self.shutdown.has_begun() {
            Some("the job is ending; its report comes next".into())
        } else if is_question && self.asked.values().filter(is_gateways).count() >= ASKED_MAX {
            Some(format!(
                "{ASKED_MAX} questions are being answered already; ask again when one of them is"
            ))
        } else {
            None
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

    /// Feeds an input to the tree's root, and carries out the actions that follow.
    fn run(&mut self, now_ns: u64, input: RootInput) {
        for action in self.root.step(now_ns, input) {
            match action {
                RootAction::Down { to, message } => {
                    self.actions.push(ServerAction::Send(to, message))
                }
                RootAction::Answer {
                    ask,
                    partial,
                    coverage,
                    missing,
                } => {
                    let answer = self.present(partial, coverage);
                    self.answered(now_ns, ask, answer, self.names.of(&missing));
                }
                RootAction::Acked { ask, mut acks } => {
                    acks.missing = self.names.of(&acks.missing);
                    let missing = acks.missing.clone();
                    self.answered(now_ns, ask, Answer::Command(acks), missing);
                }
                RootAction::Refused { ask, refusal } => {
                    let refused = Answer::Refused(refusal.to_string());
                    self.answered(now_ns, ask, refused, Vec::new());
                }
                RootAction::Present { .. } => {}
                RootAction::RankFaulted(faulted) => self.result.rank_faulted(*faulted),
                RootAction::RankEnded(ended) => self.rank_ended(now_ns, ended),
                RootAction::Drained => self.shutdown.all_drained(),
            }
        }
    }

    fn rank_ended(&mut self, now_ns: u64, ended: RankEnded) {
        self.result.rank_ended(ended);
        // The first death counts: later ones are mostly the launcher's doing.
        self.wrong_ns.get_or_insert(now_ns);
        self.shutdown.rank_ended(now_ns);
    }

    fn answered(&mut self, now_ns: u64, ask: AskId, answer: Answer, missing: Vec<WorldRank>) {
        self.users_command_answered(now_ns, ask, &answer);
        match self.asked.remove(&ask) {
            Some(Asker::Gateway(connection, id) | Asker::Command(connection, id)) => {
                self.answer(connection, id, answer, missing)
            }
            Some(Asker::Shutdown(connection, id)) => {
                // Where no rank has done it, nothing is over: whoever asked sees why, and may ask
                // again.
                let over = matches!(&answer, Answer::Command(acks) if acks.done > 0);
                // Answered before the gateway's socket is closed by the shutdown.
                self.answer(connection, id, answer, missing);
                if over {
                    self.shutdown.measurement_shut_down();
                }
            }
            Some(Asker::Result) => {
                self.result.silent(&answer, self.names.ranks_of(&missing));
                self.result.answer(answer, self.watchdog.last_words());
                self.conclude_answers();
            }
            Some(Asker::LastSeconds) => self.page_answered(answer, missing),
            Some(Asker::Watchdog) => self.watchdog_hears(answer),
            Some(Asker::Governor) => self.governor_hears(now_ns, answer),
            Some(Asker::GovernorsOrder) => {
                let acks = match &answer {
                    Answer::Command(acks) => Some(acks),
                    _ => None,
                };
                self.governor.ordered(now_ns, acks);
            }
            Some(Asker::Nobody) | None => {}
        }
    }
}

#[cfg(test)]
mod tests;
