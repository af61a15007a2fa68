//! Predicts whether Open MPI will refuse a line for want of slots. It starts no more processes than
//! there are slots, unless oversubscription is allowed, and tool processes take slots, too. Warns
//! only where the refusal is certain. Pure.

use crate::command_line::launcher_options::{Flavour, Line, PLACEMENTS, stem};
use crate::command_line::machine::is_managed;
use crate::job::environment::Environment;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Options that name a file of hosts, and hosts.
const FILES: [&str; 2] = ["hostfile", "machinefile"];
const HOSTS: [&str; 2] = ["H", "host"];
/// Variables that may say something about slots.
const SETTINGS: [&str; 3] = ["OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_"];
/// Those that do not: they are about MPI inside the ranks.
const NO_SETTING: &str = "OMPI_MCA_mpi_";

/// Slots, and who gives them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slots {
    /// How many.
    pub number: u32,
    /// What has them, as a sentence goes on: `this machine has 2`.
    pub given: String,
}

/// The slots that will be too few for `total` processes. `cores` are this machine's, `read` gives
/// the text of a file.
pub fn too_few(
    line: &Line,
    words: &[OsString],
    total: u32,
    cores: Option<u32>,
    environment: &Environment,
    read: impl Fn(&Path) -> Option<String>,
) -> Option<Slots> {
    let set = |name: &OsString| {
        let begins = |prefix: &str| name.as_bytes().starts_with(prefix.as_bytes());
        SETTINGS.iter().any(|prefix| begins(prefix)) && !begins(NO_SETTING)
    };
    if line.flavour != Flavour::OpenMpi || is_managed(environment) || environment.keys().any(set) {
        return None;
    }
    let slots = if line.placed {
        of_hosts(words.get(1..line.parts.first()?.program.start)?, read)?
    } else {
        let number = cores?;
        let given = format!(
            "this machine has {}",
            crate::command_line::wording::counted(number, "core")
        );
        Slots { number, given }
    };
    (total > slots.number).then_some(slots)
}

/// The slots of hosts, where one option names them, all say their slots, and nothing else is said
/// about placement.
fn of_hosts(options: &[OsString], read: impl Fn(&Path) -> Option<String>) -> Option<Slots> {
    let mut found = None;
    for (at, word) in options.iter().enumerate() {
        let Some(option) = word.to_str().and_then(stem) else {
            continue;
        };
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, None),
        };
        let value = || value.or_else(|| Some(options.get(at + 1)?.to_str()?.to_owned()));
        let slots = if FILES.contains(&name) {
            let value = value()?;
            Slots {
                number: of_file(&read(Path::new(&value))?)?,
                given: format!("{value} gives"),
            }
        } else if HOSTS.contains(&name) {
            let value = value()?;
            Slots {
                number: of_list(&value)?,
                given: format!("{word} {value} gives", word = word.to_string_lossy()),
            }
        } else if PLACEMENTS.contains(&name) {
            return None;
        } else {
            continue;
        };
        // Two options that name hosts: what counts then is not certain.
        if found.replace(slots).is_some() {
            return None;
        }
    }
    let Slots { number, given } = found?;
    let given = format!("{given} {number}");
    Some(Slots { number, given })
}

/// `name slots=4` in every line, beside other words and comments.
fn of_file(text: &str) -> Option<u32> {
    // A line without `slots=`: the host's number is not known here, so there is no warning.
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default());
    lines
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            line.split_whitespace()
                .find_map(|word| word.strip_prefix("slots=")?.parse::<u32>().ok())
        })
        .try_fold(0_u32, |sum, slots| sum.checked_add(slots?))
}

/// `name:4`, with commas between them.
fn of_list(text: &str) -> Option<u32> {
    text.split(',')
        .map(|host| host.rsplit_once(':')?.1.parse::<u32>().ok())
        .try_fold(0_u32, |sum, slots| sum.checked_add(slots?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::launcher_options::read as read_line;

    /// What is said of a line of six processes on a machine with two cores.
    fn said(text: &str, resolved: &str, environment: &Environment) -> Option<String> {
        let words: Vec<OsString> = text.split_whitespace().map(OsString::from).collect();
        let line = read_line(&words, Some(Path::new(resolved))).expect("a line");
        let files = |path: &Path| match path.to_str()? {
            "few" => Some("# ours\na slots=2\nb slots=2 max_slots=9\n".to_owned()),
            "many" => Some("a slots=4\n\nb slots=4\n".to_owned()),
            "silent" => Some("a slots=2\nb\n".to_owned()),
            _ => None,
        };
        too_few(&line, &words, 6, Some(2), environment, files).map(|slots| slots.given)
    }

    #[test]
    fn too_few_slots_are_told_with_who_gives_them() {
        let open_mpi = |text: &str| said(text, "/usr/bin/orterun", &Environment::new());
        for (line, given) in [
            ("mpiexec -n 4 ./app", "this machine has 2 cores"),
            ("mpirun -n 4 --hostfile few ./app", "few gives 4"),
            ("mpirun --machinefile=few -n 4 ./app", "few gives 4"),
            ("mpirun -n 4 -H a:2,b:3 ./app", "-H a:2,b:3 gives 5"),
        ] {
            assert_eq!(open_mpi(line).as_deref(), Some(given), "{line}");
        }
    }

    #[test]
    fn nothing_is_said_where_it_is_not_sure() {
        let none = Environment::new();
        for line in [
            "mpirun --oversubscribe -n 4 ./app",
            "mpirun -n 4 --mca a b ./app",
            "mpirun -n 4 --hostfile many ./app",
            "mpirun -n 4 --hostfile silent ./app",
            "mpirun -n 4 --hostfile missing ./app",
            "mpirun -n 4 --hostfile few --oversubscribe ./app",
            "mpirun -n 4 --hostfile few -H a:1 ./app",
            "mpirun -n 4 -H a:8 ./app",
            "mpirun -n 4 -H a,b ./app",
        ] {
            assert_eq!(said(line, "/usr/bin/orterun", &none), None, "{line}");
        }
        for launcher in ["/usr/bin/mpiexec.mpich", "/opt/wrapper"] {
            assert_eq!(
                said("mpiexec -n 4 ./app", launcher, &none),
                None,
                "{launcher}"
            );
        }
        for name in [
            "SLURM_JOB_ID",
            "OMPI_MCA_rmaps_base_oversubscribe",
            "PRTE_MCA_rmaps_default_mapping_policy",
        ] {
            let set = Environment::from([(name.into(), "1".into())]);
            assert_eq!(
                said("mpiexec -n 4 ./app", "/usr/bin/orterun", &set),
                None,
                "{name}"
            );
        }
        let inside = Environment::from([("OMPI_MCA_mpi_yield_when_idle".into(), "1".into())]);
        assert_eq!(
            said("mpiexec -n 4 ./app", "/usr/bin/orterun", &inside),
            said("mpiexec -n 4 ./app", "/usr/bin/orterun", &none),
            "what concerns MPI alone says nothing of slots"
        );
    }
}
