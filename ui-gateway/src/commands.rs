//! Commands under way and their answers. Each runs to its end whether its client waits or not, so
//! that the audit log always says how it went; the same id asks for the same answer.

use crate::audit::{Audit, Event, UnderWay};
use crate::auth::Caller;
use crate::limits;
use crate::link::{Link, LinkError};
use crate::orders::{Named, nanoseconds};
use invivo_grpc::{convert, v1};
use invivo_proto::control::link::{Answer, Ask};
use invivo_proto::control::tree::{Acks, Order};
use invivo_proto::ids::CommandId;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::watch;
use tonic::Status;

/// How a command ended, once it has.
type Outcome = Option<Result<v1::CommandReply, LinkError>>;

/// The commands; clones share them.
#[derive(Clone, Debug)]
pub struct Commands {
    link: Link,
    audit: Audit,
    known: Arc<Mutex<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    commands: BTreeMap<u64, Remembered>,
    /// Ids of those that are done, the oldest first.
    done: VecDeque<u64>,
}

#[derive(Clone, Debug)]
struct Remembered {
    order: Order,
    outcome: watch::Receiver<Outcome>,
}

impl Commands {
    /// Commands over `link`, noted in `audit`.
    pub fn new(link: Link, audit: Audit) -> Commands {
        Commands {
            link,
            audit,
            known: Arc::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a command to the root, or joins it where it was given before, and waits for how it
    /// went.
    ///
    /// # Errors
    /// Why it cannot be given, or why there is no answer.
    pub async fn give(
        &self,
        caller: Caller,
        id: u64,
        named: Named,
    ) -> Result<v1::CommandReply, Status> {
        let id = if id == 0 { crate::random::id()? } else { id };
        let mut outcome = self.begin(caller, id, named)?;
        // The task that has the other end always says how it went.
        let ended = outcome.wait_for(Option::is_some).await;
        let ended = ended.ok().and_then(|outcome| outcome.clone());
        let gone = || Err(LinkError::Away("the gateway is ending".into()));
        ended.unwrap_or_else(gone).map_err(Status::from)
    }

    fn begin(
        &self,
        caller: Caller,
        id: u64,
        named: Named,
    ) -> Result<watch::Receiver<Outcome>, Status> {
        let mut known = self.known();
        if let Some(remembered) = known.commands.get(&id) {
            if remembered.order != named.order {
                return Err(Status::invalid_argument(format!(
                    "the command {id} was another one ({} {}): choose another command_id",
                    Named::plain(remembered.order).name,
                    Named::plain(remembered.order).arguments()
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
        let (told, outcome) = watch::channel(None);
        let remembered = Remembered {
            order: named.order,
            outcome: outcome.clone(),
        };
        known.commands.insert(id, remembered);
        drop(known);
        let under_way = self.audit.begin(named.name, caller, id, named.arguments());
        tokio::spawn(self.clone().carry_out(id, named, under_way, told));
        Ok(outcome)
    }

    async fn carry_out(
        self,
        id: u64,
        named: Named,
        under_way: UnderWay,
        told: watch::Sender<Outcome>,
    ) {
        let begun = Instant::now();
        let ask = Ask::Command {
            id: CommandId(id),
            order: named.order,
        };
        let acks: Result<Acks, LinkError> = match self.link.ask(ask, named.time_max()).await {
            Ok(reply) => match reply.answer {
                Answer::Command(acks) => Ok(acks),
                _ => Err(LinkError::Mismatched),
            },
            Err(error) => Err(error),
        };
        let took_ns = nanoseconds(begun.elapsed());
        let (event, outcome) = match acks {
            Ok(acks) => {
                let reply = v1::CommandReply {
                    took_ns,
                    lease_ns: named.lease_ns(),
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
        self.known().ended(id, outcome.is_ok());
        self.audit.end(&under_way, &event);
        told.send_replace(Some(outcome));
    }
}

impl Known {
    /// One without an answer may be asked again: the root knows whether it did it.
    fn ended(&mut self, id: u64, answered: bool) {
        if answered {
            self.done.push_back(id);
        } else {
            self.commands.remove(&id);
        }
    }

    /// Forgets the command that is done longest; false when none is.
    fn forget_one(&mut self) -> bool {
        let oldest = self.done.pop_front();
        oldest.is_some_and(|id| self.commands.remove(&id).is_some())
    }
}
