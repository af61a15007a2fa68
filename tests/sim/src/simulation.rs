//! Runs a case: the machines, the links between them, and the drivers' part of the work.

mod drivers;
mod places;
mod process;
mod root;

use crate::agenda::{Agenda, MS, SECOND, Time};
use crate::case::{Case, stream};
use crate::faults::{self, Ailment};
use crate::history::{Asked, History};
use crate::links::Links;
use crate::place::{Moment, SimPlace};
use crate::{script, trace};
use fastrand::Rng;
use invivo_proto::control::tree::{JobInfo, Up};
use invivo_proto::ids::WorldRank;
use invivo_tbon::layout::{Layout, LayoutError};
use invivo_tbon::node::Input;
use invivo_tbon::root::{AskId, RootInput};
use process::{Mail, Process};
use std::collections::BTreeMap;

/// How late a driver may come with a tick: it polls.
pub const TICK_NS_LATE_MAX: Time = 20 * MS;
/// How long ranks that start held stand at most, in ns.
pub const HELD_LEASE_NS: Time = SECOND;
/// When the launcher ends a job of which a process has died: long after what that held is given up.
const ENDED_NS: Time = 45 * SECOND;
/// When the simulator gives up: long after every time-out of every ask.
const END_NS: Time = 90 * SECOND;
/// How long it goes on after the root has left or died: those who are cut off from it notice.
const AFTERMATH_NS: Time = 4 * SECOND;
/// Events after which the simulator gives up: a machine that asks for a tick again and again at the
/// same time never comes to the end. The largest random cases have some hundred thousand.
const EVENTS_MAX: u64 = 20_000_000;

#[derive(Debug)]
enum Event {
    Mail(WorldRank, Mail),
    /// A rank of a place does its next thing.
    Act(WorldRank, usize),
    /// A gate of a place's ranks may open by itself.
    Gate(WorldRank),
    Tick(WorldRank),
    Fault(usize),
    /// A process of the job has died: the launcher ends the job.
    Ended,
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
    processes: BTreeMap<WorldRank, Process>,
    history: History,
    /// Asks not answered yet.
    waiting: usize,
    last_ask: Option<AskId>,
    swallowed: bool,
    /// The launcher ends the job.
    ended: bool,
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
        let tools = (0..layout.members())
            .map(WorldRank)
            .filter(|&world| layout.rank_of(world).is_none());
        let mut sim = Simulation {
            case,
            layout,
            agenda: Agenda::default(),
            links: Links::new(stream(case.seed, "links"), Time::from(case.delay_us) * 1000),
            jitter: stream(case.seed, "jitter"),
            processes: tools
                .map(|world| (world, Process::new(&case, &layout, world)))
                .collect(),
            history: History {
                faults: faults::plan(&case, &layout),
                ..History::default()
            },
            waiting: 0,
            last_ask: None,
            swallowed: false,
            ended: false,
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
        // A death may leave the job without an end of its own, so the launcher's is simulated.
        if self
            .history
            .faults
            .iter()
            .any(|fault| fault.what == Ailment::Death)
        {
            self.agenda.at(ENDED_NS, Event::Ended);
        }

        let mut rng = stream(self.case.seed, "start");
        for place in self.places() {
            for rank in 0..self.layout.ranks_of(place).len() {
                // Ranks come out of MPI_Init one after the other, some behind the first commands.
                self.agenda.at(rng.u64(..800 * MS), Event::Act(place, rank));
            }
        }
    }

    fn places(&self) -> Vec<WorldRank> {
        (0..self.layout.places())
            .map(|index| self.layout.place(index))
            .collect()
    }

    fn run(mut self) -> History {
        for place in self.places() {
            // Places are ready before the root speaks: the first message of a place is its hello.
            let (hello, groups) = (self.place(place).hello(), self.place(place).groups_told());
            self.local(place, hello);
            self.local(place, Up::Groups(groups));
            if self.case.held {
                self.watch_gates(place);
            }
        }

        for world in self.processes.keys().copied().collect::<Vec<_>>() {
            self.wind(world);
        }
        self.root(RootInput::Job(JobInfo {
            id: "simulated".into(),
            hold_lease_ns: if self.case.held { HELD_LEASE_NS } else { 0 },
            recording: true,
            ..JobInfo::default()
        }));
        self.finish_if_done();
        while let Some(event) = self.agenda.take() {
            if self.is_over() {
                break;
            }
            // A protocol that never comes to an end is a finding of its own.
            if self.agenda.now() > END_NS || self.agenda.noted() > EVENTS_MAX {
                self.history.endless = true;
                break;
            }
            self.happen(event);
        }

        self.history.ended_at = self.agenda.now();
        for (world, process) in &self.processes {
            self.history
                .ignored
                .insert(*world, process.machine.ignored());
        }

        self.logs();
        self.history
    }

    /// Whether all has happened that can be told: processes that nobody ever tells to leave go on
    /// for ever.
    fn is_over(&self) -> bool {
        let root = self.layout.root();
        let died = self.history.died(root);
        let Some(over) = self.history.left.get(&root).copied().or(died) else {
            return false;
        };
        let ends = |fault: &faults::Fault| match fault.what {
            Ailment::Stall { until } => until,
            Ailment::Death | Ailment::Garble(_) => fault.at,
        };
        // Faults planned for later must still happen, so that their effects are checked.
        let last = self.history.faults.iter().map(ends).max().unwrap_or(0);
        self.agenda.now() > over.max(last) + AFTERMATH_NS
    }

    fn process(&mut self, world: WorldRank) -> &mut Process {
        self.processes
            .get_mut(&world)
            .expect("whatever is not the application is a tool process")
    }

    fn place(&mut self, world: WorldRank) -> &mut SimPlace {
        self.process(world)
            .place
            .as_mut()
            .expect("only places have ranks, supervisors and records")
    }

    fn moment(&mut self, world: WorldRank) -> Moment {
        let (now, plant) = (self.agenda.now(), self.case.plant);
        self.process(world).moment(now, plant)
    }

    fn is_awake(&mut self, world: WorldRank) -> bool {
        let process = self.process(world);
        process.alive && !process.stalled
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
                    // A stalled process reads its mail when it goes on, all at once.
                    (true, true) => process.inbox.push_back(mail),
                    (false, _) => self.say(|layout| format!("{} is dead", trace::name(layout, to))),
                }
            }
            Event::Act(place, index) => self.act(place, index),
            Event::Gate(place) => self.release(place),
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
            Event::Ended => {
                self.ended = true;
                self.finish_if_done();
            }
            // A later stall prolonged this one.
            Event::GoOn(world) if self.process(world).stalled_until > now => {}
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
        let who = fault.who;
        self.say(|layout| format!("{} {:?}", trace::name(layout, who), fault.what));
        match fault.what {
            Ailment::Death => self.process(who).alive = false,
            Ailment::Stall { until } => {
                let process = self.process(who);
                process.stalled = true;
                process.stalled_until = process.stalled_until.max(until);
                self.agenda.at(until, Event::GoOn(who));
            }
            Ailment::Garble(nonsense) => self.process(who).nonsense = Some(nonsense),
        }
    }
}
