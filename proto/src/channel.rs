//! Tags and other agreements on the tool communicator: a duplicate of the real `MPI_COMM_WORLD`
//! that every process makes first thing after initialisation, before the split into application and
//! tools.

/// Event packets, rank to place.
pub const TAG_PACKET: i32 = 1;
/// The place's first message to each of its ranks: the path of the Unix socket on which it awaits
/// the rank's supervisor, as raw bytes. Its sender is the place that a rank reports to that was not
/// told one before.
pub const TAG_WELCOME: i32 = 2;
/// A `control::tree::Down`, encoded, to a tool place; further up with [`tag_of_layer`].
pub const TAG_DOWN: i32 = 3;
/// A `control::tree::Up`, encoded, from a tool place; further up with [`tag_of_layer`].
pub const TAG_UP: i32 = 4;
/// From place to place: what only the two of them need.
pub const TAG_PEER: i32 = 5;
/// From place to place: a `control::places::Places`, where ranks are dealt out over the nodes.
pub const TAG_PLACES: i32 = 6;
/// Tags of one layer.
const TAGS_PER_LAYER: i32 = 8;

/// [`TAG_UP`] or [`TAG_DOWN`] between the members of this layer (1 the places) and those above
/// them. A process may hold members of several layers, one of each: with the layer in its tag, a
/// message says between which members it goes.
pub const fn tag_of_layer(tag: i32, layer: u32) -> i32 {
    tag + TAGS_PER_LAYER * (layer as i32 - 1)
}

/// The tag of the messages that come back for those with `tag`, where messages go to and fro by
/// credits: on the tree's edges, and between places.
pub const fn tag_back(tag: i32) -> Option<i32> {
    match (tag, tag % TAGS_PER_LAYER) {
        (TAG_PEER | TAG_PLACES, _) => Some(tag),
        (_, TAG_DOWN) => Some(tag + (TAG_UP - TAG_DOWN)),
        (_, TAG_UP) => Some(tag - (TAG_UP - TAG_DOWN)),
        _ => None,
    }
}

/// The longest path of a welcome: a Unix socket address has 108 bytes.
pub const WELCOME_BYTES_MAX: usize = 108;

/// Colour of the application's ranks in the split of the real world (key: world rank).
pub const COLOR_APPLICATION: i32 = 0;
/// Colour of the tool processes.
pub const COLOR_TOOLS: i32 = 1;

/// What a rank sends to its supervisor before it calls the real `MPI_Abort`, which may end every
/// process of the job at once. No path begins like this. The supervisor answers with any packet, or
/// by closing, when the place has taken what the rank recorded.
pub const ABORTING: &[u8] = b"aborting";

/// What a rank sends to its supervisor when a thread has met a fault and waits: its path is to be
/// followed before the fault goes its way. The answer is in the rank's page
/// ([`crate::shm::fault::Fault`]). No path begins like this either.
pub const FAULT: &[u8] = b"fault";

/// What a supervisor sends to its rank, unasked, when the rank's tool place is gone. `MPI_Finalize`
/// waits for the place for ever, so the job is ended there: what the program has printed goes out
/// before.
pub const PLACE_GONE: &[u8] = b"place gone";

/// Environment of an application process: `MEMFD,CONTROL,BEFORE,SPINS`. The first two are numbers
/// of inherited descriptors: the rank's shared memory and one end of a `SOCK_SEQPACKET` pair whose
/// other end is the supervisor's: on it the rank passes the welcome on, and says [`ABORTING`]. The
/// third says how many entries of `LD_PRELOAD` right before the shim are there for its sake, and go
/// with it. The fourth is 1 where the rank must not yield the processor while it waits, though its
/// MPI, which counts the tool processes, would make it.
pub const ENV_DESCRIPTORS: &str = "INVIVO_FDS";

/// Environment of an application process: the abstract address of a `SOCK_SEQPACKET` Unix socket on
/// which its supervisor listens. Who has lost the descriptors of [`ENV_DESCRIPTORS`] connects
/// there: the connection takes the second one's place, and the first message on it has the first
/// one with it (`SCM_RIGHTS`).
pub const ENV_HANDOVER: &str = "INVIVO_HANDOVER";
