//! One test case, from a seed: everything that decides what happens.

use crate::plant::Plant;
use fastrand::Rng;
use invivo_tbon::layout::{FanIn, Layout, LayoutError, Policy};
use std::fmt;

/// The parameters of one simulated job. The same parameters always give the same events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
pub struct Case {
    /// Decides all that is random
    #[arg(long)]
    pub seed: u64,
    /// Hosts with a tree of their own; with one, the tool processes are the last of the job
    #[arg(long, default_value_t = 1)]
    pub hosts: u32,
    /// Ranks of the application on each host
    #[arg(long, default_value_t = 4)]
    pub ranks_per_host: u32,
    /// Ranks per place
    #[arg(long, default_value_t = 4)]
    pub fan_in: u32,
    /// One tool process per host, with all roles; the fan-in is not used then
    #[arg(long, default_value_t = false)]
    pub one_per_node: bool,
    /// Members per node above the places
    #[arg(long, default_value_t = 16)]
    pub node_fan_in: u32,
    /// Calls of each rank
    #[arg(long, default_value_t = 20)]
    pub calls: u32,
    /// Questions asked
    #[arg(long, default_value_t = 0)]
    pub questions: u32,
    /// Commands given, repetitions included
    #[arg(long, default_value_t = 0)]
    pub commands: u32,
    /// The longest delay of a message, in microseconds
    #[arg(long, default_value_t = 100)]
    pub delay_us: u32,
    /// How far ahead a host's clock may be at the beginning, in milliseconds
    #[arg(long, default_value_t = 0)]
    pub offset_ms: u32,
    /// How much too fast or slow a host's clock may run, in parts per million; at most half of what
    /// two clocks may run apart
    #[arg(long, default_value_t = 0)]
    pub drift_ppm: u32,
    /// Tool processes that die
    #[arg(long, default_value_t = 0)]
    pub deaths: u32,
    /// Tool processes that stand still for a while and come back
    #[arg(long, default_value_t = 0)]
    pub stalls: u32,
    /// Tool processes that say something damaged or absurd
    #[arg(long, default_value_t = 0)]
    pub garbles: u32,
    /// Whether the root dies
    #[arg(long, default_value_t = false)]
    pub root_dies: bool,
    /// Whether the job starts with its ranks held right behind MPI_Init
    #[arg(long, default_value_t = false)]
    pub held: bool,
    /// A bug to plant, to see whether the checker finds it
    #[arg(long, value_enum)]
    pub plant: Option<Plant>,
}

impl Case {
    /// A case with parameters drawn from its seed. Two in five have no fault at all.
    pub fn of_seed(seed: u64) -> Case {
        let mut rng = stream(seed, "case");
        // Only without faults can the checker require every answer to be complete.
        let faulty = rng.u32(..5) >= 2;
        let mut few = |most: u32| if faulty { rng.u32(..=most) } else { 0 };
        let (deaths, stalls, garbles) = (few(2), few(2), few(2));
        let hosts = [1, 1, 1, 2, 3][rng.usize(..5)];
        let ranks = match rng.u32(..8) {
            // Seldom many: small jobs reach the odd shapes of trees, and run fast.
            0 => rng.u32(1..=160),
            _ => rng.u32(1..=32),
        };

        Case {
            seed,
            hosts,
            ranks_per_host: ranks.div_ceil(hosts),
            fan_in: rng.u32(1..=6),
            one_per_node: stream(seed, "one per node").u32(..3) == 0,
            node_fan_in: rng.u32(2..=5),
            calls: rng.u32(0..=80),
            questions: rng.u32(1..=10),
            commands: rng.u32(0..=8),
            // No delay at all makes messages tie, the longest reorders them between links.
            delay_us: [0, 100, 5_000, DELAY_US_MAX][rng.usize(..4)],
            offset_ms: [0, 1, 3_600_000][rng.usize(..3)],
            drift_ppm: [0, DRIFT_PPM_MAX][rng.usize(..2)],
            deaths,
            stalls,
            garbles,
            root_dies: faulty && rng.u32(..12) == 0,
            held: rng.u32(..5) == 0,
            plant: None,
        }
    }

    /// A case without a fault, of clients that give many commands, which take long to some of many
    /// places.
    pub fn of_clients(seed: u64) -> Case {
        Case {
            commands: 24,
            fan_in: 2,
            one_per_node: false,
            ranks_per_host: 12,
            delay_us: if seed.is_multiple_of(2) {
                100
            } else {
                DELAY_US_MAX
            },
            ..Case::of_seed(seed).healthy()
        }
    }

    /// The same without a fault.
    pub fn healthy(self) -> Case {
        Case {
            deaths: 0,
            stalls: 0,
            garbles: 0,
            root_dies: false,
            ..self
        }
    }

    /// Ranks of the application.
    pub fn ranks(&self) -> u32 {
        self.hosts * self.ranks_per_host
    }

    /// The tree.
    ///
    /// # Errors
    /// When the numbers make none.
    pub fn layout(&self) -> Result<Layout, LayoutError> {
        let policy = match self.hosts {
            1 => Policy::Tail,
            hosts => Policy::PerNode { hosts },
        };
        let fan_in = match self.one_per_node {
            true => FanIn::one_per_node(self.node_fan_in)?,
            false => FanIn::new(&[self.fan_in, self.node_fan_in])?,
        };
        Layout::for_app(self.ranks(), fan_in, policy)
    }

    /// Whether every answer has to be complete.
    pub fn is_faultless(&self) -> bool {
        *self == self.healthy()
    }

    /// Cases that are a little smaller in one respect.
    fn smaller(&self) -> impl Iterator<Item = Case> + use<> {
        let mut cases = vec![
            Case {
                root_dies: false,
                ..*self
            },
            Case {
                held: false,
                ..*self
            },
            Case {
                one_per_node: false,
                ..*self
            },
            Case { hosts: 1, ..*self },
        ];
        let fields: [fn(&mut Case) -> &mut u32; 10] = [
            |case| &mut case.ranks_per_host,
            |case| &mut case.hosts,
            |case| &mut case.calls,
            |case| &mut case.questions,
            |case| &mut case.commands,
            |case| &mut case.offset_ms,
            |case| &mut case.drift_ppm,
            |case| &mut case.deaths,
            |case| &mut case.stalls,
            |case| &mut case.garbles,
        ];
        // The largest steps first: most parameters have nothing to do with a failure.
        for fewer in [|_| 0, |n: u32| n / 2, |n: u32| n.saturating_sub(1)] {
            for field in fields {
                let mut case = *self;
                let value = field(&mut case);
                *value = fewer(*value);
                (case.hosts, case.ranks_per_host) = (case.hosts.max(1), case.ranks_per_host.max(1));
                cases.push(case);
            }
        }

        let me = *self;
        cases.into_iter().filter(move |case| *case != me)
    }

    /// The smallest case found, from this one on, that still fails.
    pub fn shrunk(self, fails: impl Fn(&Case) -> bool) -> Case {
        let mut case = self;
        while let Some(smaller) = case.smaller().find(&fails) {
            case = smaller;
        }
        case
    }
}

/// The longest delay that a message may have in a random case, in microseconds: several of them,
/// there and back, stay well below what a node grants each layer.
pub const DELAY_US_MAX: u32 = 100_000;
/// Half of what two clocks may run apart: each host's may be off to either side.
pub const DRIFT_PPM_MAX: u32 = (invivo_tbon::job_time::DRIFT_PPM / 2) as u32;

/// A stream of random numbers for one purpose, so that more of them here change nothing there.
pub fn stream(seed: u64, purpose: &str) -> Rng {
    let salt = purpose
        .bytes()
        // FNV-1a, fixed for ever: a seed of an old report must give the same case.
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    Rng::with_seed(seed ^ salt)
}

impl fmt::Display for Case {
    /// The command that runs this case.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cargo run -p invivo-sim -- job --seed {} --hosts {} --ranks-per-host {} --fan-in {} \
             --node-fan-in {} \
             --calls {} --questions {} --commands {} --delay-us {} --offset-ms {} --drift-ppm {} \
             --deaths {} \
             --stalls {} --garbles {}",
            self.seed,
            self.hosts,
            self.ranks_per_host,
            self.fan_in,
            self.node_fan_in,
            self.calls,
            self.questions,
            self.commands,
            self.delay_us,
            self.offset_ms,
            self.drift_ppm,
            self.deaths,
            self.stalls,
            self.garbles,
        )?;
        if self.root_dies {
            f.write_str(" --root-dies")?;
        }

        if self.held {
            f.write_str(" --held")?;
        }
        if self.one_per_node {
            f.write_str(" --one-per-node")?;
        }
        match self.plant {
            Some(plant) => write!(f, " --plant {plant}"),
            None => Ok(()),
        }
    }
}
