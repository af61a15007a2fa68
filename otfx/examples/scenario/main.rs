//! Plays the published scenarios of adaptive sampling and prints a table and a plot beside what was
//! published.

mod model;

use model::{BUFFER_BYTES, Outcome, RUN_S, SCENARIOS, Scenario};

/// Lines of the plot.
const LINES: u64 = 10;

fn main() {
    println!(
        "   sample  events  halvings     end Hz  samples kept    revoked at most  events dropped at"
    );
    let played = SCENARIOS.map(|scenario| {
        let outcome = model::play(&scenario);
        row(&scenario, &outcome);
        (scenario, outcome)
    });
    for (scenario, outcome) in &played {
        plot(scenario, outcome);
    }
}

fn row(scenario: &Scenario, outcome: &Outcome) {
    println!(
        "{}  published: {:.4} Hz at the end, events dropped at {}",
        scenario.name,
        scenario.end_hz,
        scenario
            .drop_s
            .map_or_else(|| "never".to_owned(), |s| clock(s as f64)),
    );
    println!(
        "{}  {:>4} B  {:>2} kB/s  {:>8}  {:>9.4}  {:>9} {:>4.1} MB  {:>13.1} %  {}",
        scenario.name,
        scenario.sample_bytes,
        scenario.event_bytes_per_s / 1000,
        outcome.halvings_s.len(),
        outcome.end_hz,
        outcome.samples,
        outcome.sample_bytes as f64 / 1e6,
        100.0 * outcome.revoked_max,
        outcome.drop_s.map_or_else(|| "never".to_owned(), clock),
    );
    for (index, at) in outcome.halvings_s.iter().enumerate() {
        let published = scenario.halvings_s.get(index).map(|s| *s as f64);
        let difference =
            published.map_or(f64::NAN, |published| 100.0 * (at - published) / published);
        println!(
            "   halving {} at {}  ({difference:+.2} % of what was published)",
            index + 1,
            clock(*at)
        );
    }
}

/// Samples `#` and events `e` over the run, from empty to full.
fn plot(scenario: &Scenario, outcome: &Outcome) {
    println!(
        "\nscenario {}: 100 MB of samples (#) and events (e) over four hours",
        scenario.name
    );
    for line in (0..LINES).rev() {
        let level = BUFFER_BYTES as u64 * (2 * line + 1) / (2 * LINES);
        let drawn: String = outcome
            .curve
            .iter()
            .map(|(samples, events)| match level {
                level if level < *events => 'e',
                level if level < samples + events => '#',
                _ => ' ',
            })
            .collect();
        println!(
            "{:>4} MB |{drawn}",
            BUFFER_BYTES as u64 / LINES * (line + 1) / 1_000_000
        );
    }
    let hours: String = (0..RUN_S / 3600)
        .map(|hour| format!("{:<18}", format!("{hour} h")))
        .collect();
    println!(
        "        +{}\n         {hours}4 h",
        "-".repeat(outcome.curve.len())
    );
}

fn clock(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    format!("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
}
