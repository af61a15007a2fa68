//! Examples of where ranks are.

use invivo_proto::control::fault::{Fault, FaultStep};
use invivo_proto::control::local::{Module, Named, PythonFunction, Step, UnwoundThread};
use invivo_proto::control::stacks::*;
use invivo_proto::ids::Rank;

/// Some ranks, in two ranges.
pub fn chosen() -> Chosen {
    Chosen::of(&[(Rank(0), Rank(3)), (Rank(7), Rank(7))]).expect("two ranges")
}

/// Where some ranks are.
pub fn stacks() -> Stacks {
    let node = |depth, frame, ranks: &[u32], ends| Node {
        depth,
        frame,
        ranks: ranks.len() as u32,
        threads: ranks.len() as u64,
        ends,
        named: ranks.iter().copied().map(Rank).collect(),
        lines: [("solve.c:42".to_owned(), ranks.len() as u64)].into(),
    };
    let function = |name: &str| Frame::Function {
        module: "app".into(),
        name: name.into(),
    };
    let python = |name: &str| Frame::Python {
        file: "solve.py".into(),
        name: name.into(),
    };
    let whose = |ranks: &[u32]| Whose {
        ranks: ranks.len() as u32,
        threads: 2,
        named: ranks.iter().copied().map(Rank).collect(),
    };
    Stacks {
        nodes: vec![
            node(0, Frame::Lost, &[7], 0),
            node(1, Frame::LeftOut, &[7], 0),
            node(2, function("solve"), &[7], 1),
            node(0, function("main"), &[0, 1], 1),
            node(1, function("exchange"), &[1], 1),
            node(0, python("solve"), &[0], 1),
        ],
        ways: [
            (Way::Stopped, whose(&[0, 1])),
            (Way::Asleep, whose(&[1])),
            (Way::Unstopped(UnstoppedReason::Traced), whose(&[7])),
            (Way::Missing(UnstoppedReason::Forbidden), whose(&[2, 3])),
        ]
        .into(),
        ranks: 5,
        left_out: 3,
        unnamed: 1,
        longest_stop: Some((43_000, Rank(1))),
        no_python: [
            NoPython::Version {
                major: 3,
                minor: 15,
            },
            NoPython::FreeThreaded,
            NoPython::NoRuntime,
            NoPython::Unreadable,
        ]
        .map(|why| (why, whose(&[1])))
        .into(),
    }
}

/// Where a thread was that ended its rank.
pub fn fault() -> Fault {
    let step = |name: &str, line: &str| FaultStep {
        frame: Frame::Function {
            module: "app".into(),
            name: name.into(),
        },
        line: line.into(),
    };
    Fault {
        signal: Some(11),
        code: 1,
        address: Some(0x10),
        tid: 4711,
        is_first: true,
        path: vec![step("solve", "solver.c:42"), step("main", "main.c:7")],
        is_whole: true,
        missing: None,
        no_python: Some(NoPython::Unreadable),
    }
}

/// A file with code.
pub fn module() -> Module {
    Module {
        path: "/home/user/app".into(),
        build_id: vec![0xab, 0xcd, 0xef],
    }
}

/// Where a thread is.
pub fn walked() -> UnwoundThread {
    UnwoundThread {
        way: Way::Stopped,
        stop_ns: 43_000,
        modules: vec![module()],
        path: vec![
            Step::Code {
                module: 0,
                offset: 0x1139,
            },
            Step::LeftOut,
            Step::Nowhere,
            Step::Python { function: 0 },
        ],
        is_whole: true,
        left_out: 2,
        python: vec![PythonFunction {
            name: "Solver.step".into(),
            file: "solve.py".into(),
            line: 42,
        }],
        no_python: Some(NoPython::Version { major: 3, minor: 8 }),
    }
}

/// What is at some addresses: a function into which another one was inlined, and one of which
/// nothing is known.
pub fn named() -> Vec<(u64, Vec<Named>)> {
    let named = |function: &str, line: &str| Named {
        function: function.into(),
        line: line.into(),
    };
    vec![
        (
            0x1139,
            vec![named("dot", "solve.c:12"), named("solve", "solve.c:42")],
        ),
        (0x2000, vec![]),
    ]
}
