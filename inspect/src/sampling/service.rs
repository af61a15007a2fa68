//! What the sampler's process does: empties rings, follows paths, tells samples, and answers.
//!
//! It sleeps until a ring is half full, an order comes, or it is time to look for new threads. When
//! the process that it samples has ended, it waits for questions only. At first it tries, between
//! other things, what a sample costs here: for an account of what all of them took from the rank.

use crate::mapped;
use crate::memory::ProcessMemory;
use crate::sampling::answer::Answering;
use crate::sampling::cost::Trial;
use crate::sampling::gathered::Gathered;
use crate::sampling::held::One;
use crate::sampling::mappings::Mappings;
use crate::sampling::one_by_one::OneByOne;
use crate::sampling::outbox::Outbox;
use crate::sampling::path::Walker;
use crate::sampling::record::Record;
use crate::sampling::tally::Tally;
use crate::sampling::threads::Threads;
use crate::sampling::timers::Timers;
use invivo_proto::control::contexts::Taken;
use invivo_proto::control::local::{FromSupervisor, ToSupervisor};
use invivo_proto::control::profile::{NoSamples, Sampled};
use invivo_proto::control::sampling::{SampledBy, Sampling};
use invivo_proto::control::{decode, encode};
use invivo_proto::ids::Rank;
use invivo_proto::shm::Page;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::Pid;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// Between two looks for new threads.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// Orders that are taken in one go.
const ORDERS_MAX: usize = 16;
/// What a timer's signal takes from its thread beside the handler: into the handler and back, and
/// what is not in the caches any more. Some microseconds were seen.
const DELIVERY: Duration = Duration::from_micros(5);

/// The process that is sampled.
#[derive(Clone, Copy)]
pub struct OfRank {
    /// Its rank in the application.
    pub rank: Rank,
    pub pid: Pid,
    /// What it shares with us, by which it sets timers; nothing of a process that is no rank.
    pub page: Option<&'static Page>,
}

/// The ends of our sockets.
pub struct Ends {
    /// Orders come and are answered here.
    pub orders: OwnedFd,
    /// What was seen is sent here.
    pub answers: OwnedFd,
}

/// Nobody asks any more.
struct Left;

/// Serves until nobody is there to ask. `tally` is what samples took from the rank.
pub fn serve(of: OfRank, memory: &ProcessMemory, ends: Ends, tally: &Tally) {
    let pid = of.pid;
    let mut service = Service {
        rank: of.rank,
        orders: ends.orders,
        outbox: Outbox::new(ends.answers),
        tally,
        trial: None,
        is_tried: false,
        sample_cost: None,
        counted: 0,
        spent: Duration::ZERO,
        threads: Threads::new(pid, of.page.map(|page| Timers::new(page, memory))),
        seen: Gathered::new(),
        one_by_one: OneByOne::new(Instant::now()),
        answering: None,
        looked: Instant::now(),
    };
    let mut mappings = Mappings::of(pid);
    loop {
        // The walker borrows what is mapped, so that a change needs another one.
        let text = mappings.take();
        let files = mapped::files(&text);
        let mut walker = Walker::new(memory, &files);
        loop {
            match service.turn(&mut walker) {
                Ok(true) => mappings.note_stale(),
                Ok(false) => {}
                Err(Left) => return,
            }
            if service.threads.is_on() && mappings.has_changed(pid) {
                break;
            }
        }
    }
}

struct Service<'t> {
    rank: Rank,
    orders: OwnedFd,
    outbox: Outbox,
    tally: &'t Tally,
    /// Tries what a sample of an event costs: once, when the first ones are wanted.
    trial: Option<Trial>,
    is_tried: bool,
    /// Time that a sample takes from the rank; nothing where that is not known.
    sample_cost: Option<Duration>,
    /// Samples that are in the tally, and what it says.
    counted: u64,
    spent: Duration,
    threads: Threads<'t>,
    /// All samples, added up.
    seen: Gathered,
    /// Those that are still to be told.
    one_by_one: OneByOne,
    answering: Option<Answering>,
    /// When threads were last looked for.
    looked: Instant,
}

impl Service<'_> {
    /// Waits, and does what there is to do; true where code was met, or mapped, in a file that is
    /// not known.
    fn turn(&mut self, walker: &mut Walker<'_>) -> Result<bool, Left> {
        let hung = self.wait();
        let is_stale = self.take(walker);
        self.count();
        self.threads.forget(hung.into_iter());
        if self.threads.is_on() && self.looked.elapsed() >= LOOK_INTERVAL {
            self.looked = Instant::now();
            // Why a thread is not seen is told for the first ones, by the answer to the order.
            let _ = self.threads.look();
        }
        self.obey()?;
        self.answer();
        self.tell()?;
        self.try_cost();
        Ok(is_stale)
    }

    /// Waits until there is something to do; which of the threads' events have hung up.
    fn wait(&self) -> Vec<bool> {
        let mut waited = vec![
            PollFd::new(&self.orders, PollFlags::IN),
            self.outbox.waited(),
        ];
        waited.extend(self.threads.waited());
        let has_work = self.answering.is_some() || self.trial.is_some();
        let work = has_work.then_some(Duration::ZERO);
        let is_on = self.threads.is_on();
        let look = is_on.then(|| LOOK_INTERVAL.saturating_sub(self.looked.elapsed()));
        let is_stuck = self.outbox.is_stuck();
        let tell = self.one_by_one.rest(Instant::now(), is_on, is_stuck);
        let timers = self.threads.take_within();
        let most = [work, look, tell, timers].into_iter().flatten().min();
        let most = most.and_then(|most| Timespec::try_from(most).ok());
        // Where it fails, there is nothing to be seen by it.
        let is_seen = poll(&mut waited, most.as_ref()).is_ok();
        let threads = waited.into_iter().skip(2);
        threads
            .map(|event| is_seen && event.revents().intersects(PollFlags::HUP | PollFlags::ERR))
            .collect()
    }

    /// Empties the rings.
    fn take(&mut self, walker: &mut Walker<'_>) -> bool {
        let (seen, ns) = (&mut self.seen, self.threads.period_ns());
        let (one_by_one, halvings) = (&mut self.one_by_one, self.threads.halvings());
        let (mut is_stale, now) = (false, Instant::now());
        self.threads.take(|whose, record| match record {
            Record::Sample(sample) => {
                let (path, is_known) = walker.walk(&sample, &mut seen.modules);
                is_stale |= !is_known;
                seen.add(&path, ns);
                let taken = Taken {
                    at_ns: sample.time_ns,
                    ordinal: whose.ordinal,
                    context: 0,
                };
                let one = One {
                    tid: whose.tid.unsigned_abs(),
                    halvings,
                    taken,
                };
                one_by_one.add(one, &path, now);
            }
            Record::Lost(lost) => seen.add_lost(lost),
            Record::Mapped => is_stale = true,
            Record::Other => {}
        });
        is_stale
    }

    /// Begins to try what a sample costs: before the rank's own rings take the room that there is
    /// for such memory.
    fn try_first(&mut self, how: Sampling) {
        let is_first = how.is_on() && how.by == SampledBy::Perf && !self.is_tried;
        if is_first {
            self.is_tried = true;
            self.trial = Trial::begin();
        }
    }

    /// Nothing was seen yet, for this reason.
    fn say_without(&mut self, profile: u32, why: NoSamples) {
        self.answering = None;
        self.outbox.answer(&[FromSupervisor::Profiled {
            profile,
            seen: Err(why),
            nodes: Vec::new(),
            rest: 0,
        }]);
    }

    /// Goes on trying what a sample costs, if that is not known yet.
    fn try_cost(&mut self) {
        if let Some(trial) = &mut self.trial
            && !trial.go_on()
        {
            self.sample_cost = trial.cost();
            self.trial = None;
        }
    }

    /// Notes what samples took from the rank.
    fn count(&mut self) {
        let new = self.seen.taken().saturating_sub(self.counted);
        let cost = match self.threads.by() {
            SampledBy::Perf => self.sample_cost,
            SampledBy::Timer => Some(DELIVERY),
        };
        let mut spent = self.spent + self.threads.handler_time();
        if let Some(cost) = cost {
            self.counted += new;
            spent += Duration::from_nanos(nanoseconds(cost).saturating_mul(new));
        }
        if spent > self.spent {
            self.spent = spent;
            self.tally.write(spent);
        }
    }

    /// Does what has been ordered.
    fn obey(&mut self) -> Result<(), Left> {
        for _ in 0..ORDERS_MAX {
            let mut bytes = [0; 256];
            let flags = RecvFlags::DONTWAIT;
            let read = match rustix::net::recv(&self.orders, &mut bytes, flags) {
                Ok((0, _)) => return Err(Left),
                Ok((read, _)) => read,
                Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
                Err(_) => return Err(Left),
            };
            match decode(&bytes[..read]) {
                Ok(ToSupervisor::Sample {
                    sampling,
                    how,
                    halvings,
                }) => {
                    if self.threads.begins_anew(how) {
                        self.finish()?;
                    } else if !how.is_on() {
                        // Whoever ends it wants what there is, and does not wait for names.
                        self.one_by_one.hurry(&self.seen.names(), Instant::now());
                        self.tell()?;
                    }
                    self.try_first(how);
                    let outcome = self.threads.switch(how, halvings);
                    self.looked = Instant::now();
                    let word = encode(&FromSupervisor::Sampling { sampling, outcome });
                    // One that does not read its answers does not wait for them either.
                    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
                    let _ = word.map(|word| rustix::net::send(&self.orders, &word, flags));
                }
                Ok(ToSupervisor::Profile { profile }) => {
                    // What was asked before is of no interest any more.
                    self.outbox.answer(&[]);
                    match self.threads.without() {
                        Some(why) if self.seen.taken() == 0 => self.say_without(profile, why),
                        _ => {
                            let sampling = self.sampling();
                            self.answering = Some(self.seen.answering(profile, sampling));
                        }
                    }
                }
                Ok(_) | Err(_) => return Err(Left),
            }
        }
        Ok(())
    }

    /// What is known of the sampling; what was seen is to be added.
    fn sampling(&self) -> Sampled {
        let frequency = self.threads.frequency();
        let by_timer = self.threads.by() == SampledBy::Timer;
        Sampled {
            elapsed_ns: nanoseconds(self.threads.elapsed()),
            sampler_cpu_ns: nanoseconds(own_time()),
            frequency: (frequency, frequency),
            without_kernel: u32::from(!by_timer && !self.threads.with_kernel()),
            by_timer: u32::from(by_timer),
            untimed: u32::from(self.threads.is_untimed()),
            ..Sampled::default()
        }
    }

    /// Goes on with the answer, if one is being made.
    fn answer(&mut self) {
        let Some(mut answering) = self.answering.take() else {
            return;
        };
        if answering.go_on(&self.seen.names()) {
            self.answering = Some(answering);
            return;
        }
        self.outbox.answer(&answering.parts(self.rank));
    }

    /// Tells all samples now, and gives up those that the supervisor has no room for: whoever hears
    /// of another frequency afterwards knows whose numbers are whose.
    fn finish(&mut self) -> Result<(), Left> {
        self.one_by_one.hurry(&self.seen.names(), Instant::now());
        self.tell()?;
        let on_their_way = self.outbox.give_up_samples();
        self.one_by_one.give_up(on_their_way);
        Ok(())
    }

    /// Sends what the supervisor has room for.
    fn tell(&mut self) -> Result<(), Left> {
        let (now, is_on) = (Instant::now(), self.threads.is_on());
        self.one_by_one.look(&self.seen.names(), now, is_on);
        let one_by_one = &mut self.one_by_one;
        let sent = self.outbox.send(|| one_by_one.tell(now, is_on));
        sent.map_err(|_| Left)
    }
}

/// The time that this process has spent on a processor.
fn own_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
