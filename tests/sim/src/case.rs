//! One case: everything that decides what happens.

use crate::plant::Plant;
use fastrand::Rng;
use invivo_tbon::layout::{Layout, LayoutError};
use std::fmt;

/// The parameters of one simulated job. The same parameters always give the same events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Decides all that is random.
    pub seed: u64,
    /// Ranks of the application.
    pub ranks: u32,
    /// Ranks per place.
    pub fan_in: u32,
    /// Members per node above the places.
    pub node_fan_in: u32,
    /// Calls of each rank.
    pub calls: u32,
    /// Questions asked.
    pub questions: u32,
    /// Commands given, repetitions included.
    pub commands: u32,
    /// The longest delay of a message, in microseconds.
    pub delay_us: u32,
    /// Tool processes that die.
    pub deaths: u32,
    /// Tool processes that stand still for a while.
    pub stalls: u32,
    /// Tool processes that say something damaged or absurd.
    pub garbles: u32,
    /// Whether the root dies.
    pub root_dies: bool,
    /// A bug planted to see whether the checker finds it.
    pub plant: Option<Plant>,
}

impl Case {
    /// A case with parameters drawn from its seed. Two in five have no fault at all.
    pub fn of_seed(seed: u64) -> Case {
        let mut rng = stream(seed, "case");
        let faulty = rng.u32(..5) >= 2;
        let mut few = |most: u32| if faulty { rng.u32(..=most) } else { 0 };
        let (deaths, stalls, garbles) = (few(2), few(2), few(2));
        Case {
            seed,
            ranks: if rng.u32(..8) == 0 {
                rng.u32(1..=160)
            } else {
                rng.u32(1..=32)
            },
            fan_in: rng.u32(1..=6),
            node_fan_in: rng.u32(2..=5),
            calls: rng.u32(0..=40),
            questions: rng.u32(1..=10),
            commands: rng.u32(0..=6),
            delay_us: [0, 100, 5_000, DELAY_US_MAX][rng.usize(..4)],
            deaths,
            stalls,
            garbles,
            root_dies: faulty && rng.u32(..12) == 0,
            plant: None,
        }
    }

    /// The tree.
    ///
    /// # Errors
    /// When the numbers make none.
    pub fn layout(&self) -> Result<Layout, LayoutError> {
        Layout::for_app(self.ranks, self.fan_in)?.with_node_fan_in(self.node_fan_in)
    }

    /// Whether every answer has to be complete.
    pub fn is_faultless(&self) -> bool {
        self.deaths == 0 && self.stalls == 0 && self.garbles == 0 && !self.root_dies
    }

    /// Cases that are a little smaller in one respect.
    fn smaller(&self) -> impl Iterator<Item = Case> + use<> {
        let mut cases = vec![Case {
            root_dies: false,
            ..*self
        }];
        for fewer in [|n: u32| n / 2, |n: u32| n.saturating_sub(1)] {
            cases.extend([
                Case {
                    ranks: fewer(self.ranks).max(1),
                    ..*self
                },
                Case {
                    calls: fewer(self.calls),
                    ..*self
                },
                Case {
                    questions: fewer(self.questions),
                    ..*self
                },
                Case {
                    commands: fewer(self.commands),
                    ..*self
                },
                Case {
                    deaths: fewer(self.deaths),
                    ..*self
                },
                Case {
                    stalls: fewer(self.stalls),
                    ..*self
                },
                Case {
                    garbles: fewer(self.garbles),
                    ..*self
                },
            ]);
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

/// The longest delay that a message may have in a random case, in microseconds: several of them, there and
/// back, stay well below what a node grants each layer.
pub const DELAY_US_MAX: u32 = 100_000;

/// A stream of random numbers for one purpose, so that more of them here change nothing there.
pub fn stream(seed: u64, purpose: &str) -> Rng {
    let salt = purpose.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    Rng::with_seed(seed ^ salt)
}

impl fmt::Display for Case {
    /// The command that runs this case.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cargo run -p invivo-sim -- --seed {} --ranks {} --fan-in {} --node-fan-in {} --calls {} --questions {} \
             --commands {} --delay-us {} --deaths {} --stalls {} --garbles {} --root-dies {}",
            self.seed,
            self.ranks,
            self.fan_in,
            self.node_fan_in,
            self.calls,
            self.questions,
            self.commands,
            self.delay_us,
            self.deaths,
            self.stalls,
            self.garbles,
            self.root_dies,
        )?;
        match self.plant {
            Some(plant) => write!(f, " --plant {plant}"),
            None => Ok(()),
        }
    }
}
