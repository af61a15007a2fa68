//! Runs one simulated job and prints a line per event, or trees up to a million ranks and prints a
//! line per tree, or answers a gateway as such a tree's root.

use clap::{Parser, Subcommand};
use invivo_sim::case::Case;
use invivo_sim::{checker, scale, served, simulation};
use std::path::PathBuf;
use std::process::ExitCode;

/// Whole trees simulated in one process. The exit status is 1 if something does not hold.
#[derive(Debug, Parser)]
#[command(name = "sim")]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Run one simulated job and print a line per event: time in seconds, sender, receiver,
    /// message. T is a tool place, N an analysis node, R the root, A a rank of the application;
    /// numbers are world ranks. At the end stands what did not hold
    Job {
        #[command(flatten)]
        case: Case,
        /// Print only what did not hold
        #[arg(long)]
        quiet: bool,
    },
    /// Run the random jobs of these seeds, and print the command that reruns the first that fails
    Campaign {
        /// The first seed
        #[arg(long, default_value_t = 0)]
        from: u64,
        /// How many
        #[arg(long, default_value_t = 10_000)]
        count: u64,
    },
    /// Run trees of 1,024 to 1,048,576 ranks, compare their answers with the closed form, and print
    /// a table
    Scale {
        /// Only the tree of so many ranks
        #[arg(long)]
        ranks: Option<u32>,
        /// Trees on nodes of different sizes up to so many ranks only: the largest takes longer
        /// than all others together
        #[arg(long, default_value_t = u32::MAX)]
        uneven_max: u32,
        /// Decides all that is random
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Answer a gateway as the root of a large tree does, until killed
    Serve {
        /// Ranks of the job
        #[arg(long)]
        ranks: u32,
        /// Fan-in of its layers
        #[arg(long, default_value = "64,64")]
        fan_in: String,
        /// Decides all that is random
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Gets connect.json; the sockets are there too
        directory: PathBuf,
    },
}

fn main() -> ExitCode {
    match Arguments::parse().what {
        What::Job { case, quiet } => job(&case, quiet),
        What::Campaign { from, count } => campaign(from, count),
        What::Scale {
            ranks,
            uneven_max,
            seed,
        } => run_scale(ranks, uneven_max, seed),
        What::Serve {
            ranks,
            fan_in,
            seed,
            directory,
        } => match served::serve(ranks, &fan_in, seed, &directory) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("sim: {error}");
                ExitCode::from(2)
            }
        },
    }
}

fn status(holds: bool) -> ExitCode {
    if holds {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn job(case: &Case, quiet: bool) -> ExitCode {
    println!("# {case}");
    let (layout, history) = match simulation::run(case, !quiet) {
        Ok(ran) => ran,
        Err(error) => {
            eprintln!("sim: {error}");
            return ExitCode::from(2);
        }
    };
    let violations = checker::violations(case, &layout, &history);
    for violation in &violations {
        println!("# does not hold: {violation}");
    }
    status(violations.is_empty())
}

fn campaign(from: u64, count: u64) -> ExitCode {
    for seed in from..from.saturating_add(count) {
        if let Err(failure) = checker::hold(&Case::of_seed(seed)) {
            println!("{failure}");
            return ExitCode::FAILURE;
        }
    }
    println!("{count} jobs from seed {from} keep their promises");
    ExitCode::SUCCESS
}

fn run_scale(ranks: Option<u32>, uneven_max: u32, seed: u64) -> ExitCode {
    println!("# cargo run --release -p invivo-sim -- scale --seed {seed}");
    println!("{}", scale::HEAD);
    let mut all = Vec::new();
    for (size, fan_in) in scale::SIZES {
        if ranks.is_some_and(|ranks| ranks != size) {
            continue;
        }
        match scale::run(size, fan_in, seed) {
            Ok(measured) => {
                println!("{measured}");
                all.push(measured);
            }
            Err(error) => {
                eprintln!("sim: {error}");
                return ExitCode::from(2);
            }
        }
    }

    // Compared by themselves: ranks in no order are in all blocks of the matrix below every member.
    let mut in_no_order = Vec::new();
    let is_asked = |size| size <= uneven_max && ranks.is_none_or(|ranks| ranks == size);
    for (size, nodes, fan_in) in scale::UNEVEN.into_iter().filter(|one| is_asked(one.0)) {
        match scale::run_uneven(size, nodes, fan_in, seed) {
            Ok(measured) => {
                println!("{measured}");
                in_no_order.push(measured);
            }
            Err(error) => {
                eprintln!("sim: {error}");
                return ExitCode::from(2);
            }
        }
    }

    if all.is_empty() {
        eprintln!("sim: sizes are {:?}", scale::SIZES.map(|(size, _)| size));
        return ExitCode::from(2);
    }

    if let Some(bytes) = scale::peak_resident_bytes() {
        println!(
            "# peak resident: {:.2} GiB",
            bytes as f64 / (1u64 << 30) as f64
        );
    }

    let mut violations = scale::compare(&all, scale::Order::Blocks);
    violations.extend(scale::compare(&in_no_order, scale::Order::None));
    for violation in &violations {
        println!("# does not hold: {violation}");
    }

    status(violations.is_empty())
}
