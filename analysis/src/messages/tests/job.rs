//! A small job with MPI's own matching, written out: who takes which message is known because it is
//! decided here, not because it is found out. It yields the records that its ranks would make, and
//! the pairs.

use super::super::posted::Pattern;
use crate::testing::{RANKS, peers_on};
use alloc::vec::Vec;
use invivo_proto::ids::{CommLocal, Rank, RegionId};
use invivo_proto::mpi::{ANY_TAG, peer};
use invivo_proto::record::{Call, Facts, Part, RecordKind};
use proptest::prelude::*;

/// A call with its parts, as its rank records it.
pub type Record = (Call, Vec<Part>);

/// When a call was, in ticks.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub begin: u64,
    pub end: u64,
}

/// What the job did.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// By rank.
    pub records: Vec<Vec<Record>>,
    /// Every message sent: when, and its bytes.
    pub sends: Vec<(Span, u64)>,
    /// By whom each of them was sent, and whether in a call that may wait for the receiver.
    pub senders: Vec<(Rank, bool)>,
    pub pairs: Vec<Pair>,
    pub completions: Vec<Completion>,
}

/// A call that completes non-blocking sends.
#[derive(Clone, Debug)]
pub struct Completion {
    pub rank: Rank,
    pub span: Span,
    pub sends: Vec<usize>,
    /// It completes nothing else, and waits.
    pub may_wait: bool,
}

/// A send that is not complete.
#[derive(Clone, Copy, Debug)]
struct OpenSend {
    send: usize,
    request: u64,
    begin: u64,
    to: i32,
}

/// Which message was received when, by whom.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    pub send: usize,
    pub receive: Span,
    pub rank: Rank,
    /// When the call began that posted the receive.
    pub posted: u64,
}

#[derive(Clone, Copy, Debug)]
struct Message {
    send: usize,
    channel: Pattern,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    request: u64,
    begin: u64,
    pattern: Pattern,
    got: Option<Message>,
}

/// One thing that happens, as far as it is possible then.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    what: u8,
    rank: usize,
    comm: u32,
    peer: usize,
    tag: i32,
    wild: (bool, bool),
    later: u64,
    earlier: u64,
    many: usize,
}

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let who = (0u8..13, 0..RANKS as usize, 0u32..5, 0usize..9, 0i32..2);
    let how = (any::<(bool, bool)>(), 0u64..30, 0u64..90, 0usize..9);
    let step = (who, how).prop_map(
        |((what, rank, comm, peer, tag), (wild, later, earlier, many))| Step {
            what,
            rank,
            comm,
            peer,
            tag,
            wild,
            later,
            earlier,
            many,
        },
    );
    prop::collection::vec(step, 0..250)
}

/// The state while it runs.
struct Run {
    job: Job,
    now: u64,
    last_end: Vec<u64>,
    unexpected: Vec<Vec<Message>>,
    open: Vec<Vec<Open>>,
    open_sends: Vec<Vec<OpenSend>>,
    requests: u64,
}

fn takes(pattern: &Pattern, message: &Message) -> bool {
    pattern.comm == message.channel.comm
        && [message.channel.peer, peer::ANY].contains(&pattern.peer)
        && [message.channel.tag, ANY_TAG].contains(&pattern.tag)
}

impl Run {
    /// A call of `rank` that ends now and began some time ago.
    fn span(&mut self, rank: usize, earlier: u64) -> Span {
        let free = self.now - self.last_end[rank];
        let begin = self.now - 1 - earlier % free;
        self.last_end[rank] = self.now;
        Span {
            begin,
            end: self.now,
        }
    }

    fn record(&mut self, rank: usize, span: Span, facts: Facts, request: u64, parts: Vec<Part>) {
        let call = Call {
            facts,
            end: span.end,
            duration: span.end - span.begin,
            ordinal: 0,
            request,
        };
        self.job.records[rank].push((call, parts));
    }

    fn send(&mut self, step: &Step) {
        let rank = Rank(step.rank as u32);
        let comm = CommLocal(step.comm);
        let peers = peers_on(rank, comm);
        let to = step.peer % peers.len();
        let destination = peers[to];
        let bytes = self.job.sends.len() as u64 + 10;
        let span = self.span(step.rank, step.earlier);
        let kind = if step.wild.0 {
            RecordKind::Send
        } else {
            RecordKind::PostSend
        };

        let request = match kind {
            RecordKind::Send => 0,
            _ => {
                self.requests += 1;
                let send = OpenSend {
                    send: self.job.sends.len(),
                    request: self.requests,
                    begin: span.begin,
                    to: to as i32,
                };
                self.open_sends[step.rank].push(send);
                self.requests
            }
        };
        let facts = facts(kind, comm, to as i32, step.tag, bytes, 0);
        // A send of MPI_Sendrecv and of MPI_Startall is a part.
        if step.wild.1 {
            let region = region("MPI_Sendrecv");
            let part = Part {
                facts: Facts { region, ..facts },
                request,
                ..Part::default()
            };
            self.record(step.rank, span, plain(), 0, Vec::from([part]));
        } else {
            let region = region("MPI_Send");
            let facts = Facts { region, ..facts };
            self.record(step.rank, span, facts, request, Vec::new());
        }
        let may_wait = step.wild == (true, false);
        self.job.senders.push((rank, may_wait));

        let from = peers_on(destination, comm).iter().position(|r| *r == rank);
        let message = Message {
            send: self.job.sends.len(),
            channel: Pattern {
                comm,
                peer: from.expect("a member") as i32,
                tag: step.tag,
            },
            bytes,
        };

        self.job.sends.push((span, bytes));
        let at = destination.0 as usize;
        let mut open = self.open[at].iter_mut();
        match open.find(|open| open.got.is_none() && takes(&open.pattern, &message)) {
            Some(open) => open.got = Some(message),
            None => self.unexpected[at].push(message),
        }
    }

    fn pattern(&self, step: &Step) -> Pattern {
        let comm = CommLocal(step.comm);
        let from = step.peer % peers_on(Rank(step.rank as u32), comm).len();
        Pattern {
            comm,
            peer: if step.wild.0 { peer::ANY } else { from as i32 },
            tag: if step.wild.1 { ANY_TAG } else { step.tag },
        }
    }

    fn unexpected(&mut self, rank: usize, pattern: &Pattern) -> Option<Message> {
        let at = self.unexpected[rank]
            .iter()
            .position(|message| takes(pattern, message))?;
        Some(self.unexpected[rank].remove(at))
    }

    fn post(&mut self, step: &Step) {
        let pattern = self.pattern(step);
        let got = self.unexpected(step.rank, &pattern);
        let span = self.span(step.rank, step.earlier);
        self.requests += 1;
        let facts = facts(
            RecordKind::PostRecv,
            pattern.comm,
            pattern.peer,
            pattern.tag,
            0,
            999,
        );
        self.record(step.rank, span, facts, self.requests, Vec::new());
        self.open[step.rank].push(Open {
            request: self.requests,
            begin: span.begin,
            pattern,
            got,
        });
    }

    /// Completes some sends, and with `and_receive` a receive as well.
    fn complete_sends(&mut self, rank: usize, step: &Step, many: usize, and_receive: bool) {
        let span = self.span(rank, step.earlier);
        let mut sends = Vec::new();
        let mut parts = Vec::new();
        for _ in 0..many {
            let open = &mut self.open_sends[rank];
            if open.is_empty() {
                break;
            }
            let one = open.remove(step.peer % open.len());
            sends.push(one.send);
            parts.push(Part {
                facts: facts(RecordKind::CompletedSend, CommLocal(0), one.to, 0, 8, 0),
                request: one.request,
                posted: one.begin,
            });
        }
        let done = |open: &Open| open.got.is_some();
        let receive = self.open[rank].iter().position(done);
        let receive = receive.filter(|_| and_receive);
        if let Some(at) = receive {
            let open = self.open[rank].remove(at);
            let message = open.got.expect("it is done");
            self.pair(rank, message.send, span, open.begin);
            let part = Part {
                facts: received(RecordKind::CompletedRecv, &message),
                request: open.request,
                posted: open.begin,
            };
            // In the first of two pieces.
            parts.insert(0, part);
            parts.truncate(2);
            sends.truncate(1);
        }
        let looks = step.wild.0 && receive.is_none();
        let function = if looks { "MPI_Testall" } else { "MPI_Waitall" };
        let whole = Facts {
            region: region(function),
            ..plain()
        };
        self.record(rank, span, whole, 0, parts);
        self.job.completions.push(Completion {
            rank: Rank(rank as u32),
            span,
            sends,
            may_wait: !looks && receive.is_none(),
        });
    }

    /// Two non-blocking sends, and a call that completes them and waits meanwhile for one receiver
    /// after the other.
    fn late_receivers(&mut self, step: &Step) {
        let first = self.job.sends.len();
        let comm = CommLocal(step.comm);
        let peers = peers_on(Rank(step.rank as u32), comm);
        let to = [step.peer % peers.len(), (step.peer + 1) % peers.len()];
        for peer in to {
            self.now += 2;
            let wild = (false, step.wild.1);
            self.send(&Step {
                peer,
                wild,
                ..*step
            });
        }
        let free_from = self.last_end[step.rank];
        for (send, at) in (first..).zip(to.map(|to| peers[to].0 as usize)) {
            let unexpected = &self.unexpected[at];
            let waiting = unexpected.iter().position(|of| of.send == send);
            // One of the same channel that was sent before would be received before.
            let is_next = |waiting: &usize| {
                let channel = unexpected[*waiting].channel;
                let is_of_it = |of: &Message| takes(&channel, of);
                at != step.rank && !unexpected[..*waiting].iter().any(is_of_it)
            };
            if let Some(waiting) = waiting.filter(is_next) {
                let message = self.unexpected[at].remove(waiting);
                self.now += 3;
                let span = self.span(at, 0);
                let facts = received(RecordKind::Recv, &message);
                self.record(at, span, facts, 0, Vec::new());
                self.pair(at, send, span, span.begin);
            }
        }
        self.now += 2;
        let wild = (step.wild.0 && step.wild.1, false);
        let earlier = self.now - free_from - 1;
        let step = Step {
            earlier,
            wild,
            ..*step
        };
        self.complete_sends(step.rank, &step, usize::MAX, false);
    }

    fn receive(&mut self, step: &Step) {
        let pattern = self.pattern(step);
        if let Some(message) = self.unexpected(step.rank, &pattern) {
            let span = self.span(step.rank, step.earlier);
            let facts = received(RecordKind::Recv, &message);
            self.record(step.rank, span, facts, 0, Vec::new());
            self.pair(step.rank, message.send, span, span.begin);
        }
    }

    fn pair(&mut self, rank: usize, send: usize, receive: Span, posted: u64) {
        let rank = Rank(rank as u32);
        self.job.pairs.push(Pair {
            send,
            receive,
            rank,
            posted,
        });
    }

    /// Completes some of what has come, in any order, and with `cancel` what has not.
    fn complete(&mut self, rank: usize, step: &Step, many: usize, cancel: bool) {
        let span = self.span(rank, step.earlier);
        let mut parts = Vec::new();
        for _ in 0..many {
            let done = |open: &Open| open.got.is_some() != cancel;
            let ready: Vec<usize> = (0..self.open[rank].len())
                .filter(|at| done(&self.open[rank][*at]))
                .collect();
            let Some(at) = ready.get(step.peer % ready.len().max(1)) else {
                break;
            };
            let open = self.open[rank].remove(*at);
            let facts = match &open.got {
                Some(message) => {
                    self.pair(rank, message.send, span, open.begin);
                    received(RecordKind::CompletedRecv, message)
                }
                None => facts(
                    RecordKind::CompletedNothing,
                    open.pattern.comm,
                    peer::NONE,
                    0,
                    0,
                    0,
                ),
            };
            parts.push(Part {
                facts,
                request: open.request,
                posted: open.begin,
            });
        }

        self.record(rank, span, plain(), 0, parts);
    }
}

fn facts(
    kind: RecordKind,
    comm: CommLocal,
    peer: i32,
    tag: i32,
    bytes_out: u64,
    bytes_in: u64,
) -> Facts {
    Facts {
        kind,
        region: RegionId(1),
        comm,
        peer,
        tag,
        bytes_out,
        bytes_in,
        ..Facts::default()
    }
}

/// A function's number.
pub fn region(name: &str) -> RegionId {
    let functions = invivo_proto::mpi::FUNCTIONS.iter();
    let number = functions.into_iter().position(|known| known.name == name);
    RegionId(number.expect("a function") as u16)
}

fn plain() -> Facts {
    facts(RecordKind::Plain, CommLocal::NONE, peer::NONE, 0, 0, 0)
}

fn received(kind: RecordKind, message: &Message) -> Facts {
    let channel = message.channel;
    facts(
        kind,
        channel.comm,
        channel.peer,
        channel.tag,
        0,
        message.bytes,
    )
}

/// Runs the steps, and ends all that is open.
pub fn run(steps: &[Step]) -> Job {
    let ranks = RANKS as usize;
    let mut run = Run {
        job: Job::default(),
        now: 100,
        last_end: Vec::from([0; RANKS as usize]),
        unexpected: Vec::new(),
        open: Vec::new(),
        open_sends: Vec::new(),
        requests: 0,
    };

    run.job.records.resize_with(ranks, Vec::new);
    run.unexpected.resize_with(ranks, Vec::new);
    run.open.resize_with(ranks, Vec::new);
    run.open_sends.resize_with(ranks, Vec::new);
    for step in steps {
        run.now += 1 + step.later;
        match step.what {
            0..=3 => run.send(step),
            4..=5 => run.post(step),
            6..=7 => run.receive(step),
            8 => run.complete(step.rank, step, step.many, false),
            9 => run.complete(step.rank, step, 1, true),
            10..=11 => run.complete_sends(step.rank, step, step.many, step.wild.1),
            _ => run.late_receivers(step),
        }
    }

    let Some(last) = steps.last() else {
        return run.job;
    };
    for rank in 0..ranks {
        for cancel in [false, true] {
            run.now += 5;
            run.complete(rank, last, usize::MAX, cancel);
        }
    }

    run.job
}
