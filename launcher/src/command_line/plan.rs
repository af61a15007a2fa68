//! `invivo plan`: how many processes to ask for.

use crate::output::{print, say};
use clap::Args;
use invivo_config::{Flags, Value};
use invivo_tbon::layout::{FanIn, Layout, Policy};
use serde_json::json;
use std::process::ExitCode;

/// Print how many processes each layer needs and the total to ask for.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  invivo plan -n 128
  invivo plan -n 128 --nodes 4       with the lines of a host file for Open MPI and MPICH
  sbatch --ntasks=$(invivo plan -n 128 --json | jq .total) job.sh")]
pub struct PlanArgs {
    /// Ranks of the application.
    #[arg(short = 'n', long = "ranks", value_name = "N")]
    ranks: u32,
    /// `node` for one tool process per node, or ranks per tool place, then members per analysis
    /// node, each a process; the last number repeats [default: node,16]
    #[arg(long, value_name = "F[,F]", value_parser = <FanIn as Value>::parse)]
    fan_in: Option<FanIn>,
    /// Nodes of the job.
    #[arg(long, value_name = "H", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..))]
    nodes: u32,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Prints the numbers of processes.
pub fn plan(args: PlanArgs) -> ExitCode {
    match layout(&args) {
        Ok(layout) if args.json => print(&format!("{}\n", as_json(&layout))),
        Ok(layout) => print(&as_text(&layout)),
        Err(why) => {
            say(&why);
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// The layout, with the fan-in of the configuration that holds here.
fn layout(args: &PlanArgs) -> Result<Layout, String> {
    let flags = Flags {
        fan_in: args.fan_in,
        ..Flags::default()
    };
    let config = invivo_config::effective(&flags).map_err(|error| error.to_string())?;
    let policy = match args.nodes {
        1 => Policy::Tail,
        hosts => Policy::PerNode { hosts },
    };
    Layout::for_app(args.ranks, *config.fan_in, policy).map_err(|error| error.to_string())
}

/// A number of things: `1 rank`, `2 ranks`.
pub fn counted(number: u32, singular: &str) -> String {
    let plural = match number {
        1 => "",
        _ if singular.ends_with('s') => "es",
        _ => "s",
    };
    format!("{number} {singular}{plural}")
}

/// `4 ranks + 1 tool process`, or `4 ranks + 1 tool place + 1 root`.
pub fn sum(layout: &Layout) -> String {
    if layout.is_one_per_node() {
        let tools = counted(layout.total() - layout.app(), "tool process");
        return format!("{} + {}", counted(layout.app(), "rank"), tools);
    }
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

/// Nodes whose lines of a host file are all printed; of more, the first and the last.
const LINES_MAX: u32 = 8;

fn as_text(layout: &Layout) -> String {
    let mut text = String::new();
    for layer in layout.layers() {
        text += &format!(
            "layer {}  {:<18}{:>10}\n",
            layer.number, layer.name, layer.members
        );
    }
    if layout.is_one_per_node() {
        let tools = layout.total() - layout.app();
        let tools = counted(tools, "tool process");
        text += &format!("layers 1 and up {tools:>18}  one per node\n");
    }
    text += &format!("total    {:<18}{:>10}\n\n", "to ask for", layout.total());
    let mut options = String::new();
    // Only what differs from the defaults: the printed line is meant to be typed.
    if layout.fan_in() != FanIn::default() {
        options += &format!(" --fan-in {}", layout.fan_in());
    }
    let mut launcher = "mpiexec".to_owned();
    if layout.hosts() > 1 {
        text += &host_files(layout);
        options += &format!(" --nodes {}", layout.hosts());
        launcher += " --hostfile FILE";
    }
    text += &format!(
        "invivo run{options} -- {launcher} -n {} ./app\n",
        layout.app()
    );
    text += &format!(
        "{launcher} -n {} invivo exec{options} -- ./app\n",
        layout.total()
    );
    text
}

/// Processes of every node but the last one, and of the last one.
fn per_node(layout: &Layout) -> (u32, u32) {
    let each = layout.processes_per_host();
    (each, layout.total() - each * (layout.hosts() - 1))
}

/// Lines of a host file, one node after the other.
fn host_files(layout: &Layout) -> String {
    let (hosts, (each, last)) = (layout.hosts(), per_node(layout));
    let columns = |left: String, right: String| format!("{left:<34}{right}\n");
    let line = |node: u32| {
        let processes = if node == hosts { last } else { each };
        columns(
            format!("NODE{node} slots={processes}"),
            format!("NODE{node}:{processes}"),
        )
    };
    let mut text = columns(
        "host file for Open MPI:".into(),
        "for MPICH (-f FILE):".into(),
    );
    if hosts <= LINES_MAX {
        text.extend((1..=hosts).map(line));
    } else {
        let others = format!("... the same for NODE2 to NODE{}", hosts - 1);
        text += &format!("{}{others}\n{}", line(1), line(hosts));
    }
    text + "\n"
}

fn as_json(layout: &Layout) -> serde_json::Value {
    let (each, last) = per_node(layout);
    json!({
        "ranks": layout.app(),
        "tool_places": layout.places(),
        "analysis_nodes": layout.nodes(),
        "tool_processes": layout.total() - layout.app(),
        "total": layout.total(),
        "fan_in": layout.fan_in().to_string(),
        "nodes": layout.hosts(),
        "processes_per_node": each,
        "processes_on_last_node": last,
        "layers": layout.layers().map(|layer| json!({
            "layer": layer.number, "name": layer.name, "members": layer.members,
        })).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(ranks: u32, fan_in: &str, nodes: u32) -> Layout {
        let policy = match nodes {
            1 => Policy::Tail,
            hosts => Policy::PerNode { hosts },
        };
        Layout::for_app(ranks, fan_in.parse().expect("a fan-in"), policy).expect("a layout")
    }

    #[test]
    fn a_plan_names_every_layer_and_both_commands() {
        let text = as_text(&layout(8, "64", 1));
        for part in [
            "application ranks          8\n",
            "tool places                1\n",
            "10\n",
            "invivo run --fan-in 64,16 -- mpiexec -n 8 ./app",
            "mpiexec -n 10 invivo exec --fan-in 64,16 -- ./app",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
        assert_eq!(sum(&layout(8, "4", 1)), "8 ranks + 2 tool places + 1 root");
        assert_eq!(sum(&layout(1, "4", 1)), "1 rank + 1 tool place + 1 root");
        assert_eq!(
            sum(&layout(8, "2,2", 1)),
            "8 ranks + 4 tool places + 2 analysis nodes + 1 root"
        );
        assert_eq!(sum(&layout(8, "node", 1)), "8 ranks + 1 tool process");
        assert_eq!(sum(&layout(8, "node", 2)), "8 ranks + 2 tool processes");
        let json = as_json(&layout(128, "16", 1));
        assert_eq!(
            (json["total"].as_u64(), json["tool_places"].as_u64()),
            (Some(137), Some(8))
        );
    }

    /// The default: the roles are listed, and one process has them all.
    #[test]
    fn a_plan_with_one_tool_process_per_node_says_so() {
        let text = as_text(&layout(4, "node", 1));
        for part in [
            "layer 1  tool places                1\n",
            "layer 2  root                       1\n",
            "layers 1 and up     1 tool process  one per node\n",
            "total    to ask for                 5\n",
            "invivo run -- mpiexec -n 4 ./app\n",
            "mpiexec -n 5 invivo exec -- ./app\n",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
        let json = as_json(&layout(8, "node", 2));
        assert_eq!(json["tool_processes"], 2);
        assert_eq!(json["processes_per_node"], 5);
        assert_eq!(json["processes_on_last_node"], 5);
    }

    #[test]
    fn several_nodes_are_planned_with_their_host_files() {
        let text = as_text(&layout(8, "2,2", 2));
        for part in [
            "NODE1 slots=7                     NODE1:7\n",
            "NODE2 slots=8                     NODE2:8\n",
            "invivo run --fan-in 2,2 --nodes 2 -- mpiexec --hostfile FILE -n 8 ./app",
            "mpiexec --hostfile FILE -n 15 invivo exec --fan-in 2,2 --nodes 2 -- ./app",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
        let many = as_text(&layout(4000, "4", 1000));
        assert!(
            many.contains("NODE2 to NODE999") && many.lines().count() < 20,
            "{many}"
        );
        let json = as_json(&layout(8, "2,2", 2));
        assert_eq!(json["processes_per_node"], 7);
        assert_eq!(json["processes_on_last_node"], 8);
    }
}
