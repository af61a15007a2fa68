//! Carries out commands: sends them to the root, logs their outcome, and remembers their answers.
//!
//! A command runs to its end whether its client waits or not, so that the audit log always has its
//! outcome. The same id twice is the same command and gets the same answer.

use crate::audit::event::Event;
use crate::audit::{Audit, OpenEntry};
use crate::auth::caller::Caller;
use crate::limits;
use crate::root_link::RootLink;
use crate::root_link::request::LinkError;
use invivo_grpc::{convert, v1};
use invivo_jobdir::random;
use invivo_proto::control::link::{Answer, Ask};
use invivo_proto::control::order::Order;
use invivo_proto::control::tree::Acks;
use invivo_proto::ids::CommandId;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tonic::Status;

/// The outcome of a command; `None` while it is in progress.
type Outcome = Option<Result<v1::CommandReply, LinkError>>;

/// The commands of all clients; clones share them.
#[derive(Clone, Debug)]
pub struct Commands {
    link: RootLink,
    audit: Audit,
    known: Arc<Mutex<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    /// In progress or done, by id.
    commands: BTreeMap<u64, Remembered>,
    /// Ids of those that are done, the first done first.
    done: VecDeque<u64>,
}

#[derive(Clone, Debug)]
struct Remembered {
    order: Order,
    outcome: watch::Receiver<Outcome>,
}

impl Commands {
    pub fn new(link: RootLink, audit: Audit) -> Commands {
        Commands {
            link,
            audit,
            known: Arc::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out a command, or joins it if it was given before, and waits for its outcome. The id
    /// 0 stands for a new one.
    ///
    /// # Errors
    /// If the id is taken by another command, too many are in progress, or the root does not
    /// answer.
    pub async fn carry_out(
        &self,
        caller: Caller,
        id: u64,
        order: Order,
    ) -> Result<v1::CommandReply, Status> {
        let id = match id {
            0 => random::id().map_err(|error| {
                Status::internal(format!("the system has no random numbers: {error}"))
            })?,
            id => id,
        };

        let mut outcome = self.begin(caller, id, order)?;
        // The task with the other end always sends an outcome.
        let ended = outcome.wait_for(Option::is_some).await;
        let ended = ended.ok().and_then(|outcome| outcome.clone());
        let gone = || Err(LinkError::Disconnected("the gateway is ending".into()));
        ended.unwrap_or_else(gone).map_err(Status::from)
    }

    fn begin(
        &self,
        caller: Caller,
        id: u64,
        order: Order,
    ) -> Result<watch::Receiver<Outcome>, Status> {
        let mut known = self.known();
        // The same id: the client repeats a call whose answer it did not get.
        if let Some(remembered) = known.commands.get(&id) {
            if remembered.order != order {
                return Err(Status::invalid_argument(format!(
                    "the command {id} was another one ({} {}): choose another command_id",
                    remembered.order.name(),
                    remembered.order
                )));
            }
            return Ok(remembered.outcome.clone());
        }
        if known.commands.len() >= limits::COMMANDS_MAX && !known.forget_one() {
            return Err(Status::resource_exhausted(format!(
                "{} commands are under way: ask again when some are done",
                limits::COMMANDS_MAX
            )));
        }

        // Inserted under the same lock as the look-up: two calls with one id start one command.
        let (sender, outcome) = watch::channel(None);
        let remembered = Remembered {
            order: order.clone(),
            outcome: outcome.clone(),
        };

        known.commands.insert(id, remembered);
        // Not held across the audit log's own locks.
        drop(known);
        let entry = self
            .audit
            .begin(order.name(), caller, id, order.to_string());
        // A task of its own: it goes on when the client's call is cancelled.
        tokio::spawn(self.clone().run(id, order, entry, sender));
        Ok(outcome)
    }

    /// Sends a command to the root and records its outcome.
    async fn run(
        self,
        id: u64,
        order: Order,
        entry: OpenEntry,
        outcome_sender: watch::Sender<Outcome>,
    ) {
        let begun = Instant::now();
        // Some orders take effect at a later time, for which the root waits too.
        let time_max = limits::COMMAND_TIME_MAX + Duration::from_nanos(order.extra_time_ns());
        let lease_ns = order.lease_ns();
        let ask = Ask::Command {
            id: CommandId(id),
            order,
        };

        let acks: Result<Acks, LinkError> = match self.link.ask(ask, time_max).await {
            Ok(reply) => match &reply.answer {
                Answer::Command(acks) => Ok(acks.clone()),
                _ => Err(LinkError::Mismatched),
            },
            Err(error) => Err(error),
        };

        let took_ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);

        let (event, outcome) = match acks {
            Ok(acks) => {
                let reply = v1::CommandReply {
                    took_ns,
                    lease_ns,
                    ..convert::command_reply(id, &acks)
                };
                let event = Event::Answered {
                    command_id: id,
                    targets: reply.targets,
                    done: reply.done,
                    took_ns,
                };
                (event, Ok(reply))
            }
            Err(error) => {
                let event = Event::Failed {
                    command_id: id,
                    why: error.to_string(),
                };
                (event, Err(error))
            }
        };

        // First known as done, then logged, then answered: whoever has the answer finds it in the
        // log.
        self.known().ended(id, outcome.is_ok());
        self.audit.end(&entry, &event);
        outcome_sender.send_replace(Some(outcome));
    }
}

impl Known {
    /// Keeps a command that was answered. One without an answer is forgotten and may be sent again:
    /// the root knows whether it has done it.
    fn ended(&mut self, id: u64, answered: bool) {
        if answered {
            self.done.push_back(id);
        } else {
            self.commands.remove(&id);
        }
    }

    /// Forgets the command that was done first; false if all are in progress.
    fn forget_one(&mut self) -> bool {
        // Commands in progress are never forgotten: their ids protect against doing them twice.
        let oldest = self.done.pop_front();
        oldest.is_some_and(|id| self.commands.remove(&id).is_some())
    }
}
