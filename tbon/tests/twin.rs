//! The node against a naive twin, which keeps the whole history and works every answer out from it.

use invivo_proto::control::results::{Coverage, JobStatus, Ledger, Matrix};
use invivo_proto::control::tree::{Acks, Command, Down, Partial, Query, Up, Verb};
use invivo_proto::ids::{CommandId, WaveId, WorldRank};
use invivo_tbon::limits::{COMMAND_NS_PER_LAYER, GONE_NS, WAVE_NS_PER_LAYER};
use invivo_tbon::merge::{Merge, Mismatch};
use invivo_tbon::node::{Action, Input, Node, Position};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Statuses add up; nothing else is asked for here.
struct Sum;

impl Merge for Sum {
    fn merge(&self, into: &mut Partial, from: Partial) -> Result<(), Mismatch> {
        match (into, from) {
            (Partial::Status(into), Partial::Status(from)) => into.states[0] += from.states[0],
            _ => return Err(Mismatch),
        }
        Ok(())
    }
}

/// One thing that happens. Members are numbers: 0 the node itself where it serves ranks, then the
/// children.
#[derive(Clone, Copy, Debug)]
enum Step {
    Query(u64),
    Command(u64),
    Partial {
        member: usize,
        wave: u64,
        value: u32,
        kind: Kind,
    },
    Ack {
        member: usize,
        command: u64,
        done: u32,
        boast: bool,
    },
    Wait(u64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Honest,
    Boast,
    OtherQuestion,
}

const ME: WorldRank = WorldRank(100);
const MEMBERS_MAX: usize = 4;

fn world(member: usize) -> WorldRank {
    if member == 0 {
        ME
    } else {
        WorldRank(member as u32)
    }
}

fn ranks(member: usize) -> u32 {
    member as u32 + 1
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![8 => Just(Kind::Honest), 1 => Just(Kind::Boast),
        1 => Just(Kind::OtherQuestion)];
    prop_oneof![
        3 => (0u64..6).prop_map(Step::Query),
        3 => (0u64..6).prop_map(Step::Command),
        12 => (0..MEMBERS_MAX, 0u64..6, 0u32..100, kind)
            .prop_map(|(member, wave, value, kind)| Step::Partial { member, wave, value, kind }),
        12 => (0..MEMBERS_MAX, 0u64..6, 0u32..2, prop::bool::weighted(0.1))
            .prop_map(|(member, command, done, boast)| Step::Ack { member, command, done, boast }),
        3 => (0u64..2_000_000_000).prop_map(Step::Wait),
        1 => (0..GONE_NS * 3 / 2).prop_map(Step::Wait),
    ]
}

fn books(value: u32) -> Ledger {
    Ledger {
        entered: u64::from(value),
        kept: u64::from(value),
        ..Ledger::default()
    }
}

/// The history, and who there is.
struct Twin {
    members: Vec<usize>,
    height: u64,
    history: Vec<(u64, Step)>,
}

/// What a member's silence leaves of a wave.
type Absent = (WorldRank, u32, Ledger);
/// At which step which member had not answered in time.
type Missed = Vec<(usize, usize)>;

impl Twin {
    fn speaks(&self, member: usize, at: usize) -> bool {
        match self.history[at].1 {
            Step::Partial { member: m, .. } | Step::Ack { member: m, .. } => m == member,
            _ => false,
        }
    }

    /// Whether a child was given up before `end`, and has not been heard since.
    fn gone_before(&self, member: usize, end: usize) -> bool {
        let heard = (0..end).rev().find(|&at| self.speaks(member, at));
        let (heard_ns, since) = heard.map_or((0, 0), |at| (self.history[at].0, at));
        let too_long =
            |&(now, step): &(u64, Step)| matches!(step, Step::Wait(_)) && now >= heard_ns + GONE_NS;
        member != 0 && self.history[since..end].iter().any(too_long)
    }

    /// The books of a member's last plausible answer before `end`, to whatever wave.
    fn last_books(&self, member: usize, end: usize) -> Ledger {
        let heard = (0..end).rev().find_map(|at| match self.history[at].1 {
            Step::Partial {
                member: m,
                value,
                kind,
                ..
            } if m == member && kind != Kind::Boast => Some(value),
            _ => None,
        });
        books(heard.unwrap_or(0))
    }

    fn absent(&self, member: usize, at: usize) -> Absent {
        let last = if self.gone_before(member, at + 1) {
            self.last_books(member, at)
        } else {
            Ledger::default()
        };
        (
            world(member),
            ranks(member),
            Ledger {
                entered: last.entered,
                dropped_by_place: last.entered,
                ..Ledger::default()
            },
        )
    }

    /// Whether a child has missed something before `end` and not been heard since.
    fn silent_before(&self, missed: &Missed, member: usize, end: usize) -> bool {
        let missed_it = |&(at, m): &(usize, usize)| {
            m == member && at < end && !(at..end).any(|at| self.speaks(member, at))
        };
        member != 0 && (self.gone_before(member, end) || missed.iter().any(missed_it))
    }

    /// Goes through the history from `begin` on until all of `members` have answered or the time is
    /// over. `answers` says whether a step is the answer of a member, and which; `None` inside is
    /// an answer that counts as none.
    fn gather<A: Copy>(
        &self,
        begin: usize,
        members: impl Iterator<Item = usize>,
        per_layer: u64,
        missed: &mut Missed,
        answers: impl Fn(Step) -> Option<(usize, Option<A>)>,
    ) -> Option<(usize, Vec<A>, Vec<Absent>)> {
        let began = self.history[begin].0;
        let mut open: BTreeSet<usize> = members.collect();
        let others = self.members.iter().filter(|member| !open.contains(member));
        let mut absent: Vec<Absent> = others.map(|&member| self.absent(member, begin)).collect();
        let mut given = Vec::new();
        for at in begin..self.history.len() {
            let (now, step) = self.history[at];
            for member in open.clone() {
                if self.gone_before(member, at + 1) {
                    open.remove(&member);
                    absent.push(self.absent(member, at));
                }
            }
            if let Some((member, answer)) = answers(step)
                && at > begin
                && open.remove(&member)
            {
                match answer {
                    Some(answer) => given.push(answer),
                    None => absent.push(self.absent(member, at)),
                }
            }
            if matches!(step, Step::Wait(_)) && now >= began + self.height * per_layer {
                for member in std::mem::take(&mut open) {
                    absent.push(self.absent(member, at));
                    missed.push((at, member));
                }
            }
            if open.is_empty() {
                return Some((at, given, absent));
            }
        }
        None
    }

    /// The answer to the wave that began at `begin`, if it ends.
    fn wave(&self, begin: usize, wave: u64, missed: &mut Missed) -> Option<(usize, Up)> {
        let awake: Vec<usize> = self.awake(missed, begin).collect();
        let answers = |step| match step {
            Step::Partial {
                member,
                wave: of,
                value,
                kind,
            } if of == wave => Some((member, (kind == Kind::Honest).then_some((member, value)))),
            _ => None,
        };
        let (end, values, absent) =
            self.gather(begin, awake.into_iter(), WAVE_NS_PER_LAYER, missed, answers)?;
        let sum: u32 = values.iter().map(|&(_, value)| value).sum();
        let gone: u64 = absent.iter().map(|(_, _, books)| books.entered).sum();
        let reporting = values.iter().map(|&(member, _)| ranks(member)).sum();
        let coverage = Coverage {
            ranks: self.members.iter().map(|&member| ranks(member)).sum(),
            ranks_reporting: reporting,
            members_missing: absent.len() as u32,
            ledger: Ledger {
                entered: u64::from(sum) + gone,
                kept: u64::from(sum),
                dropped_by_place: gone,
                ..Ledger::default()
            },
            ..Coverage::default()
        };
        let partial = Partial::Status(JobStatus {
            states: [sum, 0, 0, 0, 0, 0],
            ..JobStatus::default()
        });
        Some((
            end,
            Up::Partial {
                wave: WaveId(wave),
                partial,
                coverage,
                missing: sorted(&absent),
            },
        ))
    }

    /// Those who are waited for when something begins at `begin`: everybody who is not silent.
    fn awake(&self, missed: &Missed, begin: usize) -> impl Iterator<Item = usize> {
        let awake = move |&&member: &&usize| !self.silent_before(missed, member, begin);
        self.members.iter().filter(awake).copied()
    }

    fn command(&self, begin: usize, command: u64, missed: &mut Missed) -> Option<(usize, Up)> {
        let answers = |step| match step {
            Step::Ack {
                member,
                command: of,
                done,
                boast,
            } if of == command => Some((member, (!boast).then_some(done))),
            _ => None,
        };
        let awake: Vec<usize> = self.awake(missed, begin).collect();
        let (end, done, absent) = self.gather(
            begin,
            awake.into_iter(),
            COMMAND_NS_PER_LAYER,
            missed,
            answers,
        )?;
        let targets: u32 = self.members.iter().map(|&member| ranks(member)).sum();
        let acks = Acks {
            targets,
            done: done.iter().sum(),
            missing: sorted(&absent),
            ..Acks::default()
        };
        Some((
            end,
            Up::Ack {
                command: CommandId(command),
                acks,
            },
        ))
    }

    /// What went up at each step, and who missed what.
    fn said(&self) -> (BTreeMap<usize, Vec<Up>>, Missed) {
        let mut missed = Missed::new();
        let mut said: BTreeMap<usize, Vec<Up>> = BTreeMap::new();
        let mut commands: BTreeMap<u64, Option<(usize, Up)>> = BTreeMap::new();
        for (at, &(_, step)) in self.history.iter().enumerate() {
            match step {
                // A wave's number is its own: the place of its question in the history is part of
                // it.
                Step::Query(wave) if !self.asked_before(at, wave) => {
                    if let Some((end, up)) = self.wave(at, wave, &mut missed) {
                        said.entry(end).or_default().push(up);
                    }
                }
                Step::Command(id) => match commands.get(&id) {
                    None => {
                        let answer = self.command(at, id, &mut missed);
                        if let Some((end, up)) = &answer {
                            said.entry(*end).or_default().push(up.clone());
                        }
                        commands.insert(id, answer);
                    }
                    Some(Some((end, up))) if *end < at => {
                        said.entry(at).or_default().push(up.clone())
                    }
                    Some(_) => {}
                },
                _ => {}
            }
        }
        (said, missed)
    }

    fn asked_before(&self, at: usize, wave: u64) -> bool {
        self.history[..at]
            .iter()
            .any(|&(_, step)| matches!(step, Step::Query(of) if of == wave))
    }
}

fn sorted(absent: &[Absent]) -> Vec<WorldRank> {
    let names: BTreeSet<WorldRank> = absent.iter().map(|&(name, ..)| name).collect();
    names.into_iter().collect()
}

/// Sentences about members are promised elsewhere.
fn without_notes(up: &Up) -> Up {
    let mut up = up.clone();
    if let Up::Partial {
        partial: Partial::Status(status),
        ..
    } = &mut up
    {
        status.notes.clear();
    }
    up
}

fn input(step: Step) -> Input {
    let up = |member, message| {
        if member == 0 {
            Input::Local(message)
        } else {
            Input::Up {
                from: world(member),
                message,
            }
        }
    };
    match step {
        Step::Query(wave) => Input::Down(Down::Query {
            wave: WaveId(wave),
            query: Query::Status,
        }),
        Step::Command(id) => Input::Down(Down::Command(Command {
            id: CommandId(id),
            verb: Verb::Resume,
        })),
        Step::Partial {
            member,
            wave,
            value,
            kind,
        } => {
            let ranks = ranks(member) + u32::from(kind == Kind::Boast);
            let coverage = Coverage {
                ranks,
                ranks_reporting: ranks,
                ledger: books(value),
                ..Coverage::default()
            };
            let status = Partial::Status(JobStatus {
                states: [value, 0, 0, 0, 0, 0],
                ..JobStatus::default()
            });
            let other = Partial::Matrix(Matrix::default());
            let partial = if kind == Kind::OtherQuestion {
                other
            } else {
                status
            };
            up(
                member,
                Up::Partial {
                    wave: WaveId(wave),
                    partial,
                    coverage,
                    missing: Vec::new(),
                },
            )
        }
        Step::Ack {
            member,
            command,
            done,
            boast,
        } => {
            let targets = ranks(member) + u32::from(boast);
            up(
                member,
                Up::Ack {
                    command: CommandId(command),
                    acks: Acks {
                        targets,
                        done,
                        ..Acks::default()
                    },
                },
            )
        }
        Step::Wait(_) => Input::Tick,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn a_node_says_what_follows_from_its_history(
        steps in prop::collection::vec(step(), 0..60),
        children in 0usize..MEMBERS_MAX,
        serves_ranks: bool,
        height in 1u32..4,
    ) {
        let local = serves_ranks || children == 0;
        let members: Vec<usize> = (usize::from(!local)..=children).collect();
        let position = Position {
            me: ME,
            process: ME,
            height,
            local: local.then(|| ranks(0)),
            children: (1..=children).map(|member| (world(member), ranks(member))).collect(),
            is_beside_root: false,
        };
        let mut node = Node::new(0, position, Sum);
        let history = Vec::new();
        let mut twin = Twin { members: members.clone(), height: u64::from(height), history };
        let (mut now, mut said) = (0, BTreeMap::new());
        for step in steps {
            // A wave's number is given once, and a member that does not exist says nothing.
            let again = matches!(
                step,
                Step::Query(wave) if twin.asked_before(twin.history.len(), wave),
            );
            let known = match step {
                Step::Partial { member, .. } | Step::Ack { member, .. } => members.contains(
                    &member,
                ),
                _ => true,
            };
            if again || !known {
                continue;
            }
            if let Step::Wait(ns) = step {
                now += ns;
            }
            let actions = node.step(now, input(step));
            let at = twin.history.len();
            twin.history.push((now, step));
            let ups: Vec<Up> = actions.iter().filter_map(|action| match action {
                Action::Up(up @ (Up::Partial { .. } | Up::Ack { .. })) => Some(without_notes(up)),
                _ => None,
            }).collect();
            if !ups.is_empty() {
                said.insert(at, ups);
            }
            // A question goes to everybody awake, a new command to everybody, and nothing to
            // anybody else.
            let told: Vec<WorldRank> = actions.iter().filter_map(|action| match action {
                Action::Down { to, .. } => Some(*to),
                _ => None,
            }).collect();
            let new_command = |id| !twin.history[..at]
                .iter()
                .any(|&(_, step)| matches!(step, Step::Command(of) if of == id));
            let reach: Vec<WorldRank> = match step {
                Step::Query(_) => {
                    let (_, missed) = twin.said();
                    twin.awake(&missed, at).filter(|&m| m != 0).map(world).collect()
                }
                Step::Command(id) if new_command(id) => (1..=children).map(world).collect(),
                _ => Vec::new(),
            };
            prop_assert_eq!(told, reach);
        }
        let (mut expected, _) = twin.said();
        // Of several that end in one step, the order is that of waves, then of commands.
        for ups in expected.values_mut().chain(said.values_mut()) {
            ups.sort_by_key(|up| format!("{up:?}"));
        }
        prop_assert_eq!(said, expected);
    }
}
