//! Every limit of the tree: its name, its unit and its reason.

/// The interval of the root's heartbeat, in ns. Six fit into [`SILENCE_NS_MAX`], so that a busy
/// machine may delay some of them.
pub const HEARTBEAT_NS: u64 = 250_000_000;
/// The longest silence from above before a node takes the root for lost, in ns: a pause that nobody
/// can end must not outlive the root by more than the time at which a user grows impatient.
pub const SILENCE_NS_MAX: u64 = 1_500_000_000;
/// The longest that a node waits for the root's first message, in ns: launchers start processes one
/// after the other and file systems are slow under all of them at once. As long as the gate of a
/// rank that starts held stays closed by itself, so that a slow start lets nobody go.
pub const START_NS_MAX: u64 = 60_000_000_000;
/// The longest silence of a member before it is taken for gone, in ns. A live member asks for the
/// time every five seconds at least: six such questions have not come. Shorter stalls (a core that
/// others use, a debugger's glance, memory that is swapped in) only make it silent.
pub const GONE_NS: u64 = 30_000_000_000;

/// How long a tool process that not all others can wake stays alert after a command or a question,
/// in ns: whoever looks or steers goes on within seconds.
pub const ALERT_NS: u64 = 3_000_000_000;
/// How long it stays alert after a question about the time by another node's process, in ns: that
/// one repeats it at once.
pub const CLOCK_ALERT_NS: u64 = 2_000_000;

/// What a wave may take for each layer that it has below, in ns. A parent waits one such time
/// longer than its children, so that a lost member costs its own answer and not that of the whole
/// branch. A place answers within milliseconds; a second is for machines on which tools and
/// application share the cores.
pub const WAVE_NS_PER_LAYER: u64 = 1_000_000_000;
/// What a command may take for each layer, in ns. Longer than a wave, because a place first has to
/// hear from the supervisor of each of its ranks.
pub const COMMAND_NS_PER_LAYER: u64 = 2_000_000_000;

/// Waves under way at a node: some tens of clients may ask at once, and each wave holds one partial
/// result.
pub const WAVES_MAX: usize = 64;
/// Commands under way at a node: people give them one after the other, scripts a few at once.
pub const COMMANDS_MAX: usize = 16;
/// Results of past commands that a node remembers, so that a repeated id is answered and not done
/// again. A client repeats a command within seconds; 256 outlast that, in some 100 KiB at worst.
pub const REMEMBERED_MAX: usize = 256;
/// Askers that wait for the same command: its first client and a few repetitions.
pub const ASKERS_MAX: usize = 16;

/// How far ahead of an order a cut lies for each layer of the tree, in ns: a command passes a tool
/// process within its longest rest of a millisecond, and within some 20 where tools and application
/// share the cores.
pub const CUT_AHEAD_NS_PER_LAYER: u64 = 20_000_000;

/// Groups that a node keeps for its members, known and awaited: programs use some dozens of
/// communicators at a time, and a place asks for those that its ranks met peers on.
pub const GROUPS_MAX: usize = 4096;
/// Runs of all groups that a node keeps, about 1 MiB: a regular communicator of any size takes a
/// few runs.
pub const GROUP_RUNS_MAX: usize = 65_536;
/// The same at the root, which nobody can answer for: about 16 MiB for programs that make
/// communicators at every rank.
pub const ROOT_GROUPS_MAX: usize = 65_536;
/// Runs of all groups at the root, about 16 MiB: one irregular communicator of a million ranks.
pub const ROOT_GROUP_RUNS_MAX: usize = 1 << 20;
/// Before a question about a group goes up again that has brought nothing, and before a member that
/// repeats one is told everything again, in ns: the question or its answer may have been lost.
/// Members repeat theirs several times a second.
pub const ASK_GROUP_AGAIN_NS: u64 = 1_000_000_000;
/// The longest pause before a member is told everything again, in ns: a group that can never become
/// complete, because a place that knew a part of it is gone, must not be sent every second for the
/// rest of the job.
pub const TELL_GROUP_AGAIN_NS_MAX: u64 = 64_000_000_000;
/// Runs in one message about groups, some 200 KiB: more would keep other messages waiting.
pub const GROUP_MESSAGE_RUNS_MAX: usize = 16_384;

/// Processes that MPI can number: a rank is a C `int`.
pub const TOTAL_MAX: u32 = i32::MAX as u32;
