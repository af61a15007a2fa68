//! Runs a case: the machines, the links between them, and the drivers' part of the work.

use crate::agenda::{Agenda, MS, SECOND, Time};
use crate::case::{Case, stream};
use crate::faults::{self, Ailment, Nonsense};
use crate::history::{Asked, Delivery, History};
use crate::law::SimLaw;
use crate::links::Links;
use crate::place::SimPlace;
use crate::plant::Plant;
use crate::rank::Deed;
use crate::{script, trace};
use fastrand::Rng;
use invivo_proto::control;
use invivo_proto::control::tree::{Acks, Down, JobInfo, Partial, Query, Up};
use invivo_proto::ids::{CommandId, WaveId, WorldRank};
use invivo_proto::record::Call;
use invivo_tbon::layout::{Layout, LayoutError};
use invivo_tbon::node::{Action, Input, Node, Seat};
use invivo_tbon::root::{Ask, AskId, Root, RootAction, RootInput};
use std::collections::VecDeque;

/// How late a driver may come with a tick: it polls.
pub const TICK_NS_LATE_MAX: Time = 20 * MS;
/// When the simulator gives up: long after every time-out of every ask.
const END_NS: Time = 60 * SECOND;

/// What reaches a process.
#[derive(Debug)]
enum Mail {
    /// A message from the parent, encoded.
    Down(Vec<u8>),
    /// A message from a child, encoded.
    Up(WorldRank, Vec<u8>),
    /// Records of one of a place's ranks.
    Packet(usize, Vec<Call>),
    /// One of a place's ranks is finished.
    Finished(usize),
    /// A place's supervisors have answered.
    Acted(CommandId, Acks),
    /// A child will not be heard again.
    Lost(WorldRank),
    /// Somebody asks the root.
    Ask(usize),
}

#[derive(Debug)]
enum Event {
    Mail(WorldRank, Mail),
    /// A rank of a place does its next thing.
    Act(WorldRank, usize),
    /// A place forgets its records.
    Reset(WorldRank),
    Tick(WorldRank),
    Fault(usize),
    GoOn(WorldRank),
}

#[derive(Debug)]
enum Machine {
    Node(Node<SimLaw>),
    Root(Root<SimLaw>),
}

/// A tool process.
#[derive(Debug)]
struct Process {
    machine: Machine,
    place: Option<SimPlace>,
    alive: bool,
    stalled: bool,
    /// What arrived while it stood still.
    inbox: VecDeque<Mail>,
    ticks_at: Option<Time>,
    nonsense: Option<Nonsense>,
}

/// A job in simulation.
#[derive(Debug)]
pub struct Simulation {
    case: Case,
    layout: Layout,
    agenda: Agenda<Event>,
    links: Links,
    jitter: Rng,
    /// By world rank, the application's apart.
    processes: Vec<Process>,
    history: History,
    /// Asks not answered yet.
    waiting: usize,
    last_ask: Option<AskId>,
    swallowed: bool,
    print: bool,
}

/// Runs `case`; `print` prints a line per event.
///
/// # Errors
/// When the case's numbers make no tree.
pub fn run(case: &Case, print: bool) -> Result<(Layout, History), LayoutError> {
    let layout = case.layout()?;
    let simulation = Simulation::new(*case, layout, print);
    Ok((layout, simulation.run()))
}

impl Simulation {
    fn new(case: Case, layout: Layout, print: bool) -> Simulation {
        let tools = layout.app()..layout.total();
        let mut sim = Simulation {
            case,
            layout,
            agenda: Agenda::default(),
            links: Links::new(stream(case.seed, "links"), Time::from(case.delay_us) * 1000),
            jitter: stream(case.seed, "jitter"),
            processes: tools
                .map(|world| Process::new(&case, &layout, WorldRank(world)))
                .collect(),
            history: History {
                faults: faults::plan(&case, &layout),
                ..History::default()
            },
            waiting: 0,
            last_ask: None,
            swallowed: false,
            print,
        };
        sim.plan();
        sim
    }

    /// Notes everything that is known to happen.
    fn plan(&mut self) {
        for (at, what) in script::plan(&self.case) {
            let index = self.history.asks.len();
            self.history.asks.push(Asked {
                at,
                what,
                wave: None,
                delivered: Vec::new(),
            });
            self.waiting += 1;
            self.agenda
                .at(at, Event::Mail(self.layout.root(), Mail::Ask(index)));
        }
        for (index, fault) in self.history.faults.iter().enumerate() {
            self.agenda.at(fault.at, Event::Fault(index));
        }
        let mut rng = stream(self.case.seed, "start");
        for place in (0..self.layout.places()).map(|index| self.layout.place(index)) {
            for rank in 0..self.layout.ranks_of(place).len() {
                self.agenda.at(rng.u64(..50 * MS), Event::Act(place, rank));
            }
            if rng.u32(..4) == 0 {
                self.agenda.at(rng.u64(..SECOND), Event::Reset(place));
            }
        }
    }

    fn run(mut self) -> History {
        let layout = self.layout;
        for place in (0..layout.places()).map(|index| layout.place(index)) {
            let (hello, groups) = (self.place(place).hello(), self.place(place).groups());
            self.history.groups.extend(groups.keys());
            self.local(place, hello);
            self.local(place, Up::Groups(groups));
        }
        self.root(RootInput::Job(JobInfo {
            id: "simulated".into(),
            ..JobInfo::default()
        }));
        self.finish_if_done();
        while let Some(event) = self.agenda.take() {
            if self.agenda.now() > END_NS {
                self.history.endless = true;
                break;
            }
            self.happen(event);
        }
        self.history.ended_at = self.agenda.now();
        for (process, world) in self.processes.iter().zip(self.layout.app()..) {
            let ignored = match &process.machine {
                Machine::Node(node) => node.ignored(),
                Machine::Root(root) => root.ignored(),
            };
            self.history.ignored.insert(WorldRank(world), ignored);
            for rank in process.place.iter().flat_map(SimPlace::ranks) {
                self.history.done.insert(rank.rank, rank.done.clone());
            }
        }
        self.history
    }

    fn process(&mut self, world: WorldRank) -> &mut Process {
        &mut self.processes[(world.0 - self.layout.app()) as usize]
    }

    fn place(&mut self, world: WorldRank) -> &mut SimPlace {
        self.process(world)
            .place
            .as_mut()
            .expect("only places have ranks, supervisors and records")
    }

    fn say(&self, line: impl FnOnce(&Layout) -> String) {
        if self.print {
            println!("{} {}", trace::time(self.agenda.now()), line(&self.layout));
        }
    }

    fn happen(&mut self, event: Event) {
        let now = self.agenda.now();
        match event {
            Event::Mail(to, mail) => {
                let process = self.process(to);
                match (process.alive, process.stalled) {
                    (true, false) => self.deliver(to, mail),
                    (true, true) => process.inbox.push_back(mail),
                    (false, _) => self.say(|layout| format!("{} is dead", trace::name(layout, to))),
                }
            }
            Event::Act(place, index) => {
                let (rank, (deed, next)) = self.place(place).act(index, now);
                let arrival = self.links.arrival(now, self.layout.world_of(rank), place);
                match deed {
                    Deed::Nothing => {}
                    Deed::Shipped(calls) => self
                        .agenda
                        .at(arrival, Event::Mail(place, Mail::Packet(index, calls))),
                    Deed::Finished => {
                        self.say(|_| format!("A{rank} finished"));
                        return self.agenda.at(now, Event::Mail(place, Mail::Finished(index)));
                    }
                }
                self.agenda.at(next, Event::Act(place, index));
            }
            Event::Reset(place) => self.place(place).reset(),
            Event::Tick(world) => {
                let process = self.process(world);
                // An earlier alarm may have been set since; of a late one nothing is left to do.
                if process.ticks_at == Some(now) {
                    process.ticks_at = None;
                    if process.alive && !process.stalled {
                        self.step(world, Input::Tick);
                    }
                }
            }
            Event::Fault(index) => self.fail(index),
            Event::GoOn(world) => {
                self.say(|layout| format!("{} goes on", trace::name(layout, world)));
                let process = self.process(world);
                process.stalled = false;
                if !process.alive {
                    return process.inbox.clear();
                }
                while let Some(mail) = self.process(world).inbox.pop_front() {
                    self.deliver(world, mail);
                }
                self.step(world, Input::Tick);
            }
        }
    }

    fn fail(&mut self, index: usize) {
        let fault = self.history.faults[index];
        let (who, now) = (fault.who, self.agenda.now());
        self.say(|layout| format!("{} {:?}", trace::name(layout, who), fault.what));
        match fault.what {
            Ailment::Death { noticed } => {
                self.process(who).alive = false;
                if let Some(parent) = self.layout.parent(who) {
                    self.agenda
                        .at(now + noticed, Event::Mail(parent, Mail::Lost(who)));
                }
            }
            Ailment::Stall { until } => {
                self.process(who).stalled = true;
                self.agenda.at(until, Event::GoOn(who));
            }
            Ailment::Garble(nonsense) => self.process(who).nonsense = Some(nonsense),
        }
    }

    /// What a driver does with what has arrived.
    fn deliver(&mut self, to: WorldRank, mail: Mail) {
        match mail {
            Mail::Down(bytes) => {
                let message = control::decode(&bytes).expect("nobody garbles what comes from above");
                self.step(to, Input::Down(message));
            }
            Mail::Up(from, bytes) => match control::decode(&bytes) {
                Ok(message) => self.step(to, Input::Up { from, message }),
                Err(_) => self.step(to, Input::Garbage(from)),
            },
            Mail::Lost(child) => self.step(to, Input::ChildLost(child)),
            Mail::Packet(rank, calls) => {
                self.place(to).receive(rank, calls);
                self.drain(to);
            }
            Mail::Finished(rank) => {
                if let Some(ended) = self.place(to).take_the_rest(rank) {
                    self.history.ended.push(ended.rank);
                    self.local(to, Up::RankEnded(ended));
                }
                self.drain(to);
            }
            Mail::Acted(command, acks) => self.local(to, Up::Ack { command, acks }),
            Mail::Ask(index) => self.ask(index),
        }
    }

    fn drain(&mut self, place: WorldRank) {
        if self.place(place).is_drained() {
            self.local(place, Up::Drained);
        }
    }

    fn local(&mut self, place: WorldRank, message: Up) {
        self.step(place, Input::Local(message));
    }

    /// Lets something happen to a process' machine and carries out what it says.
    fn step(&mut self, world: WorldRank, input: Input) {
        let now = self.agenda.now();
        match &mut self.process(world).machine {
            Machine::Node(node) => {
                for action in node.step(now, input) {
                    self.carry_out(world, action);
                }
            }
            Machine::Root(_) => match input {
                Input::Up { from, message } => self.root(RootInput::Up { from, message }),
                Input::ChildLost(child) => self.root(RootInput::ChildLost(child)),
                Input::Garbage(child) => self.root(RootInput::Garbage(child)),
                Input::Tick => self.root(RootInput::Tick),
                Input::Down(_) | Input::Local(_) => unreachable!("the root has neither parent nor ranks"),
            },
        }
        self.wind(world);
    }

    /// Sets the process' alarm.
    fn wind(&mut self, world: WorldRank) {
        let (now, late) = (self.agenda.now(), self.jitter.u64(..=TICK_NS_LATE_MAX));
        let process = self.process(world);
        let next = match &process.machine {
            Machine::Node(node) => node.next_tick_ns(),
            Machine::Root(root) => root.next_tick_ns(),
        };
        let Some(next) = next.map(|next| now.max(next + late)) else {
            return;
        };
        if process.ticks_at.is_none_or(|at| at > next) {
            process.ticks_at = Some(next);
            self.agenda.at(next, Event::Tick(world));
        }
    }

    fn carry_out(&mut self, world: WorldRank, action: Action) {
        match action {
            Action::Down { to, message } => self.send_down(world, to, &message),
            Action::Up(message) => self.send_up(world, message),
            Action::Local(Down::Command(command)) => {
                let now = self.agenda.now();
                let (acks, outcomes, after) = self.place(world).obey(now, &command);
                self.history
                    .outcomes
                    .entry((command.id, world))
                    .or_default()
                    .extend(outcomes);
                self.agenda
                    .at(now + after, Event::Mail(world, Mail::Acted(command.id, acks)));
            }
            Action::Local(Down::Query { wave, query }) => {
                let (partial, in_hand) = self.place(world).answer(query);
                let coverage = in_hand.coverage;
                self.history.in_hand.insert((wave, world), in_hand);
                self.local(
                    world,
                    Up::Partial {
                        wave,
                        partial,
                        coverage,
                        missing: Vec::new(),
                    },
                );
            }
            Action::Local(Down::Shutdown) => {
                self.history.left.insert(world, self.agenda.now());
            }
            Action::Local(Down::Job(_) | Down::Heartbeat | Down::Release) => {}
            Action::RootLost => {
                self.say(|layout| format!("{} has lost the root", trace::name(layout, world)));
                self.history
                    .root_lost
                    .entry(world)
                    .or_default()
                    .push(self.agenda.now());
            }
        }
    }

    fn send_down(&mut self, from: WorldRank, to: WorldRank, message: &Down) {
        self.say(|layout| {
            format!(
                "{} > {} {}",
                trace::name(layout, from),
                trace::name(layout, to),
                trace::down(message)
            )
        });
        let arrival = self.links.arrival(self.agenda.now(), from, to);
        let bytes = control::encode(message).expect("messages of a simulated job are short");
        self.agenda.at(arrival, Event::Mail(to, Mail::Down(bytes)));
    }

    fn send_up(&mut self, from: WorldRank, message: Up) {
        let to = self
            .layout
            .parent(from)
            .expect("only the root has no parent, and its node sends nothing up");
        if self.case.plant == Some(Plant::Swallow)
            && matches!(message, Up::Partial { .. })
            && !std::mem::replace(&mut self.swallowed, true)
        {
            return;
        }
        let answer = matches!(message, Up::Partial { .. } | Up::Ack { .. });
        let nonsense = if answer {
            self.process(from).nonsense.take()
        } else {
            None
        };
        self.say(|layout| {
            let what = trace::up(&message);
            format!(
                "{} > {} {what} {}",
                trace::name(layout, from),
                trace::name(layout, to),
                garbled(nonsense)
            )
        });
        for bytes in garble(message, nonsense) {
            let arrival = self.links.arrival(self.agenda.now(), from, to);
            self.agenda.at(arrival, Event::Mail(to, Mail::Up(from, bytes)));
        }
    }

    fn ask(&mut self, index: usize) {
        let what = self.history.asks[index].what.clone();
        self.say(|_| format!("ask {index}: {what:?}"));
        if let Ask::Command(command) = &what
            && !self.history.command_order.contains(&command.id)
        {
            self.history.command_order.push(command.id);
        }
        let ask = AskId(index as u64);
        self.last_ask = Some(ask);
        self.root(RootInput::Ask { ask, what });
        self.last_ask = None;
    }

    fn root(&mut self, input: RootInput) {
        let (now, root) = (self.agenda.now(), self.layout.root());
        let actions = match &mut self.process(root).machine {
            Machine::Root(machine) => machine.step(now, input),
            Machine::Node(_) => unreachable!("the last process is the root"),
        };
        for action in actions {
            match action {
                RootAction::Down { to, message } => {
                    if let (Down::Query { wave, .. }, Some(ask)) = (&message, self.last_ask) {
                        self.history.asks[ask.0 as usize].wave = Some(*wave);
                    }
                    self.send_down(root, to, &message);
                }
                RootAction::Answer {
                    ask,
                    partial,
                    coverage,
                    missing,
                } => {
                    self.hand_out(
                        ask,
                        Delivery::Answer {
                            partial,
                            coverage,
                            missing,
                        },
                    );
                }
                RootAction::Acked { ask, acks } => self.hand_out(ask, Delivery::Acks(acks)),
                RootAction::Refused { ask, refusal } => self.hand_out(ask, Delivery::Refused(refusal)),
                RootAction::Present { ranks } => self.history.present.push(ranks),
                RootAction::Groups(groups) => self.history.groups_at_root.extend(groups.into_keys()),
                RootAction::RankEnded(ended) => self.history.ended_at_root.push(ended.rank),
                RootAction::Drained => {
                    self.say(|_| "all drained".into());
                    self.history.drained.push(now);
                    self.finish_if_done();
                }
            }
        }
        self.wind(root);
    }

    fn hand_out(&mut self, ask: AskId, delivery: Delivery) {
        let mute = self.case.plant == Some(Plant::Mute) && ask.0 == 0;
        if mute {
            return;
        }
        self.say(|_| format!("answer {}: {delivery:?}", ask.0));
        self.history.asks[ask.0 as usize]
            .delivered
            .push((self.agenda.now(), delivery));
        self.waiting -= 1;
        self.finish_if_done();
    }

    /// When all is drained and answered: one last question, then everybody leaves.
    fn finish_if_done(&mut self) {
        if self.waiting > 0
            || self.history.drained.is_empty()
            || self.history.left.contains_key(&self.layout.root())
        {
            return;
        }
        let last = Ask::Query(LAST_QUERY);
        let asked = self
            .history
            .asks
            .last()
            .is_some_and(|asked| asked.what == last && asked.at >= script::SCRIPT_NS);
        let now = self.agenda.now();
        if asked {
            self.history.left.insert(self.layout.root(), now);
            self.root(RootInput::Release);
            self.root(RootInput::Shutdown);
        } else {
            let index = self.history.asks.len();
            let at = now.max(script::SCRIPT_NS);
            self.history.asks.push(Asked {
                at,
                what: last,
                wave: None,
                delivered: Vec::new(),
            });
            self.waiting += 1;
            self.agenda
                .at(at, Event::Mail(self.layout.root(), Mail::Ask(index)));
        }
    }
}

/// What the root asks when the job is over.
pub const LAST_QUERY: Query = Query::Functions { per_rank: true };

impl Process {
    fn new(case: &Case, layout: &Layout, world: WorldRank) -> Process {
        let seat = Seat::of(layout, world).expect("every process behind the application is a tool");
        let law = SimLaw::new(case.plant);
        let place = seat.local.map(|_| SimPlace::new(case, layout, world));
        let machine = if world == layout.root() {
            Machine::Root(Root::new(0, seat, law))
        } else {
            Machine::Node(Node::new(0, seat, law))
        };
        Process {
            machine,
            place,
            alive: true,
            stalled: false,
            inbox: VecDeque::new(),
            ticks_at: None,
            nonsense: None,
        }
    }
}

fn garbled(nonsense: Option<Nonsense>) -> String {
    nonsense.map_or_else(String::new, |nonsense| format!("as nonsense: {nonsense:?}"))
}

/// The bytes that are sent in place of `message`.
fn garble(mut message: Up, nonsense: Option<Nonsense>) -> Vec<Vec<u8>> {
    let encode = |message: &Up| control::encode(message).expect("messages of a simulated job are short");
    let honest = encode(&message);
    match nonsense {
        None => return vec![honest],
        Some(Nonsense::Twice) => return vec![honest.clone(), honest],
        Some(Nonsense::Cut) => return vec![honest[..honest.len() / 2].to_vec()],
        Some(Nonsense::Unasked) => {
            let unasked = Up::Ack {
                command: CommandId(u64::MAX),
                acks: Acks::default(),
            };
            return vec![encode(&unasked), honest];
        }
        Some(Nonsense::WrongKind) => match &mut message {
            Up::Partial {
                partial: partial @ Partial::Matrix(_),
                ..
            } => *partial = Partial::Status(Default::default()),
            Up::Partial { partial, .. } => *partial = Partial::Matrix(Default::default()),
            other => {
                let (partial, coverage) = (Partial::Status(Default::default()), Default::default());
                *other = Up::Partial {
                    wave: WaveId(u64::MAX),
                    partial,
                    coverage,
                    missing: Vec::new(),
                };
            }
        },
        Some(Nonsense::Boast) => match &mut message {
            Up::Partial { coverage, .. } => coverage.ranks += 1,
            Up::Ack { acks, .. } => acks.targets += 1,
            _ => {}
        },
    }
    vec![encode(&message)]
}
