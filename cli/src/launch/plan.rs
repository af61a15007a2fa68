//! `invivo plan`: how many processes to ask for.

use super::say;
use clap::Args;
use invivo_tbon::layout::{FAN_IN_DEFAULT, Layout};
use serde_json::json;
use std::process::ExitCode;

/// Print how many processes each layer needs and the total to ask for.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  invivo plan -n 128
  sbatch --ntasks=$(invivo plan -n 128 --json | jq .total) job.sh")]
pub struct PlanArgs {
    /// Ranks of the application.
    #[arg(short = 'n', long = "ranks", value_name = "N")]
    ranks: u32,
    /// Ranks that one tool place takes.
    #[arg(long, value_name = "F", default_value_t = FAN_IN_DEFAULT)]
    fan_in: u32,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Does it.
pub fn plan(args: PlanArgs) -> ExitCode {
    match Layout::for_app(args.ranks, args.fan_in) {
        Ok(layout) if args.json => println!("{}", as_json(&layout)),
        Ok(layout) => print!("{}", as_text(&layout)),
        Err(error) => {
            say(&error.to_string());
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// A number of things: `1 rank`, `2 ranks`.
pub fn counted(number: u32, singular: &str) -> String {
    format!("{number} {singular}{}", if number == 1 { "" } else { "s" })
}

/// `4 ranks + 1 tool place + 1 root`.
pub fn sum(layout: &Layout) -> String {
    let inner = match layout.nodes() - 1 {
        0 => String::new(),
        nodes => format!(" + {}", counted(nodes, "analysis node")),
    };
    format!(
        "{} + {}{inner} + 1 root",
        counted(layout.app(), "rank"),
        counted(layout.places(), "tool place")
    )
}

fn as_text(layout: &Layout) -> String {
    let mut text = String::new();
    for layer in layout.layers() {
        text += &format!(
            "layer {}  {:<18}{:>10}\n",
            layer.number, layer.name, layer.processes
        );
    }
    text += &format!("total    {:<18}{:>10}\n\n", "to ask for", layout.total());
    let fan_in = match layout.fan_in() {
        FAN_IN_DEFAULT => String::new(),
        fan_in => format!(" --fan-in {fan_in}"),
    };
    text += &format!("invivo run{fan_in} -- mpiexec -n {} ./app\n", layout.app());
    text += &format!("mpiexec -n {} invivo exec{fan_in} -- ./app\n", layout.total());
    text
}

fn as_json(layout: &Layout) -> serde_json::Value {
    json!({
        "ranks": layout.app(),
        "tool_places": layout.places(),
        "analysis_nodes": layout.nodes(),
        "total": layout.total(),
        "fan_in": layout.fan_in(),
        "layers": layout.layers().map(|layer| json!({
            "layer": layer.number, "name": layer.name, "processes": layer.processes,
        })).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_names_every_layer_and_both_commands() {
        let layout = Layout::for_app(8, 4).expect("a layout");
        let text = as_text(&layout);
        for part in [
            "application ranks          8\n",
            "tool places                2\n",
            "11\n",
            "mpiexec -n 8 ./app",
            "mpiexec -n 11 invivo",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
        assert_eq!(sum(&layout), "8 ranks + 2 tool places + 1 root");
        assert_eq!(
            sum(&Layout::for_app(1, 4).expect("a layout")),
            "1 rank + 1 tool place + 1 root"
        );
        let json = as_json(&Layout::for_app(128, 16).expect("a layout"));
        assert_eq!(
            (json["total"].as_u64(), json["tool_places"].as_u64()),
            (Some(137), Some(8))
        );
    }
}
