//! `invivo completions` and `invivo man`: generated from the definition of the command line.

use super::{Outcome, print};
use anyhow::Context;
use clap_complete::Shell;
use std::path::PathBuf;

/// Options of `invivo completions`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  source <(invivo completions bash)
  invivo completions zsh > ~/.zfunc/_invivo
  invivo completions fish > ~/.config/fish/completions/invivo.fish")]
pub struct CompletionsArgs {
    /// For which shell
    #[arg(value_enum)]
    shell: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Bash,
    Zsh,
    Fish,
}

/// Options of `invivo man`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  invivo man ~/.local/share/man/man1 && man invivo-record")]
pub struct ManArgs {
    /// Where the pages go; it is made if need be
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

/// Prints a shell's completions.
///
/// # Errors
/// When standard output is closed.
pub fn completions(args: &CompletionsArgs, mut command: clap::Command) -> anyhow::Result<Outcome> {
    let shell = match args.shell {
        Kind::Bash => Shell::Bash,
        Kind::Zsh => Shell::Zsh,
        Kind::Fish => Shell::Fish,
    };
    // Into memory first: clap panics where writing fails, and a closed pipe is no fault.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "invivo", &mut script);
    print(&String::from_utf8(script)?)?;
    Ok(Outcome::Done)
}

/// Writes a manual page per command.
///
/// # Errors
/// When one cannot be written.
pub fn man(args: &ManArgs, command: clap::Command) -> anyhow::Result<Outcome> {
    let dir = &args.dir;
    std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    // `invivo help` has no page of its own: the pages are it.
    let command = command.disable_help_subcommand(true);
    clap_mangen::generate_to(command, dir)
        .with_context(|| format!("cannot write to {}", dir.display()))?;
    Ok(Outcome::Done)
}
