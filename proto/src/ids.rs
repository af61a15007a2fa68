//! Ids, one type each, so that the number of a rank is never taken for that of a thread or a place.

/// Derives what every id needs, serialisation included where control messages are compiled in.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(
            feature = "control",
            derive(bincode::Encode, bincode::Decode, serde::Serialize, serde::Deserialize)
        )]
        #[repr(transparent)]
        pub struct $name(pub $inner);

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

id! {
    /// A process of the application, numbered as the application numbers it in `MPI_COMM_WORLD`.
    Rank(u32)
}
id! {
    /// A process of the whole MPI job, tools included, numbered as the launcher numbers it.
    WorldRank(u32)
}
id! {
    /// A region: an MPI function (its index in [`crate::mpi::FUNCTIONS`]), or from
    /// [`crate::record::REGIONS_END`] on one of the program, as one rank numbers them: a
    /// [`crate::definition::Definition`] says which that is.
    RegionId(u16)
}
id! {
    /// A communicator as one rank numbers it: 0 is the world, 1 is self, then in order of creation.
    /// Records carry this small number; a [`crate::definition::Definition`] ties it to a
    /// [`CommId`].
    CommLocal(u32)
}
id! {
    /// A call site as one rank numbers it: from 1, in the order in which they were met. A
    /// [`crate::definition::Definition`] says where in which file that is.
    SiteId(u16)
}
id! {
    /// A command, chosen by the client that gives it; the same id twice is the same command.
    CommandId(u64)
}
id! {
    /// One round of partial results climbing the tree.
    WaveId(u64)
}

impl SiteId {
    /// It was not noted where the call was made.
    pub const NONE: SiteId = SiteId(0);
    /// One of those that the rank met when it had numbered as many as it may.
    pub const OTHERS: SiteId = SiteId(u16::MAX);
}

impl RegionId {
    /// One of the program's regions that the rank met when it had numbered as many as it may.
    pub const OTHERS: RegionId = RegionId(u16::MAX);
}

impl CommLocal {
    /// The world of the application.
    pub const WORLD: CommLocal = CommLocal(0);
    /// `MPI_COMM_SELF`.
    pub const SELF: CommLocal = CommLocal(1);
    /// The call has no communicator.
    pub const NONE: CommLocal = CommLocal(u32::MAX);
}

/// One thread of a rank (OTF2's word).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "control",
    derive(bincode::Encode, bincode::Decode, serde::Serialize, serde::Deserialize)
)]
pub struct LocationId {
    pub rank: Rank,
    /// The thread's number within the process, 0 for the one that initialised MPI.
    pub thread: u16,
}

/// A communicator's id in the whole job: the same on all its members, and no other's. How it is
/// made: [`crate::comm_id`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "control",
    derive(bincode::Encode, bincode::Decode, serde::Serialize, serde::Deserialize)
)]
pub struct CommId {
    /// The process that is rank 0 in it, by its rank in the application's world.
    pub leader: Rank,
    /// The list of numbers, coded ([`CommId::numbers`]): the first is 0 where the chain begins at
    /// the world, else the leader's own number; each of the others says the how-manieth of its
    /// parent a communicator of the chain is, from 1.
    pub counter: u32,
}
