//! Groups the verbs in `invivo --help`.

use clap::Command;

/// Every verb, in the order in which one meets them.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Start", &["run", "exec", "plan", "doctor"]),
    (
        "Look",
        &[
            "list",
            "top",
            "web",
            "connect",
            "status",
            "watch",
            "explain",
            "functions",
            "regions",
            "iterations",
            "matrix",
            "messages",
            "waitstates",
            "heatmap",
            "efficiency",
            "hang",
            "stacks",
            "profile",
            "metrics",
            "timeline",
            "buffers",
            "records",
            "save",
            "open",
            "export",
            "report",
            "compare",
        ],
    ),
    (
        "Steer",
        &[
            "pause",
            "resume",
            "hold",
            "record",
            "reset",
            "strategy",
            "analyses",
            "selection",
            "sampling",
            "overhead",
            "session",
            "shutdown",
        ],
    ),
    ("Access", &["invite", "join", "audit", "bridge"]),
    ("Help", &["config", "completions", "man", "help"]),
];

/// The text beside `help`, a verb that clap adds only when it parses a command line.
const HELP: &str = "Print this message, or the help of a verb";

/// The command with its verbs in groups.
pub fn grouped(command: Command) -> Command {
    let about = |name: &str| {
        let verb = command.find_subcommand(name);
        verb.and_then(Command::get_about)
            .map_or_else(|| HELP.to_owned(), ToString::to_string)
    };
    let names = GROUPS.iter().flat_map(|(_, names)| *names);
    let width = names.map(|name| name.len()).max().unwrap_or(0);

    let mut verbs = String::new();
    for (title, names) in GROUPS {
        verbs += &format!("{title}:\n");
        for name in names {
            verbs += &format!("  {name:width$}  {}\n", about(name));
        }
        verbs.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} \
         {{usage}}\n\n{verbs}Options:\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_verb_stands_in_one_group() {
        let command = crate::Cli::command();
        let mut there: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        there.push("help");
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        there.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, there);
    }

    #[test]
    fn the_help_names_groups_and_verbs() {
        let help = grouped(crate::Cli::command()).render_help().to_string();
        for part in [
            "Start:\n  run ",
            "Look:\n  list ",
            "Steer:\n  pause ",
            "Usage: invivo <",
        ] {
            assert!(help.contains(part), "{part:?} in\n{help}");
        }
        assert!(help.lines().all(|line| line.len() <= 100), "{help}");
    }
}
