//! What MPI fixes whatever the library: the functions by number, and special peers.

/// Peers that are no ranks. Families have other numbers for them; the shim maps to these.
pub mod peer {
    /// No peer, no root.
    pub const NONE: i32 = -1;
    /// `MPI_ANY_SOURCE` of a receive that was posted and not yet matched.
    pub const ANY: i32 = -2;
    /// `MPI_PROC_NULL`.
    pub const NULL: i32 = -3;
    /// `MPI_ROOT` of a collective on an intercommunicator.
    pub const ROOT: i32 = -4;
}
/// `MPI_ANY_TAG` of a receive that was posted and not yet matched.
pub const ANY_TAG: i32 = -2;

/// One MPI function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its C name.
    pub name: &'static str,
    /// Whether calls of it are recorded (query-only functions are not).
    pub recorded: bool,
    /// What its calls need from others before they come back.
    pub needs: Needs,
    /// What it is for.
    pub group: Group,
    /// Whether a selection may leave its calls out; of a call that completes a request, none does.
    pub selectable: bool,
}

/// What functions are for, after Score-P's groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "control", derive(bincode::Encode, bincode::Decode))]
pub enum Group {
    PointToPoint,
    /// Requests waited for, tested, started and freed.
    Requests,
    Collective,
    OneSided,
    Files,
    /// Communicators and groups.
    Communicators,
    Types,
    /// Begin and end of MPI.
    Environment,
    Other,
}

impl Group {
    pub const ALL: [Group; 9] = [
        Group::PointToPoint,
        Group::Requests,
        Group::Collective,
        Group::OneSided,
        Group::Files,
        Group::Communicators,
        Group::Types,
        Group::Environment,
        Group::Other,
    ];

    /// As users spell it: Score-P's name, where it has one.
    pub const fn name(self) -> &'static str {
        match self {
            Group::PointToPoint => "p2p",
            Group::Requests => "request",
            Group::Collective => "coll",
            Group::OneSided => "rma",
            Group::Files => "io",
            Group::Communicators => "cg",
            Group::Types => "type",
            Group::Environment => "env",
            Group::Other => "misc",
        }
    }
}

/// What calls of a function need from others before they come back, and with it what the rank's
/// page notes of a call ([`crate::shm::Status`]): `handle; numbers`, as the application gave them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nobody, or more than can be noted.
    Nothing,
    /// Somebody who receives: `communicator; destination, tag`.
    Receiver,
    /// Somebody who sends: `communicator; source, tag`.
    Sender,
    /// A message, which is left where it is: `communicator; source, tag`.
    Message,
    /// Somebody who receives and somebody who sends: `communicator; destination, tag, source, tag`.
    Both,
    /// That all of some requests complete: `address of their handles; how many`.
    All,
    /// That any of them completes: `address of their handles; how many`.
    Any,
    /// All ranks of a communicator in the same call: `communicator; `.
    Everybody,
    /// All ranks of a communicator in the same call, with the same root: `communicator; root`.
    Root,
    /// All ranks of a communicator, to make a window or a file of it: `communicator; `.
    Makers,
    /// All ranks of a window or a file in the same call: `window or file; `.
    Sharers,
    /// All ranks of a file in the same call, of which some may come back before others: `file; `.
    SomeSharers,
    /// All ranks of a window or a file that goes: `; its communicator as records number it, which
    /// of its windows and files, calls on it so far`.
    Closers,
    /// The part of a window that a rank has: `window; rank`.
    Target,
    /// Ranks that the call does not name, on a window: `window; `.
    Partners,
}

/// All functions; a [`crate::ids::RegionId`] is an index here. Index 0 is no function.
pub const FUNCTIONS: &[Function] = &include!("functions.rs");

/// The name of a region.
pub fn name(region: crate::ids::RegionId) -> &'static str {
    FUNCTIONS
        .get(usize::from(region.0))
        .map_or("unknown function", |f| f.name)
}

/// `MPI_Abort`, which is never recorded: it does not come back.
pub const ABORT: crate::ids::RegionId = crate::ids::RegionId(index_of("MPI_Abort") as u16);
/// The call that usually initialises MPI.
pub const INIT: crate::ids::RegionId = crate::ids::RegionId(index_of("MPI_Init") as u16);

/// Whether the region begins a rank's life in MPI.
#[inline]
pub fn is_initialisation(region: crate::ids::RegionId) -> bool {
    const INIT: [usize; 2] = [index_of("MPI_Init"), index_of("MPI_Init_thread")];
    INIT.contains(&usize::from(region.0))
}

/// What a call of the region needs from others.
pub fn needs(region: crate::ids::RegionId) -> Needs {
    FUNCTIONS
        .get(usize::from(region.0))
        .map_or(Needs::Nothing, |f| f.needs)
}

/// The index of a function that there is.
const fn index_of(name: &str) -> usize {
    let mut index = 0;
    // A name that the table does not have ends the compilation here, out of bounds.
    while !same(FUNCTIONS[index].name.as_bytes(), name.as_bytes()) {
        index += 1;
    }
    index
}

const fn same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    // Comparing slices with `==` is not possible in constants.
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::RegionId;

    #[test]
    fn two_functions_begin_a_life_in_mpi() {
        let initialises = |name: &&str| matches!(*name, "MPI_Init" | "MPI_Init_thread");
        for (index, function) in FUNCTIONS.iter().enumerate() {
            assert_eq!(
                is_initialisation(RegionId(index as u16)),
                initialises(&function.name),
                "{}",
                function.name
            );
        }
    }
}
