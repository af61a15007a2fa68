//! `invivo plan`: how many processes to ask for, for a number of ranks or for a launcher's line.

use crate::command_line::advice::quoted;
use crate::command_line::insertion::{Surroundings, prepare, resolved};
use crate::command_line::machine::cores;
use crate::command_line::wording::counted;
use crate::job::environment::{self, Environment};
use crate::output::{print, say};
use clap::Args;
use invivo_config::{Flags, Value};
use invivo_report::JSON_VERSION;
use invivo_tbon::layout::{FanIn, Layout, Policy};
use serde_json::json;
use std::ffi::OsString;
use std::process::ExitCode;

/// Print how many processes each layer needs and the total to ask for.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  invivo plan -n 128
  invivo plan -n 128 --nodes 4       with the lines of a host file for Open MPI and MPICH
  invivo plan -- mpiexec -n 128 ./app       for a line as you type it
  sbatch --ntasks=$(invivo plan -n 128 --json | jq .total) job.sh")]
pub struct PlanArgs {
    /// Ranks of the application.
    #[arg(
        short = 'n',
        long = "ranks",
        value_name = "N",
        required_unless_present = "line"
    )]
    ranks: Option<u32>,
    /// `node` for one tool process per node, or ranks per tool place, then members per analysis
    /// node, each a process; the last number repeats [default: node,16]
    #[arg(long, value_name = "F[,F]", value_parser = <FanIn as Value>::parse)]
    fan_in: Option<FanIn>,
    /// Nodes of the job [default: 1, or as the launcher's line and the batch system say]
    #[arg(long, value_name = "H", value_parser = clap::value_parser!(u32).range(1..))]
    nodes: Option<u32>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// A launcher's command line, as without Invivo.
    #[arg(
        trailing_var_arg = true,
        value_name = "LAUNCHER",
        conflicts_with = "ranks"
    )]
    line: Vec<OsString>,
}

/// A layout, and for a launcher's line the two lines to type: by `invivo run`, and by hand.
struct Planned {
    layout: Layout,
    lines: Option<[String; 2]>,
}

/// Prints the numbers of processes.
pub fn plan(args: PlanArgs) -> ExitCode {
    let environment: Environment = std::env::vars_os().collect();
    match planned(&args, &environment) {
        Ok(planned) if args.json => print(&format!("{}\n", as_json(&planned.layout))),
        Ok(planned) => print(&as_text(&planned)),
        Err(why) => {
            say(&why);
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// The layout, with the fan-in of the configuration that holds here.
fn planned(args: &PlanArgs, environment: &Environment) -> Result<Planned, String> {
    let flags = Flags {
        fan_in: args.fan_in,
        ..Flags::default()
    };
    let config = invivo_config::effective(&flags).map_err(|error| error.to_string())?;
    let fan_in = *config.fan_in;
    if let Some(ranks) = args.ranks {
        let policy = match args.nodes {
            None | Some(1) => Policy::Tail,
            Some(hosts) => Policy::PerNode { hosts },
        };
        let layout =
            Layout::shared_out(ranks, fan_in, policy).map_err(|error| error.to_string())?;
        return Ok(Planned {
            layout,
            lines: None,
        });
    }

    let launcher = resolved(&args.line, environment::search_path(environment));
    let around = Surroundings {
        environment,
        launcher: launcher.as_deref(),
        cores: cores().unwrap_or(0),
        read_file: &|path| std::fs::read_to_string(path).ok(),
    };
    let prepared = prepare(&args.line, fan_in, args.nodes, &around)?;
    // Only what differs from the defaults: the printed lines are meant to be typed.
    let fan_in = (fan_in != FanIn::default()).then(|| format!("--fan-in={fan_in}").into());
    let nodes = |nodes: Option<u32>| nodes.map(|nodes| format!("--nodes={nodes}").into());
    let dashes = || OsString::from("--");
    let mut run: Vec<OsString> = vec!["invivo".into(), "run".into()];
    run.extend(
        fan_in
            .iter()
            .cloned()
            .chain(nodes(args.nodes))
            .chain([dashes()]),
    );
    run.extend(args.line.iter().cloned());
    let mut inserted: Vec<OsString> = vec!["invivo".into(), "exec".into()];
    inserted.extend(
        fan_in
            .into_iter()
            .chain(nodes(prepared.nodes))
            .chain([dashes()]),
    );
    Ok(Planned {
        layout: prepared.layout,
        lines: Some([quoted(&run), prepared.typed(&inserted)?]),
    })
}

/// Nodes whose lines of a host file are all printed; of more, the first and the last.
const LINES_MAX: u32 = 8;

fn as_text(planned: &Planned) -> String {
    let layout = &planned.layout;
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
    let [run, by_hand] = match &planned.lines {
        Some(lines) => lines.clone(),
        None => {
            if layout.hosts() > 1 {
                text += &host_files(layout);
            }
            lines(layout)
        }
    };
    text + &format!("{run}\n{by_hand}\n")
}

/// The lines to type for any launcher and program.
fn lines(layout: &Layout) -> [String; 2] {
    let mut options = String::new();
    // Only what differs from the defaults: the printed line is meant to be typed.
    if layout.fan_in() != FanIn::default() {
        options += &format!(" --fan-in {}", layout.fan_in());
    }
    let mut launcher = "mpiexec".to_owned();
    if layout.hosts() > 1 {
        launcher += " --hostfile FILE";
    }
    let nodes = match layout.hosts() {
        1 => String::new(),
        hosts => format!(" --nodes {hosts}"),
    };
    // With one tool process on each, nodes say it themselves.
    let to_exec = if layout.is_one_per_node() { "" } else { &nodes };
    let (ranks, total) = (layout.app(), layout.total());
    [
        format!("invivo run{options}{nodes} -- {launcher} -n {ranks} ./app"),
        format!("{launcher} -n {total} invivo exec{options}{to_exec} -- ./app"),
    ]
}

/// Lines of a host file, one node after the other.
fn host_files(layout: &Layout) -> String {
    let hosts = layout.hosts();
    let columns = |left: String, right: String| format!("{left:<34}{right}\n");
    let line = |node: u32| {
        let processes = layout.processes_of_host(node - 1);
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
        let like_first =
            |node: u32| layout.processes_of_host(node - 1) == layout.processes_of_host(0);
        let same = (2..hosts).take_while(|&node| like_first(node)).count() as u32 + 1;
        let others = |from: u32, to: u32| match from <= to {
            true => format!("... the same for NODE{from} to NODE{to}\n"),
            false => String::new(),
        };
        text += &format!("{}{}", line(1), others(2, same));
        if same + 1 < hosts {
            text += &format!("{}{}", line(same + 1), others(same + 2, hosts - 1));
        }
        text += &line(hosts);
    }
    text + "\n"
}

fn as_json(layout: &Layout) -> serde_json::Value {
    let each = layout.processes_of_host(0);
    let last = layout.processes_of_host(layout.hosts() - 1);
    json!({
        "version": JSON_VERSION,
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

    fn shown(layout: Layout) -> String {
        as_text(&Planned {
            layout,
            lines: None,
        })
    }

    #[derive(clap::Parser)]
    struct Cli {
        #[command(flatten)]
        args: PlanArgs,
    }

    /// What is printed for a line, or why nothing is.
    fn of_line(line: &str) -> Result<String, String> {
        let words = std::iter::once("plan").chain(line.split_whitespace());
        let cli =
            <Cli as clap::Parser>::try_parse_from(words).map_err(|error| error.to_string())?;
        planned(&cli.args, &Environment::new()).map(|planned| as_text(&planned))
    }

    #[test]
    fn a_launchers_line_has_a_plan_of_its_own() {
        let text = of_line("-- mpiexec.hydra -hosts a:3,b:3 -n 4 ./app -x").expect("a plan");
        for part in [
            "total    to ask for                 6\n",
            "\ninvivo run -- mpiexec.hydra -hosts a:3,b:3 -n 4 ./app -x\n",
            "\nmpiexec.hydra -hosts a:3,b:3 -n 6 invivo exec -- ./app -x\n",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
        let text = of_line("srun -N 2 -n 4 ./app").expect("without dashes");
        assert!(
            text.ends_with("srun --ntasks-per-node=3 -N 2 -n 6 invivo exec -- ./app\n"),
            "{text}"
        );
        for (line, part) in [
            ("", "--ranks"),
            ("-n 4 -- mpiexec -n 4 ./app", "cannot be used with"),
            ("-- ./app", "invivo run -- mpiexec -n 4 ./app"),
            (
                "-- mpiexec.hydra -hosts a:2,b:2 -n 4 ./app",
                "give each node 3 places",
            ),
        ] {
            let why = of_line(line).expect_err(line);
            assert!(why.contains(part), "{line}: {why}");
        }
    }

    #[test]
    fn a_plan_names_every_layer_and_both_commands() {
        let text = shown(layout(8, "64", 1));
        for part in [
            "application ranks          8\n",
            "tool places                1\n",
            "10\n",
            "invivo run --fan-in 64,16 -- mpiexec -n 8 ./app",
            "mpiexec -n 10 invivo exec --fan-in 64,16 -- ./app",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
        let json = as_json(&layout(128, "16", 1));
        assert_eq!(
            (json["total"].as_u64(), json["tool_places"].as_u64()),
            (Some(137), Some(8))
        );
    }

    /// The default: the roles are listed, and one process has them all.
    #[test]
    fn a_plan_with_one_tool_process_per_node_says_so() {
        let text = shown(layout(4, "node", 1));
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
        let text = shown(layout(8, "2,2", 2));
        for part in [
            "NODE1 slots=7                     NODE1:7\n",
            "NODE2 slots=8                     NODE2:8\n",
            "invivo run --fan-in 2,2 --nodes 2 -- mpiexec --hostfile FILE -n 8 ./app",
            "mpiexec --hostfile FILE -n 15 invivo exec --fan-in 2,2 --nodes 2 -- ./app",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
        let many = shown(layout(4000, "4", 1000));
        assert!(
            many.contains("NODE2 to NODE999") && many.lines().count() < 20,
            "{many}"
        );
        let uneven = Layout::shared_out(10, FanIn::default(), Policy::PerNode { hosts: 4 });
        let text = shown(uneven.expect("a layout"));
        assert!(
            text.contains("NODE2 slots=4") && text.contains("NODE3:3"),
            "{text}"
        );
        assert!(
            text.contains("invivo run --nodes 4 -- mpiexec --hostfile FILE -n 10 ./app\n")
                && text.contains("mpiexec --hostfile FILE -n 14 invivo exec -- ./app\n"),
            "{text}"
        );
        let many = Layout::shared_out(1003, FanIn::default(), Policy::PerNode { hosts: 100 });
        let text = shown(many.expect("a layout"));
        assert!(
            text.contains("NODE1 slots=12") && text.contains("... the same for NODE2 to NODE3\n"),
            "{text}"
        );
        assert!(
            text.contains("NODE4:11\n... the same for NODE5 to NODE99\nNODE100 slots=11"),
            "{text}"
        );
        let json = as_json(&layout(8, "2,2", 2));
        assert_eq!(json["processes_per_node"], 7);
        assert_eq!(json["processes_on_last_node"], 8);
    }
}
