//! What is wrong with a launcher's command line, and what to type instead. Pure.

use crate::command_line::launcher_options::{LineError, is_launcher, slurm};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// What is wrong with a line, and what to type.
pub fn explain(error: &LineError, args: &[OsString]) -> String {
    let launcher = args
        .first()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let by_hand = "by hand: take the total from `invivo plan -n N` and put `invivo exec --` before \
        the program";
    match error {
        LineError::NotALauncher { launcher: true } => {
            format!("`invivo run` does not read the options of {launcher} yet; {by_hand}")
        }
        LineError::NotALauncher { launcher: false } if let Some(meant) = misspelt(args) => {
            format!(
                "{launcher} is no MPI launcher that is known; if you mean {meant}, type: invivo \
                 run -- {meant} {}",
                quoted(&args[1..])
            )
        }
        LineError::NotALauncher { launcher: false } => {
            format!(
                "{launcher} is no MPI launcher; type: invivo run -- mpiexec -n 4 {}",
                quoted(args)
            )
        }
        LineError::NoCount => format!(
            "nothing says how many ranks to start; type for example: invivo run -- {} -n 4 {}",
            launcher,
            quoted(&args[1..]),
        ),
        LineError::BadCount(text) => {
            format!("{text:?} is no number of ranks; give 1 or more, as in -n 4")
        }
        LineError::TwoCounts => "the number of ranks is given twice; give it once".to_owned(),
        LineError::UnknownOption(option) => format!(
            "whether a value follows {option} is not known, so neither is where the program \
             begins; {by_hand}"
        ),
        LineError::NoValue(option) => format!("a value is missing behind {option}"),
        LineError::NoProgram => {
            format!(
                "there is no program on the line; type for example: invivo run -- {launcher} -n 4 \
                 ./app"
            )
        }
        LineError::ProgramFile(option) => {
            format!(
                "{option} takes the programs from a file, where nothing can be put before them; \
                 name the program"
            )
        }
        LineError::UnplacedPrograms => {
            "which node has which process must be known before the start where programs stand in \
             a file: with -N, and --distribution=block, cyclic or plane; otherwise put `invivo \
             exec --` into the file by hand, before each program, with a line for the last process \
             of each node, and give -n the total of `invivo plan -n N --nodes H`"
                .to_owned()
        }
        LineError::SeveralPrograms => {
            format!(
                "several programs in one job (`:`) on several nodes are read for mpiexec where a \
                 list of hosts or the batch system says how many processes each node takes; \
                 {by_hand}"
            )
        }
        LineError::Heterogeneous => {
            let one_step = match as_one_step(args) {
                Some((programs, line)) => format!(
                    "several programs in one allocation start from a file: printf '{programs}' \
                     >FILE; invivo run -- {line} --multi-prog FILE"
                ),
                None => "several programs in one allocation start from a file, by invivo run -- \
                         srun -n N --multi-prog FILE with lines such as `0-3 ./a`"
                    .to_owned(),
            };
            format!(
                "components of a heterogeneous job (`:` or --het-group behind srun) cannot be \
                 observed together: srun starts each with options of its own; {one_step}"
            )
        }
    }
}

/// Programs behind colons of an `srun` as lines of a file for `printf`, and the step for them all,
/// where nothing but the number of processes differs.
fn as_one_step(args: &[OsString]) -> Option<(String, String)> {
    let (srun, rest) = args.split_first()?;
    let mut first: Vec<OsString> = Vec::new();
    let (mut programs, mut ranks) = (String::new(), 0_u32);
    for component in rest.split(|word| word == ":") {
        let mut words = vec![srun.clone()];
        words.extend_from_slice(component);
        let line = slurm::read(&words).ok()?;
        let [part] = &line.parts[..] else { return None };
        if !["", "-n", "--ntasks="].contains(&part.count_prefix.as_str()) {
            return None;
        }
        let number = part.count_at - usize::from(part.count_prefix.is_empty());
        let mut options = words[..part.program.start].to_vec();
        options.drain(number..=part.count_at);
        if first.is_empty() {
            first = options;
        } else if options.len() > 1 {
            return None;
        }
        let program = quoted(&words[part.program.clone()]);
        // What a shell, printf or Slurm would take for its own.
        if program.contains(['\'', '%', '\\']) {
            return None;
        }
        let last = ranks.checked_add(part.count)?;
        programs += &format!("{ranks}-{} {program}\\n", last - 1);
        ranks = last;
    }
    first.extend(["-n".into(), ranks.to_string().into()]);
    Some((programs, quoted(&first)))
}

/// The corrected line for `mpiexec -n 4 invivo run ./app`.
pub fn wrong_side(line: &[OsString], processes: u32) -> String {
    let corrected = if line.first().is_some_and(|first| is_launcher(first)) {
        quoted(line)
    } else {
        format!("mpiexec -n {processes} {}", quoted(line))
    };
    format!(
        "`invivo run` stands before the launcher, not behind it; type: invivo run -- {corrected}"
    )
}

/// The launcher that was meant, where the first word looks like one, or what follows like its
/// options.
fn misspelt(args: &[OsString]) -> Option<&'static str> {
    let name = Path::new(args.first()?).file_name()?.to_str()?;
    let of_name = |known: &&str| name.starts_with(*known) || known.starts_with(name);
    let is_count = |pair: &[OsString]| {
        let number = pair[1]
            .to_str()
            .is_some_and(|text| text.parse::<u32>().is_ok());
        number && (pair[0] == "-n" || pair[0] == "-np")
    };
    let counts = args.get(1..3).is_some_and(is_count);
    let known = ["mpiexec", "mpirun", "srun"];
    let named = known
        .into_iter()
        .find(|known| name.len() > 3 && of_name(known));
    named.or(counts.then_some("mpiexec"))
}

/// A line that can be pasted into a shell.
pub fn quoted(words: &[OsString]) -> String {
    let quote = |word: &OsString| {
        let bytes = word.as_bytes();
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-=,./:_@%+".contains(byte);
        // Elsewhere than in an option `=` may be an assignment.
        let assigns = !bytes.starts_with(b"-") && bytes.contains(&b'=');
        if !bytes.is_empty() && bytes.iter().all(plain) && !assigns {
            return word.to_string_lossy().into_owned();
        }
        let quoted = shlex::bytes::try_quote(word.as_bytes()).map(|quoted| quoted.into_owned());
        // Only a zero byte cannot be quoted, and no argument has one.
        OsString::from_vec(quoted.unwrap_or_else(|_| word.as_bytes().to_vec()))
            .to_string_lossy()
            .into_owned()
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// Whether a program is this one.
pub fn is_ours(program: &OsStr) -> bool {
    Path::new(program).file_name() == Some(OsStr::new("invivo"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::launcher_options::read;

    #[test]
    fn a_printed_line_can_be_pasted() {
        let words = ["mpiexec", "-n", "6", "--a=b", "--a=b c", "A=b", "$x"].map(OsString::from);
        assert_eq!(quoted(&words), "mpiexec -n 6 --a=b '--a=b c' 'A=b' '$x'");
    }

    #[test]
    fn components_that_are_programs_only_become_a_file() {
        let explained = |line: &str| {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            explain(&LineError::Heterogeneous, &words)
        };
        let told = explained("srun --mpi=pmix -N 4 -n 3 ./a x : -n5 ./b");
        let typed = "printf '0-2 ./a x\\n3-7 ./b\\n' >FILE; invivo run -- srun --mpi=pmix -N 4 \
                     -n 8 --multi-prog FILE";
        assert!(told.ends_with(typed), "{told}");
        for other in [
            "srun -n 3 ./a : -N 2 -n 5 ./b",
            "srun --het-group=0,1 -n 4 ./a",
        ] {
            let told = explained(other);
            assert!(told.contains("srun -n N --multi-prog FILE"), "{told}");
        }
    }

    #[test]
    fn a_misspelt_launcher_is_not_taken_for_a_program() {
        let explained = |line: &str| {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let error = read(&words, None).expect_err("no launcher");
            explain(&error, &words)
        };
        for (line, typed) in [
            ("mpiexecx -n 2 ./a", "-- mpiexec -n 2 ./a"),
            ("./mpirunn -np 2 ./a", "-- mpirun -np 2 ./a"),
            ("mpie -n 2 ./a", "-- mpiexec -n 2 ./a"),
            ("launch -n 2 ./a", "-- mpiexec -n 2 ./a"),
            ("./a -n x", "-- mpiexec -n 4 ./a -n x"),
            ("./a", "-- mpiexec -n 4 ./a"),
        ] {
            let told = explained(line);
            assert!(told.ends_with(&format!("invivo run {typed}")), "{told}");
        }
    }
}
