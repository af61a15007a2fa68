//! The tables and charts of the page on performance, section by section.

mod cells;
mod jobs;
mod overhead;
mod place;
mod probe;
mod programs;
mod shim;
mod tools;

use super::section::{Runs, Section};
use std::fmt::Write as _;

/// All sections, in the order of the page.
pub const ALL: &[Section] = &[
    Section {
        name: "shim",
        others_max: f64::MAX,
        text: shim::shim,
        charts: shim::shim_charts,
    },
    Section {
        name: "probe",
        others_max: f64::MAX,
        text: probe::probe,
        charts: |_| Ok(Vec::new()),
    },
    Section {
        name: "place",
        others_max: f64::MAX,
        text: place::place,
        charts: place::place_charts,
    },
    Section {
        name: "bytes",
        others_max: f64::MAX,
        text: jobs::bytes,
        charts: |_| Ok(Vec::new()),
    },
    Section {
        name: "rates",
        others_max: 0.5,
        text: programs::of_programs,
        charts: programs::rates_charts,
    },
    Section {
        name: "latency",
        others_max: 0.5,
        text: programs::latency,
        charts: |_| Ok(Vec::new()),
    },
    Section {
        name: "profile",
        others_max: 0.5,
        text: tools::profile,
        charts: |_| Ok(Vec::new()),
    },
    Section {
        name: "idle",
        others_max: 0.5,
        text: tools::idle,
        charts: |_| Ok(Vec::new()),
    },
    Section {
        name: "apps",
        others_max: 0.5,
        text: programs::of_programs,
        charts: programs::apps_charts,
    },
    Section {
        name: "overhead",
        others_max: 0.5,
        text: overhead::overhead,
        charts: |_| Ok(Vec::new()),
    },
    Section {
        name: "startup",
        others_max: f64::MAX,
        text: jobs::startup,
        charts: |_| Ok(Vec::new()),
    },
    Section {
        name: "tree",
        others_max: f64::MAX,
        text: jobs::tree,
        charts: |_| Ok(Vec::new()),
    },
];

/// The lines below each section's tables: when and on which machine each run was made.
pub fn where_and_when(runs: &Runs) -> String {
    let mut text = String::new();
    // The newest first, as in the tables.
    for run in runs.iter().rev() {
        let machine = &run["machine"];
        let word = |name: &str| machine[name].as_str().unwrap_or("unknown").to_owned();
        let kind = if machine["is_virtual"] == true {
            "virtual, "
        } else {
            ""
        };

        let _ = writeln!(
            text,
            "- {} run of {} at commit {}: {} ({kind}{} cores, {:.0} GiB), {}, Linux {}; others \
             used {:.2} cores meanwhile.",
            if run["full"] == true { "Full" } else { "Short" },
            word("date"),
            word("commit"),
            word("cpu"),
            machine["cores"],
            machine["memory_gib"].as_f64().unwrap_or(0.0),
            word("system"),
            word("kernel"),
            run["beside"]["cores_used_by_others"]
                .as_f64()
                .unwrap_or(0.0)
        );
    }
    format!("\n{text}")
}
