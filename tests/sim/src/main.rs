//! Runs one simulated job and prints a line per event.

use clap::{ArgAction, Parser};
use invivo_sim::case::Case;
use invivo_sim::plant::Plant;
use invivo_sim::{checker, simulation};
use std::process::ExitCode;

/// Runs one simulated job and prints a line per event: time in seconds, sender, receiver, message. T is a tool
/// place, N an analysis node, R the root, A a rank of the application; numbers are world ranks. At the end
/// stands what did not hold; the exit status is 1 if there is anything.
///
/// What is not given is drawn from the seed, as the tests do.
#[derive(Debug, Parser)]
#[command(name = "sim")]
struct Arguments {
    /// Decides all that is random.
    #[arg(long)]
    seed: u64,
    /// Ranks of the application.
    #[arg(long)]
    ranks: Option<u32>,
    /// Ranks per place.
    #[arg(long)]
    fan_in: Option<u32>,
    /// Members per node above the places, at least 2.
    #[arg(long)]
    node_fan_in: Option<u32>,
    /// Calls of each rank.
    #[arg(long)]
    calls: Option<u32>,
    /// Questions asked.
    #[arg(long)]
    questions: Option<u32>,
    /// Commands given, repetitions included.
    #[arg(long)]
    commands: Option<u32>,
    /// The longest delay of a message, in microseconds.
    #[arg(long)]
    delay_us: Option<u32>,
    /// Tool processes that die.
    #[arg(long)]
    deaths: Option<u32>,
    /// Tool processes that stand still for a while.
    #[arg(long)]
    stalls: Option<u32>,
    /// Tool processes that say something damaged or absurd.
    #[arg(long)]
    garbles: Option<u32>,
    /// Whether the root dies.
    #[arg(long, action = ArgAction::Set)]
    root_dies: Option<bool>,
    /// A bug to plant: the checker must find it.
    #[arg(long, value_enum)]
    plant: Option<Plant>,
    /// Print only what did not hold.
    #[arg(long)]
    quiet: bool,
}

impl Arguments {
    fn case(&self) -> Case {
        let drawn = Case::of_seed(self.seed);
        Case {
            seed: self.seed,
            ranks: self.ranks.unwrap_or(drawn.ranks),
            fan_in: self.fan_in.unwrap_or(drawn.fan_in),
            node_fan_in: self.node_fan_in.unwrap_or(drawn.node_fan_in),
            calls: self.calls.unwrap_or(drawn.calls),
            questions: self.questions.unwrap_or(drawn.questions),
            commands: self.commands.unwrap_or(drawn.commands),
            delay_us: self.delay_us.unwrap_or(drawn.delay_us),
            deaths: self.deaths.unwrap_or(drawn.deaths),
            stalls: self.stalls.unwrap_or(drawn.stalls),
            garbles: self.garbles.unwrap_or(drawn.garbles),
            root_dies: self.root_dies.unwrap_or(drawn.root_dies),
            plant: self.plant,
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let case = arguments.case();
    println!("# {case}");
    let (layout, history) = match simulation::run(&case, !arguments.quiet) {
        Ok(ran) => ran,
        Err(error) => {
            eprintln!("sim: {error}");
            return ExitCode::from(2);
        }
    };
    let violations = checker::violations(&case, &layout, &history);
    for violation in &violations {
        println!("# does not hold: {violation}");
    }
    if violations.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
