//! Benches what a recorded call costs on top of the call.
//!
//! A program of cheap calls runs alone, under a wrapper that only passes calls on, under one that
//! takes two time stamps, under Invivo with recording off and in full (packets consumed), and under
//! EZTrace, an event tracer, where it is installed; on both of Debian's MPIs.
//! All are run in turn, so that a busy moment of the machine meets all of them, and what a tool
//! adds is computed within one turn.
//!
//! Where there are more processes than cores, Open MPI yields the processor whenever it looks for
//! messages and finds none: half a microsecond in each `MPI_Iprobe`. The tool processes must not
//! bring that on, or the figure would be about the number of cores; so it is switched off in all of
//! them.

mod programs;
mod tool;

use super::effort::Effort;
use super::machine::Beside;
use super::mpi::{MPIS, Mpi};
use super::results::write_table;
use super::statistics::{Median, differences};
use anyhow::{Context, Result, ensure};
use programs::Programs;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tool::Tool;

/// Turns in a short and in a full bench: bounds of so many are those of 95 %.
const TURNS: (usize, usize) = (5, 15);
/// Measured loops in each run, of 20,000 calls mostly.
const BATCHES: &str = "8";
/// Single calls that are timed for their distribution: some hundred packets' worth.
const SINGLE: &str = "2000000";
/// The kinds of calls as xtask/bench/calls.c names them, with what one of them is.
const KINDS: [(&str, &str); 7] = [
    ("iprobe", "MPI_Iprobe"),
    ("sendrecv", "MPI_Sendrecv to itself"),
    ("waitall", "MPI_Irecv, MPI_Isend, MPI_Waitall, each"),
    ("crowd", "a request in MPI_Waitall on 1,000"),
    ("allreduce", "MPI_Allreduce on MPI_COMM_SELF"),
    ("rank", "MPI_Comm_rank, which is not recorded"),
    ("pingpong", "a message, sent and received"),
];

const TOOLS: [Tool; 6] = [
    Tool::Bare,
    Tool::Pass,
    Tool::Stamps,
    Tool::Off,
    Tool::On,
    Tool::Eztrace,
];

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Tool::Bare => "bare",
            Tool::Pass => "wrapper",
            Tool::Stamps => "two stamps",
            Tool::Off => "recording off",
            Tool::On => "recorded",
            Tool::Eztrace => "EZTrace",
        }
    }
}

/// Measures, prints and writes one table.
pub fn run(effort: &Effort) -> Result<()> {
    let turns = effort.turns(TURNS);
    let beside = Beside::begin();
    let mut rows = Vec::new();
    for mpi in MPIS {
        let programs = Programs::new(mpi)?;
        rows.extend(loops(&programs, turns)?);
        rows.extend(single(&programs, turns.div_ceil(2))?);
    }
    print(&rows);
    let about = "ns that a call takes more than in the bare run of the same turn, on the wall and \
        of the thread: medians over \
                 turns of the medians of a run's loops. Two ranks, of which one works (both in \
                 ping-pong). wrapper: a \
                 preloaded library that only passes calls on; two stamps: one that reads the time \
                 stamp counter before and \
                 after; recorded: the full configuration, packets consumed, every call in the \
                 report. Packet switch: the \
                 median of as many of the slowest single calls as packets were filled.";
    write_table("shim", about, effort, &beside, &rows)
}

/// The tools that there are for an MPI.
fn tools(mpi: Mpi) -> impl Iterator<Item = Tool> {
    let is_there = move |tool: &Tool| *tool != Tool::Eztrace || mpi.eztrace().is_some();
    TOOLS.into_iter().filter(is_there)
}

/// Every kind under every tool.
fn loops(programs: &Programs, turns: usize) -> Result<Vec<Value>> {
    let tools: Vec<Tool> = tools(programs.mpi).collect();
    let mut all: BTreeMap<(&str, Tool), Vec<(f64, f64)>> = BTreeMap::new();
    for turn in 0..turns {
        // Each turn begins with another tool: whichever runs first in a turn must not always be the
        // same.
        for at in 0..tools.len() {
            let tool = tools[(at + turn) % tools.len()];

            for mode in [["loops", BATCHES], ["pingpong", BATCHES]] {
                let said = programs.run(tool, mode)?;
                for (kind, _) in KINDS {
                    // A kind belongs to one of the two modes and is empty in the other.
                    let of_kind = said.ns(kind).into_iter();
                    all.entry((kind, tool)).or_default().extend(of_kind);
                }
            }
        }
    }

    let mut rows = Vec::new();
    for (kind, about) in KINDS {
        let bare = all.get(&(kind, Tool::Bare)).context(kind)?;
        for tool in &tools {
            let with = all.get(&(kind, *tool)).context(kind)?;
            ensure!(
                with.len() == turns,
                "{kind} was measured {} times",
                with.len()
            );

            let pairs = |of: fn(&(f64, f64)) -> f64| -> Vec<(f64, f64)> {
                bare.iter().map(of).zip(with.iter().map(of)).collect()
            };
            let wall: Vec<f64> = with.iter().map(|time| time.0).collect();
            rows.push(json!({
                "mpi": programs.mpi.title, "kind": kind, "about": about, "tool": tool.name(),
                "ns": Median::of(&wall)?.json(),
                "added_ns": Median::of(&differences(&pairs(|time| time.0)))?.json(),
                "added_cpu_ns": Median::of(&differences(&pairs(|time| time.1)))?.json(),
            }));
        }
    }
    Ok(rows)
}

/// Benches the distribution of single calls, bare, between two stamps, and recorded; and the switch
/// to the next packet.
fn single(programs: &Programs, turns: usize) -> Result<Vec<Value>> {
    let mut all: BTreeMap<(Tool, &str), Vec<f64>> = BTreeMap::new();
    let mut switches = Vec::new();
    for _ in 0..turns {
        let run = |tool| programs.run(tool, ["each", SINGLE]);
        let (bare, stamped, on) = (run(Tool::Bare)?, run(Tool::Stamps)?, run(Tool::On)?);
        // With few packets the median of their switches would mean little.
        ensure!(on.packets > 10, "{} packets only were filled", on.packets);
        // In the bare run as many of the slowest calls: what interrupts a rank is in both.
        switches.push((bare.switch_ns(on.packets)?, on.switch_ns(on.packets)?));

        for (tool, said) in [(Tool::Bare, bare), (Tool::Stamps, stamped), (Tool::On, on)] {
            for part in ["0.5", "0.99", "0.999", "0.9999"] {
                let ns = *said.quantiles.get(part).context(part)?;
                all.entry((tool, part)).or_default().push(ns);
            }
        }
    }

    let mut rows = Vec::new();
    for ((tool, part), values) in &all {
        let bare = &all[&(Tool::Bare, *part)];
        let pairs: Vec<(f64, f64)> = bare.iter().copied().zip(values.iter().copied()).collect();
        rows.push(json!({
            "mpi": programs.mpi.title, "kind": format!("single {part}"), "tool": tool.name(),
            "about": format!("single calls of MPI_Iprobe: as long or shorter are {part} of them"),
            "ns": Median::of(values)?.json(), "added_ns": Median::of(&differences(&pairs))?.json(),
        }));
    }

    let with: Vec<f64> = switches.iter().map(|pair| pair.1).collect();
    rows.push(json!({
        "mpi": programs.mpi.title, "kind": "packet switch", "tool": Tool::On.name(),
        "about": "a call that fills a packet, sends it and opens the next",
        "ns": Median::of(&with)?.json(), "added_ns": Median::of(&differences(&switches))?.json(),
    }));
    Ok(rows)
}

fn print(rows: &[Value]) {
    println!(
        "{:<9} {:<14} {:<14}{:>10}{:>10}  {:<18}{:>10}",
        "MPI", "kind", "tool", "ns", "added ns", "bounds", "of thread"
    );
    for row in rows {
        let word = |name: &str| row[name].as_str().unwrap_or("").to_owned();
        let number = |of: &str, name: &str| row[of][name].as_f64();
        let shown =
            |of: &str, name: &str| number(of, name).map_or(String::new(), |ns| format!("{ns:.1}"));
        let bounds = format!(
            "{} .. {}",
            shown("added_ns", "low"),
            shown("added_ns", "high")
        );
        println!(
            "{:<9} {:<14} {:<14}{:>10}{:>10}  {bounds:<18}{:>10}",
            word("mpi"),
            word("kind"),
            word("tool"),
            shown("ns", "median"),
            shown("added_ns", "median"),
            shown("added_cpu_ns", "median")
        );
    }
}
