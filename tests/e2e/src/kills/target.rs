//! The processes of a job that a case may hit, with their names and numbers in the job.

/// Ranks of a job with one tool place, directly below the root.
const RANKS: u32 = 2;
/// Ranks of a job whose tree has two analysis nodes below the root, and a tool place for each rank.
const DEEP_RANKS: u32 = 3;

/// The process that a case hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// A process of the application.
    Rank,
    /// The `invivo exec` process that started a rank.
    Supervisor,
    Place,
    /// An analysis node between the places and the root.
    Node,
    /// The `invivo exec` process that started the root.
    RootSupervisor,
    Root,
    Gateway,
}

impl Target {
    pub const ALL: [Target; 7] = [
        Target::Rank,
        Target::Supervisor,
        Target::Place,
        Target::Node,
        Target::RootSupervisor,
        Target::Root,
        Target::Gateway,
    ];

    /// The name in the manual's table.
    pub fn title(self) -> &'static str {
        match self {
            Target::Rank => "a rank",
            Target::Supervisor => "a rank's supervisor",
            Target::Place => "the tool place",
            Target::Node => "an analysis node",
            Target::RootSupervisor => "the root's supervisor",
            Target::Root => "the root",
            Target::Gateway => "the gateway",
        }
    }

    /// Whether its death ends a rank, as the same fault does without Invivo.
    pub fn is_part_of_the_program(self) -> bool {
        matches!(self, Target::Rank | Target::Supervisor)
    }

    /// Ranks of the job in which it is hit.
    pub fn ranks(self) -> u32 {
        match self {
            Target::Node => DEEP_RANKS,
            _ => RANKS,
        }
    }

    /// Ranks per tool place, and members per analysis node, of that job.
    pub fn fan_in(self) -> &'static str {
        match self {
            Target::Node => "1,2",
            _ => "2",
        }
    }

    /// Its number in the whole job; the gateway has the number of the process that started it.
    pub fn number(self, rank: u32) -> u32 {
        match self {
            Target::Rank | Target::Supervisor => rank,
            // The first process behind the ranks.
            Target::Place => RANKS,
            // Of the two nodes, the one that has two places.
            Target::Node => 2 * DEEP_RANKS,
            Target::RootSupervisor | Target::Root | Target::Gateway => RANKS + 1,
        }
    }

    /// Names of its program; a place is `invivo exec` at first, and tool processes know what they
    /// are when they are through `MPI_Init`.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Target::Rank => &["marked_calls"],
            Target::Supervisor | Target::RootSupervisor => &["invivo"],
            Target::Place => &["tool-place", "tool-process", "invivo"],
            Target::Node | Target::Root => &["analysis-node", "tool-process"],
            Target::Gateway => &["ui-gateway"],
        }
    }
}
