//! Has the rank sampled by a process of its own, and passes on to the place what that has seen.

use super::Supervisor;
use crate::rank::sampling::RankSampling;
use crate::tool::processors;
use invivo_inspect::sampling::{OfRank, Received, Sampler};
use invivo_proto::control::local::FromSupervisor;
use invivo_proto::control::profile::{NoSamples, Sampled};
use invivo_proto::control::sampling::Sampling;
use invivo_proto::ids::Rank;

impl Supervisor<'_> {
    /// Samples the rank from now on, or no longer.
    pub(super) fn order_sampling(&mut self, sampling: u32, how: Sampling, halvings: u32) {
        let outcome = self.sample(how, halvings);
        // Samples of before, whose numbers may be of another kind, go before the answer.
        self.pass_samples();
        self.tell(&FromSupervisor::Sampling { sampling, outcome });
    }

    /// There is nothing to sample any more.
    pub(super) fn refuse_sampling(&mut self, sampling: u32) {
        let outcome = Err(NoSamples::Ended);
        self.tell(&FromSupervisor::Sampling { sampling, outcome });
    }

    /// Nobody is there any more to ask what was seen.
    pub(super) fn end_sampling(&mut self) {
        self.sampling = RankSampling::default();
    }

    fn sample(&mut self, how: Sampling, halvings: u32) -> Result<(), NoSamples> {
        let outcome = match &mut self.sampling.sampler {
            Some(sampler) => sampler.switch(how, halvings),
            None if !how.is_on() => Ok(()),
            None => {
                let pid = self.process_in_mpi().ok_or(NoSamples::Ended);
                let rank = Rank(self.assignment.identity.rank);
                let (launcher, barrier) =
                    (self.assignment.launcher, self.assignment.barrier.as_ref());
                // It does not take its time from the rank where there is another processor.
                let aside = || {
                    processors::step_aside(launcher, barrier, processors::NOTES_WITHIN);
                };
                let region = self.memory.region();
                let started = pid.and_then(|pid| {
                    let of = OfRank {
                        rank,
                        pid,
                        page: Some(region.page()),
                    };
                    Sampler::start(of, how, halvings, aside)
                });
                started.map(|sampler| self.sampling.sampler = Some(sampler))
            }
        };
        match outcome {
            Err(NoSamples::Broken) => self.sampler_broke(),
            Err(why) if self.sampling.sampler.is_none() => self.sampling.without = why,
            _ => {}
        }
        outcome
    }

    /// Asks the sampler where the rank spends its time; its answer is passed on when it comes.
    pub(super) fn ask_profile(&mut self, profile: u32) {
        // A new question replaces the one before.
        let sampler = self.sampling.sampler.as_mut();
        match sampler.map(|sampler| sampler.ask(profile)) {
            Some(true) => {
                self.sampling.asked = Some(profile);
                self.sampling.is_cut = false;
            }
            Some(false) => {
                // It has not looked at earlier questions, or it is gone.
                self.pass_samples();
                let why = match self.sampling.sampler {
                    Some(_) => NoSamples::Silent,
                    None => self.sampling.without,
                };
                self.say_without(profile, why);
            }
            None => self.say_without(profile, self.sampling.without),
        }
    }

    /// Passes on what the sampler has said.
    pub(super) fn pass_samples(&mut self) {
        loop {
            let Some(sampler) = &mut self.sampling.sampler else {
                return;
            };
            match sampler.receive() {
                Received::Message(message @ FromSupervisor::Profiled { .. }) => {
                    self.pass_part(&message);
                }
                Received::Message(message) => self.pass_one_by_one(message),
                Received::Nothing => return,
                Received::Ended => self.sampler_broke(),
            }
        }
    }

    /// Passes on samples one by one, or the contexts that they are in.
    fn pass_one_by_one(&mut self, message: FromSupervisor) {
        let mut passed = std::mem::take(&mut self.sampling.passed);
        passed.pass(message, |message| self.offer_now(message));
        self.sampling.passed = passed;
    }

    /// Passes on a part of an answer.
    fn pass_part(&mut self, message: &FromSupervisor) {
        if let FromSupervisor::Profiled { rest: 0, .. } = message {
            self.sampling.asked = None;
        }
        // A place that does not read now gets none of the others either: it would hang them below
        // other nodes.
        if !self.sampling.is_cut {
            self.sampling.is_cut = !self.offer(message);
        }
    }

    fn sampler_broke(&mut self) {
        self.sampling.discard();
        self.sampling.without = NoSamples::Broken;
        if let Some(profile) = self.sampling.asked.take() {
            self.say_without(profile, NoSamples::Broken);
        }
    }

    fn say_without(&mut self, profile: u32, why: NoSamples) {
        let seen: Result<Sampled, NoSamples> = Err(why);
        self.offer(&FromSupervisor::Profiled {
            profile,
            seen,
            nodes: Vec::new(),
            rest: 0,
        });
    }
}
