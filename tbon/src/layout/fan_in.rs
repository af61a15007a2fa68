//! The fan-in: how many members report to one process, layer by layer.

use core::fmt;
use core::str::FromStr;

/// The word in place of the ranks per tool place: one tool process per node, which is the place of
/// all its ranks and takes the roles above them, too.
pub const NODE: &str = "node";
/// Ranks per tool place of such a process: all that the node has. No job has so many.
const ALL_OF_NODE: u32 = u32::MAX;
/// Members per analysis node where nothing else is said: a merge takes microseconds, so that
/// sixteen answers are merged before the next one matters, and a million ranks need six layers.
pub const MEMBERS_PER_NODE_DEFAULT: u32 = 16;
/// Numbers in a list: with two members per node, more layers than MPI can number processes for
/// would take 31; lists are for shaping the lowest ones.
pub const FAN_IN_LIST_MAX: usize = 8;

/// Ranks per place, then members per node, from the lowest layer of nodes up; the last number
/// repeats. Where only the ranks per place are said, nodes take [`MEMBERS_PER_NODE_DEFAULT`]. As
/// text: `64,16`, with a process for every place and node, or `node,16`, with one process per node
/// of the cluster for all of them.
///
/// One per node is the default: a place takes ten million calls a second, which 64 ranks reach at
/// 150,000 each, and every further process takes time from a node whose cores the application has
/// all booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FanIn {
    list: [u32; FAN_IN_LIST_MAX],
    length: usize,
}

/// Why numbers are no fan-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FanInError {
    /// Places of no ranks.
    NoRanks,
    /// Nodes that take fewer than two members: the tree would never come to a root.
    NarrowNodes {
        /// Members per node asked for.
        members: u32,
    },
    /// More numbers than [`FAN_IN_LIST_MAX`].
    TooLong {
        /// Numbers given.
        numbers: usize,
    },
    /// Text that is no list of numbers.
    Text,
}

impl fmt::Display for FanInError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            FanInError::NoRanks => {
                f.write_str("a tool place takes at least 1 rank; give a fan-in of 1 or more")
            }
            FanInError::NarrowNodes { members } => write!(
                f,
                "an analysis node takes at least 2 members, not {members}; give 2 or more"
            ),
            FanInError::TooLong { numbers } => write!(
                f,
                "a fan-in of {numbers} numbers is too long: give {FAN_IN_LIST_MAX} at most, the \
                 last one repeats"
            ),
            FanInError::Text => f.write_str(
                "a fan-in is `node`, or ranks per tool place and then members per analysis node, \
                 the last one repeats; write it like `4,16`",
            ),
        }
    }
}

impl core::error::Error for FanInError {}

impl FanIn {
    /// The fan-in of a list.
    ///
    /// # Errors
    /// When the list is empty or too long, a place would take no rank, or a node fewer than two
    /// members: the tree would never come to a root.
    pub fn new(list: &[u32]) -> Result<FanIn, FanInError> {
        let with_nodes = match *list {
            // One number gives the ranks per place only.
            [ranks] => &[ranks, MEMBERS_PER_NODE_DEFAULT],
            _ => list,
        };

        let Some((&ranks, nodes)) = with_nodes.split_first() else {
            return Err(FanInError::NoRanks);
        };
        if ranks == 0 {
            return Err(FanInError::NoRanks);
        }

        if let Some(&members) = nodes.iter().find(|&&members| members < 2) {
            return Err(FanInError::NarrowNodes { members });
        }
        let mut fan_in = FanIn {
            list: [0; FAN_IN_LIST_MAX],
            length: with_nodes.len(),
        };

        match fan_in.list.get_mut(..with_nodes.len()) {
            Some(room) => room.copy_from_slice(with_nodes),
            None => {
                return Err(FanInError::TooLong {
                    numbers: with_nodes.len(),
                });
            }
        }

        Ok(fan_in)
    }

    /// One tool process per node, whose inner nodes take so many members.
    ///
    /// # Errors
    /// When a node would take fewer than two members.
    pub fn one_per_node(members: u32) -> Result<FanIn, FanInError> {
        FanIn::new(&[ALL_OF_NODE, members])
    }

    /// Whether there is one tool process per node, with all roles.
    pub fn is_one_per_node(self) -> bool {
        self.list[0] == ALL_OF_NODE
    }

    /// Ranks per place; more than any node has where one place takes them all.
    pub fn ranks_per_place(self) -> u32 {
        self.list[0]
    }

    /// The same nodes over places of so many ranks.
    ///
    /// # Errors
    /// When it is none.
    pub fn with_ranks_per_place(mut self, ranks: u32) -> Result<FanIn, FanInError> {
        self.list[0] = ranks;
        FanIn::new(self.numbers())
    }

    /// Members that report to each process of `layer` (1 the places), at most.
    pub fn of_layer(self, layer: u32) -> u32 {
        // The last number repeats for all higher layers.
        self.list[(layer as usize).clamp(1, self.length) - 1]
    }

    fn numbers(&self) -> &[u32] {
        &self.list[..self.length]
    }
}

impl Default for FanIn {
    fn default() -> FanIn {
        // Unused numbers stay 0, so that equal fan-ins compare equal.
        let mut list = [0; FAN_IN_LIST_MAX];
        (list[0], list[1]) = (ALL_OF_NODE, MEMBERS_PER_NODE_DEFAULT);
        FanIn { list, length: 2 }
    }
}

impl fmt::Display for FanIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_one_per_node() {
            true => f.write_str(NODE)?,
            false => write!(f, "{}", self.ranks_per_place())?,
        }
        self.numbers()[1..]
            .iter()
            .try_for_each(|members| write!(f, ",{members}"))
    }
}

impl FromStr for FanIn {
    type Err = FanInError;

    fn from_str(text: &str) -> Result<FanIn, FanInError> {
        let mut list = [0; FAN_IN_LIST_MAX];
        let mut length = 0;
        for number in text.split(',') {
            let number = match number.trim() {
                NODE if length == 0 => ALL_OF_NODE,
                // The word is the only way to say it.
                number => match number.parse() {
                    Ok(ALL_OF_NODE) | Err(_) => return Err(FanInError::Text),
                    Ok(number) => number,
                },
            };
            // Numbers beyond the list are counted, so that the error can tell how many there were.
            if let Some(room) = list.get_mut(length) {
                *room = number;
            }
            length += 1;
        }
        match list.get(..length) {
            Some(list) => FanIn::new(list),
            None => Err(FanInError::TooLong { numbers: length }),
        }
    }
}
