//! Reading a launcher's command line: how many processes it asks for, and where the program begins.
//! Pure; what differs between launchers is data.
//!
//! An option that is in no table ends the reading with an error: nobody can know whether a value
//! follows it, and a guess would start something else than what was asked for.

mod extended_line;
pub mod slurm;
mod tables;

pub use extended_line::{Line, LineError, Part, stem};
pub use tables::{Flavour, PLACEMENTS};

use extended_line::set_count;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use tables::{BINDINGS, COUNTS, NAMES, OPTIONS, OTHERS, OVERSUBSCRIBE, PROGRAM_FILES};

/// The flavour of a launcher by its name and, where that says little, by the file that it leads to.
pub fn flavour(command: &OsStr, resolved: Option<&Path>) -> Option<Flavour> {
    let by_name = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, flavour)| *flavour)
    };
    match by_name(Path::new(command))? {
        Flavour::Either => resolved.and_then(by_name).or(Some(Flavour::Either)),
        known => Some(known),
    }
}

/// Whether a command is a launcher of any kind.
pub fn is_launcher(command: &OsStr) -> bool {
    let name = Path::new(command)
        .file_name()
        .and_then(OsStr::to_str)
        .unwrap_or_default();
    flavour(command, None).is_some() || OTHERS.contains(&name)
}

/// Reads `args`, of which the first is the launcher.
///
/// # Errors
/// Why the line cannot be extended.
pub fn read(args: &[OsString], resolved: Option<&Path>) -> Result<Line, LineError> {
    let command = args.first().ok_or(LineError::NoProgram)?;
    let flavour = flavour(command, resolved).ok_or(LineError::NotALauncher {
        launcher: is_launcher(command),
    })?;
    if flavour == Flavour::Slurm {
        return slurm::read(args);
    }
    let mut line = Line {
        flavour,
        parts: Vec::new(),
        placed: false,
        hosts: false,
        bound: false,
        names_file: false,
    };
    let mut at = 1;
    loop {
        let colon = args[at..].iter().position(|arg| arg == ":");
        let end = colon.map_or(args.len(), |colon| at + colon);
        let part = part(&args[..end], at, &mut line)?;
        line.parts.push(part);
        if colon.is_none() {
            return Ok(line);
        }
        at = end + 1;
    }
}

/// Reads one program with the options before it, from `at` to the end of `args`.
fn part(args: &[OsString], mut at: usize, line: &mut Line) -> Result<Part, LineError> {
    let flavour = line.flavour;
    let mut count = None;
    loop {
        let Some(arg) = args.get(at) else {
            return Err(LineError::NoProgram);
        };
        // What is not valid text is no option of any launcher; a lone dash is an operand.
        let Some(option) = arg.to_str().and_then(stem) else {
            break;
        };
        let shown = || arg.to_string_lossy().into_owned();
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        line.placed |= PLACEMENTS.contains(&name);
        line.hosts |= PLACEMENTS.contains(&name) && name != OVERSUBSCRIBE;
        line.bound |= BINDINGS.contains(&name);
        if PROGRAM_FILES.contains(&name) {
            return Err(LineError::ProgramFile(shown()));
        }
        if COUNTS
            .iter()
            .any(|(whose, names)| flavour.knows(*whose) && names.contains(&name))
        {
            let number_at = if value.is_some() { at } else { at + 1 };
            set_count(&mut count, args, number_at, value, &shown())?;
            at = number_at + 1;
            continue;
        }

        let known = OPTIONS
            .iter()
            .find(|(whose, _, names)| flavour.knows(*whose) && names.contains(&name));
        let values = known.ok_or_else(|| LineError::UnknownOption(shown()))?.1;
        // `--option=value` has its first value in itself.
        let follow = values.saturating_sub(usize::from(value.is_some()));
        if at + follow >= args.len() {
            return Err(LineError::NoValue(shown()));
        }
        at += 1 + follow;
    }
    let (count, count_at, count_prefix) = count.ok_or(LineError::NoCount)?;
    Ok(Part {
        count,
        count_at,
        count_prefix,
        program: at..args.len(),
    })
}

#[cfg(test)]
mod tests;
