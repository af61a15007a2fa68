//! Lines as people type them, and a property: whatever is inserted can be taken out again.

use super::*;
use proptest::prelude::*;

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

/// With two more processes.
fn extended(line: &str) -> Result<String, LineError> {
    let args = words(line);
    let read = read(&args, None)?;
    let line = read.extended(&args, &read.tools_at_the_end(2), &words("invivo exec --"));
    Ok(line
        .iter()
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" "))
}

/// The count is replaced and the tool stands before the program.
#[test]
fn the_count_grows_and_invivo_precedes_the_program() {
    for (line, expected) in [
        (
            "mpiexec -n 4 ./app -n 7",
            "mpiexec -n 6 invivo exec -- ./app -n 7",
        ),
        ("mpirun -np 4 ./app", "mpirun -np 6 invivo exec -- ./app"),
        ("mpirun ./app", ""),
        (
            "mpirun --np 4 --oversubscribe ./app",
            "mpirun --np 6 --oversubscribe invivo exec -- ./app",
        ),
        (
            "orterun -c 4 --mca btl self,vader ./app",
            "orterun -c 6 --mca btl self,vader invivo exec -- ./app",
        ),
        (
            "mpiexec.openmpi -x A=b --map-by ppr:2:socket:PE=2 --np 4 -H a:2,b:2 ./app",
            "mpiexec.openmpi -x A=b --map-by ppr:2:socket:PE=2 --np 6 -H a:2,b:2 invivo exec -- \
             ./app",
        ),
        (
            "/opt/mpich/bin/mpiexec.hydra -genv OMP_NUM_THREADS 2 -l -np=4 -ppn 2 -f hosts ./app \
             :x",
            "/opt/mpich/bin/mpiexec.hydra -genv OMP_NUM_THREADS 2 -l -np=6 -ppn 2 -f hosts invivo \
             exec -- ./app :x",
        ),
        (
            "mpiexec.mpich -n 4 -bind-to=core ./app",
            "mpiexec.mpich -n 6 -bind-to=core invivo exec -- ./app",
        ),
        ("mpiexec -n 4 - x", "mpiexec -n 6 invivo exec -- - x"),
        (
            "mpirun -n 1 ./a x : --np 3 -x A=b ./b y",
            "mpirun -n 1 invivo exec -- ./a x : --np 5 -x A=b invivo exec -- ./b y",
        ),
    ] {
        match extended(line) {
            Ok(got) => assert_eq!(got, expected, "{line}"),
            Err(error) => assert_eq!((expected, error), ("", LineError::NoCount), "{line}"),
        }
    }
}

#[test]
fn what_cannot_be_extended_says_why() {
    for (line, error) in [
        ("./app", LineError::NotALauncher { launcher: false }),
        (
            "aprun -n 4 ./app",
            LineError::NotALauncher { launcher: true },
        ),
        ("mpiexec", LineError::NoProgram),
        ("mpiexec -n 4", LineError::NoProgram),
        ("mpiexec -n", LineError::NoValue("-n".into())),
        ("mpiexec -n 4 -genv A", LineError::NoValue("-genv".into())),
        ("mpiexec -n 0 ./app", LineError::BadCount("0".into())),
        ("mpiexec -n ./app", LineError::BadCount("./app".into())),
        ("mpiexec -n 2 -np 4 ./app", LineError::TwoCounts),
        (
            "mpiexec -n 4 --frobnicate ./app",
            LineError::UnknownOption("--frobnicate".into()),
        ),
        (
            "mpiexec.mpich -n 4 --mca a b ./app",
            LineError::UnknownOption("--mca".into()),
        ),
        (
            "mpiexec.openmpi -n 4 -genv a b ./app",
            LineError::UnknownOption("-genv".into()),
        ),
        ("mpiexec -n 2 ./a : ./b", LineError::NoCount),
        ("mpiexec -n 2 ./a :", LineError::NoProgram),
        ("mpiexec --app file", LineError::ProgramFile("--app".into())),
    ] {
        assert_eq!(read(&words(line), None), Err(error), "{line}");
    }
}

#[test]
fn a_general_name_is_told_by_what_it_leads_to() {
    let name = OsStr::new("mpiexec");
    assert_eq!(flavour(name, None), Some(Flavour::Either));
    assert_eq!(
        flavour(name, Some(Path::new("/usr/bin/mpiexec.openmpi"))),
        Some(Flavour::OpenMpi)
    );
    assert_eq!(
        flavour(name, Some(Path::new("/opt/x/bin/mpiexec.hydra"))),
        Some(Flavour::Hydra)
    );
    assert_eq!(
        flavour(name, Some(Path::new("/opt/x/bin/wrapper"))),
        Some(Flavour::Either)
    );
    assert_eq!(flavour(OsStr::new("bash"), None), None);
}

#[test]
fn no_option_stands_in_two_tables_of_one_launcher() {
    let mut seen = std::collections::BTreeSet::new();
    for (whose, _, names) in OPTIONS {
        for name in *names {
            assert!(
                seen.insert((format!("{whose:?}"), *name)),
                "{name} stands twice for {whose:?}"
            );
        }
    }
    // `mpiexec` that does not tell reads both tables: an option of both must take as many values in
    // both.
    let values = |flavour, name: &str| {
        OPTIONS
            .iter()
            .find(|(whose, _, names)| *whose == flavour && names.contains(&name))
            .map(|entry| entry.1)
    };
    for (_, name) in &seen {
        if let (Some(a), Some(b)) = (values(Flavour::OpenMpi, name), values(Flavour::Hydra, name)) {
            assert_eq!(a, b, "{name}");
        }
    }
    for (_, names) in COUNTS {
        assert!(
            names
                .iter()
                .all(|name| seen.iter().all(|(_, other)| other != name))
        );
    }
}

fn option() -> impl Strategy<Value = Vec<String>> {
    let value =
        "[a-z0-9:=,./]{1,6}".prop_filter("a colon separates programs", |value| value != ":");
    (
        proptest::sample::select(OPTIONS.to_vec()),
        any::<prop::sample::Index>(),
        any::<bool>(),
        [value.clone(), value],
    )
        .prop_map(|((_, values, names), which, two, texts)| {
            let mut words = vec![format!(
                "{}{}",
                if two { "--" } else { "-" },
                names[which.index(names.len())]
            )];
            words.extend(texts.into_iter().take(values));
            words
        })
}

proptest! {
    #[test]
    fn any_line_of_known_options_is_read(
        before in prop::collection::vec(option(), 0..6),
        after in prop::collection::vec(option(), 0..6),
        ranks in 1u32..100_000,
        program in prop::collection::vec("[a-z./-]{1,8}", 0..4),
    ) {
        let mut args: Vec<OsString> = vec!["mpiexec".into()];
        args.extend(before.into_iter().flatten().map(OsString::from));
        args.extend(["-n".into(), ranks.to_string().into()]);
        args.extend(after.into_iter().flatten().map(OsString::from));
        let program_at = args.len();
        args.push("./app".into());
        args.extend(program.into_iter().map(OsString::from));

        let line = read(&args, None).expect("only known options");
        let [part] = line.parts.as_slice() else { panic!("one program") };
        prop_assert_eq!((part.count, part.program.clone()), (ranks, program_at..args.len()));
        let inserted: Vec<OsString> = words("/opt/invivo/bin/invivo exec --");
        let mut extended = line.extended(&args, &line.tools_at_the_end(3), &inserted);
        prop_assert_eq!(&extended[program_at..program_at + 3], &inserted[..]);
        extended.drain(program_at..program_at + 3);
        extended[part.count_at] = ranks.to_string().into();
        prop_assert_eq!(extended, args);
    }
}
