//! Who dies: everybody that a job has, and where they stand in it.

/// Ranks of a job with one tool place, which the root takes by itself.
const RANKS: u32 = 2;
/// Ranks of a job whose tree has two analysis nodes below the root, and a tool place for each rank.
const DEEP_RANKS: u32 = 3;

/// Who dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Victim {
    /// The program itself.
    Rank,
    /// The process that started a rank.
    Supervisor,
    /// The tool place.
    Place,
    /// An analysis node between the places and the root.
    Node,
    /// The process that started the root.
    RootSupervisor,
    /// The root of the tree.
    Root,
    /// The server of the clients, outside MPI.
    Gateway,
}

impl Victim {
    /// All of them.
    pub const ALL: [Victim; 7] = [
        Victim::Rank,
        Victim::Supervisor,
        Victim::Place,
        Victim::Node,
        Victim::RootSupervisor,
        Victim::Root,
        Victim::Gateway,
    ];

    /// As the manual calls it.
    pub fn title(self) -> &'static str {
        match self {
            Victim::Rank => "a rank",
            Victim::Supervisor => "a rank's supervisor",
            Victim::Place => "the tool place",
            Victim::Node => "an analysis node",
            Victim::RootSupervisor => "the root's supervisor",
            Victim::Root => "the root",
            Victim::Gateway => "the gateway",
        }
    }

    /// It takes a part of the program with it, as without Invivo.
    pub fn is_of_the_program(self) -> bool {
        matches!(self, Victim::Rank | Victim::Supervisor)
    }

    /// Ranks of the job that has one.
    pub fn ranks(self) -> u32 {
        match self {
            Victim::Node => DEEP_RANKS,
            _ => RANKS,
        }
    }

    /// Ranks per tool place, and members per analysis node, of that job.
    pub fn fan_in(self) -> &'static str {
        match self {
            Victim::Node => "1,2",
            _ => "2",
        }
    }

    /// Its number in the whole job; the gateway has the number of who started it.
    pub fn number(self, rank: u32) -> u32 {
        match self {
            Victim::Rank | Victim::Supervisor => rank,
            Victim::Place => RANKS,
            // Of both, the one that has two places.
            Victim::Node => 2 * DEEP_RANKS,
            Victim::RootSupervisor | Victim::Root | Victim::Gateway => RANKS + 1,
        }
    }

    /// Names of its program; a place is `invivo exec` at first.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Victim::Rank => &["hunted"],
            Victim::Supervisor | Victim::RootSupervisor => &["invivo"],
            Victim::Place => &["tool-place", "invivo"],
            Victim::Node | Victim::Root => &["analysis-node"],
            Victim::Gateway => &["ui-gateway"],
        }
    }
}
