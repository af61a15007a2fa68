//! A launcher's command line as it was read, and that line with Invivo inserted.

use super::tables::Flavour;
use std::ffi::OsString;
use std::ops::Range;

/// A launcher's command line, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The kind of launcher.
    pub flavour: Flavour,
    /// The programs, one at least: several are separated by colons.
    pub parts: Vec<Part>,
    /// The user decides about placement and oversubscription.
    pub placed: bool,
    /// The user names hosts or says how many processes each takes, or may.
    pub hosts: bool,
    /// The user decides about binding, or may.
    pub bound: bool,
    /// In place of a program stands the file of all (`srun --multi-prog`).
    pub names_file: bool,
}

/// One program of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Processes asked for.
    pub count: u32,
    /// The argument that says so: replaced by `count_prefix` and the new number.
    pub count_at: usize,
    /// The text before the number in its argument (`-np=`), or nothing.
    pub count_prefix: String,
    /// The arguments that are the program and its own.
    pub program: Range<usize>,
}

/// Why a command line cannot be extended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineError {
    /// The first word is no launcher that is known.
    NotALauncher {
        /// It is one that exists, though.
        launcher: bool,
    },
    /// Nothing says how many processes to start.
    NoCount,
    /// What says it is no number above 0.
    BadCount(String),
    /// It is said twice.
    TwoCounts,
    /// An option that is in no table.
    UnknownOption(String),
    /// The line ends where a value should follow.
    NoValue(String),
    /// The line ends before a program.
    NoProgram,
    /// The programs stand in a file.
    ProgramFile(String),
    /// Several programs where there can be one only.
    SeveralPrograms,
    /// A file of programs where it is not known which process each node has.
    UnplacedPrograms,
    /// Several components of one of Slurm's heterogeneous jobs.
    Heterogeneous,
}

/// The number of processes, the position of its argument, and the text before the number in it.
pub type Count = (u32, usize, String);

/// Takes note of the number in the argument at `number_at`, of which `value` is the number's text
/// where it is not all of it.
pub fn set_count(
    count: &mut Option<Count>,
    args: &[OsString],
    number_at: usize,
    value: Option<&str>,
    option: &str,
) -> Result<(), LineError> {
    let argument = args
        .get(number_at)
        .ok_or_else(|| LineError::NoValue(option.to_owned()))?
        .to_string_lossy();
    let number = value.unwrap_or(&argument);
    let processes: u32 = number
        .parse()
        .map_err(|_| LineError::BadCount(number.to_owned()))?;
    if processes == 0 {
        return Err(LineError::BadCount(number.to_owned()));
    }
    let prefix = argument.strip_suffix(number).unwrap_or_default().to_owned();
    match count.replace((processes, number_at, prefix)) {
        Some(_) => Err(LineError::TwoCounts),
        None => Ok(()),
    }
}

/// An option without its one or two dashes.
pub fn stem(arg: &str) -> Option<&str> {
    let stem = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-'))?;
    (!stem.is_empty()).then_some(stem)
}

impl Line {
    /// Ranks of all programs together.
    pub fn ranks(&self) -> u32 {
        self.parts
            .iter()
            .fold(0, |sum, part| sum.saturating_add(part.count))
    }

    /// The same line with so many processes more of each program, and `inserted` before it. A file
    /// of programs stays as it is.
    pub fn extended(
        &self,
        args: &[OsString],
        tools: &[u32],
        inserted: &[OsString],
    ) -> Vec<OsString> {
        let mut line = Vec::new();
        let mut from = 0;
        for (part, tools) in self.parts.iter().zip(tools) {
            let count = part.count + tools;
            line.extend_from_slice(&args[from..part.program.start]);
            // The words before the program were copied last, so the count lies as far from the end
            // of the new line as from the program in the old one.
            let count_at = line.len() - (part.program.start - part.count_at);
            line[count_at] = format!("{}{count}", part.count_prefix).into();
            if !self.names_file {
                line.extend_from_slice(inserted);
            }
            line.extend_from_slice(&args[part.program.clone()]);
            from = part.program.end;
        }
        line
    }

    /// How many tool processes each program has besides, with one behind the ranks of every node:
    /// it is started with the program that has the last rank there.
    pub fn tools_of_nodes(&self, ranks_of_nodes: &[u32]) -> Vec<u32> {
        let mut tools = vec![0; self.parts.len()];
        let (mut of_programs, mut of_nodes) = (0, 0);
        let mut nodes = ranks_of_nodes.iter().peekable();
        for (part, tools) in self.parts.iter().zip(&mut tools) {
            of_programs += part.count;
            while let Some(ranks) = nodes.next_if(|ranks| of_nodes + **ranks <= of_programs) {
                of_nodes += ranks;
                *tools += 1;
            }
        }
        tools
    }

    /// So many tool processes with the last program.
    pub fn tools_at_the_end(&self, tools: u32) -> Vec<u32> {
        let before = self.parts.len().saturating_sub(1);
        std::iter::repeat_n(0, before).chain([tools]).collect()
    }

    /// The programs with their arguments.
    pub fn programs<'a>(&self, args: &'a [OsString]) -> impl Iterator<Item = &'a [OsString]> {
        self.parts.iter().map(|part| &args[part.program.clone()])
    }
}
