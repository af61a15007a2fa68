//! Runs a case: the machines, the links between them, and the drivers' part of the work.

mod drivers;
mod process;
mod root;

use crate::agenda::{Agenda, MS, SECOND, Time};
use crate::case::{Case, stream};
use crate::faults::{self, Ailment};
use crate::history::{Asked, History};
use crate::links::Links;
use crate::place::SimPlace;
use crate::rank::Deed;
use crate::{script, trace};
use fastrand::Rng;
use invivo_proto::control::tree::{JobInfo, Up};
use invivo_proto::ids::WorldRank;
use invivo_tbon::layout::{Layout, LayoutError};
use invivo_tbon::node::Input;
use invivo_tbon::root::{AskId, RootInput};
use process::{Machine, Mail, Process};

/// How late a driver may come with a tick: it polls.
pub const TICK_NS_LATE_MAX: Time = 20 * MS;
/// When the simulator gives up: long after every time-out of every ask.
const END_NS: Time = 60 * SECOND;
/// Events after which the simulator gives up: a machine that asks for a tick again and again at the same time
/// never comes to the end. The largest random cases have some ten thousand.
const EVENTS_MAX: u64 = 5_000_000;

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
            if self.agenda.now() > END_NS || self.agenda.noted() > EVENTS_MAX {
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
}
