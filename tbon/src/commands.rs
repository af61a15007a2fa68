//! Keeps commands: each is executed once, however often it is given, and acknowledged by all ranks
//! or with the missing named.

use crate::gather::{Answers, Gathers};
use crate::members::Member;
use crate::{acks, limits, missing};
use alloc::collections::VecDeque;
use invivo_proto::control::tree::Acks;
use invivo_proto::ids::CommandId;

/// The acknowledgements of a command so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    pub acks: Acks,
}

impl Answers for Course {
    fn absent(&mut self, member: &Member) {
        acks::merge(
            &mut self.acks,
            Acks {
                targets: member.ranks,
                ..Acks::default()
            },
        );
        missing::note(&mut self.acks.missing, [member.world]);
    }
}

/// What is known of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Known<'a> {
    /// Under way; its acknowledgement will come.
    UnderWay,
    /// Over.
    Past(&'a Course),
}

/// The commands that a node knows.
#[derive(Clone, Debug)]
pub(crate) struct Commands {
    pub under_way: Gathers<CommandId, Course>,
    past: VecDeque<(CommandId, Course)>,
}

impl Commands {
    pub fn none() -> Commands {
        Commands {
            under_way: Gathers::new(limits::COMMANDS_MAX),
            past: VecDeque::new(),
        }
    }

    pub fn known(&self, id: CommandId) -> Option<Known<'_>> {
        let past = || {
            self.past
                .iter()
                .find(|(past, _)| *past == id)
                .map(|(_, course)| Known::Past(course))
        };
        // Under way first: an id is moved to the past only when its last member has answered.
        self.under_way
            .find(id)
            .map(|_| Known::UnderWay)
            .or_else(past)
    }

    /// Remembers how a command went, and forgets the oldest beyond the limit.
    pub fn remember(&mut self, id: CommandId, course: Course) {
        if self.past.len() == limits::REMEMBERED_MAX {
            self.past.pop_front();
        }
        self.past.push_back((id, course));
    }
}
