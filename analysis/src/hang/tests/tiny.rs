//! A tiny MPI of a few ranks: programs of synchronous sends, receives, waits and collectives, run
//! step by step in a random order until nothing moves any more. Whoever has not finished then is in
//! a deadlock, by definition. What `explain` calls stuck is compared with that: all of it at the
//! end, and at any moment before nobody who still moves.

use super::*;

const RANKS: usize = 4;

#[derive(Clone, Debug)]
enum Step {
    /// The real thing takes time; here it is one step that is always possible.
    Compute,
    /// Sends and receives, waited for all or any; what an any leaves over is waited for at the end.
    Messages {
        any: bool,
        operations: Vec<Operation>,
    },
    /// The next collective.
    Collective { region: &'static str, root: i32 },
}

#[derive(Clone, Debug)]
struct Process {
    steps: Vec<Step>,
    at: usize,
    /// What is posted and not complete. The step in progress waits for what is marked so.
    open: Vec<Operation>,
    /// Some operation of the step is complete.
    one_done: bool,
    posted: bool,
    collectives: u64,
}

#[derive(Clone, Debug)]
enum Move {
    Post(usize),
    Match((usize, usize), (usize, usize)),
    Leave(usize),
}

fn programs(alike: bool) -> impl Strategy<Value = Vec<Process>> {
    let operation = (any::<bool>(), 0..RANKS as u32 + 1, 0..2i32, any::<bool>()).prop_map(
        |(sends, peer, tag, any_tag)| {
            let peer = if peer == RANKS as u32 {
                None
            } else {
                Some(Rank(peer))
            };
            Operation {
                waited: true,
                side: if sends { Side::Send } else { Side::Recv },
                peer: match peer {
                    Some(rank) => Partner::Rank(rank),
                    None if sends => Partner::Rank(Rank(0)),
                    None => Partner::Any,
                },
                comm: CommId::WORLD,
                tag: if any_tag && !sends { ANY_TAG } else { tag },
            }
        },
    );
    let messages = (any::<bool>(), prop::collection::vec(operation, 1..3))
        .prop_map(|(any, operations)| Step::Messages { any, operations });
    let collective = (
        prop::sample::select(vec!["MPI_Barrier", "MPI_Bcast", "MPI_Reduce"]),
        0..RANKS as i32,
    )
        .prop_map(|(region, root)| Step::Collective {
            region,
            root: if region == "MPI_Barrier" {
                peer::NONE
            } else {
                root
            },
        });
    let own = move |collective: BoxedStrategy<Step>| {
        let step = prop_oneof![1 => Just(Step::Compute), 4 => messages.clone(), 2 => collective];
        prop::collection::vec(prop::collection::vec(step, 0..4), RANKS)
    };

    let common = prop::collection::vec(collective.clone(), 4);
    (own(collective.boxed()), common).prop_map(move |(all, common)| {
        let of = |mut steps: Vec<Step>| {
            // The same collectives in the same order on all ranks, as far as each goes.
            let mut next = common.iter().cloned();
            for step in &mut steps {
                if let (true, Step::Collective { .. }) = (alike, &step) {
                    *step = next.next().expect("as many as steps");
                }
            }
            Process {
                steps,
                at: 0,
                open: Vec::new(),
                one_done: false,
                posted: false,
                collectives: 0,
            }
        };
        all.into_iter().map(of).collect()
    })
}

impl Process {
    fn is_finished(&self) -> bool {
        self.at == self.steps.len() && self.open.is_empty()
    }

    fn collective(&self) -> Option<CollectiveCall> {
        match self.steps.get(self.at) {
            Some(Step::Collective { region: name, root }) if self.posted => {
                Some(collective(name, self.collectives, *root))
            }
            _ => None,
        }
    }

    fn waits_for_any(&self) -> bool {
        matches!(
            self.steps.get(self.at),
            Some(Step::Messages { any: true, .. })
        )
    }
}

/// Who has come to which collective, and left it since.
type Come = Vec<Vec<CollectiveCall>>;

fn moves(all: &[Process], come: &Come) -> Vec<Move> {
    let mut possible = Vec::new();
    for (rank, one) in all.iter().enumerate() {
        if one.at < one.steps.len() && !one.posted {
            possible.push(Move::Post(rank));
            continue;
        }
        for (n, send) in one
            .open
            .iter()
            .enumerate()
            .filter(|(_, operation)| operation.side == Side::Send)
        {
            let Partner::Rank(to) = send.peer else {
                continue;
            };
            let fits = |recv: &Operation| {
                recv.side == Side::Recv
                    && (recv.peer == Partner::Any || recv.peer == Partner::Rank(Rank(rank as u32)))
                    && (recv.tag == ANY_TAG || recv.tag == send.tag)
            };
            let to = to.0 as usize;
            if let Some(m) = all[to].open.iter().position(fits) {
                possible.push(Move::Match((rank, n), (to, m)));
            }
        }
        let leaves = match one.steps.get(one.at) {
            None => false,
            Some(Step::Compute) => true,
            Some(Step::Messages { any, .. }) => {
                let waits = one.open.iter().any(|operation| operation.waited);
                !waits || (*any && one.one_done)
            }
            Some(Step::Collective { region, root }) => {
                let here = one.collective();
                let has_come = |rank: usize| here.is_some_and(|here| come[rank].contains(&here));
                match *region {
                    "MPI_Bcast" => *root == rank as i32 || has_come(*root as usize),
                    "MPI_Reduce" => *root != rank as i32 || (0..RANKS).all(has_come),
                    _ => (0..RANKS).all(has_come),
                }
            }
        };
        if leaves {
            possible.push(Move::Leave(rank));
        }
    }

    possible
}

fn make(all: &mut [Process], come: &mut Come, what: &Move) {
    match *what {
        Move::Post(rank) => {
            let one = &mut all[rank];
            one.posted = true;
            one.one_done = false;
            if let Step::Messages { operations, .. } = &one.steps[one.at] {
                one.open.extend(operations.iter().copied());
            }
            come[rank].extend(one.collective());
        }
        Move::Match((from, n), (to, m)) => {
            for (rank, at) in [(from, n), (to, m)] {
                all[rank].one_done |= all[rank].open[at].waited;
            }
            let (first, second) = if (from, n) > (to, m) {
                ((from, n), (to, m))
            } else {
                ((to, m), (from, n))
            };
            all[first.0].open.remove(first.1);
            all[second.0].open.remove(second.1);
        }
        Move::Leave(rank) => {
            let one = &mut all[rank];
            one.collectives += u64::from(one.collective().is_some());
            one.at += 1;
            one.posted = false;
            // What was not waited for is waited for in the end.
            let ends = one.at == one.steps.len();
            for operation in &mut one.open {
                operation.waited = ends;
            }
        }
    }
}

/// What a place would say of this moment. Calls that could come back just now have not been pending
/// for long.
fn seen(all: &[Process], come: &Come) -> Hang {
    let mut waits = Hang::default();
    let leaving: Vec<usize> = moves(all, come)
        .iter()
        .filter_map(|what| match what {
            Move::Leave(rank) => Some(*rank),
            Move::Post(_) | Move::Match(..) => None,
        })
        .collect();
    for (rank, one) in all.iter().enumerate() {
        let doing = if one.is_finished() {
            Doing::Finished
        } else if let Some(collective) = one.collective() {
            Doing::Collective(collective)
        } else if one.open.iter().any(|operation| operation.waited)
            && (one.posted || one.at == one.steps.len())
        {
            Doing::Messages(region("MPI_Waitall"))
        } else {
            Doing::Computing
        };
        let told = Pending {
            since_ns: if leaving.contains(&rank) {
                0
            } else {
                2 * SETTLED_NS
            },
            any: one.waits_for_any(),
            operations: one.open.clone(),
            passed: [(CommId::WORLD, one.collectives)].into(),
            ..pending(rank as u32, doing)
        };
        add_pending(&mut waits, told);
    }

    waits
}

/// Which of the ranks the findings' graph calls stuck; the diagnosis says how many.
fn stuck(all: &[Process], come: &Come) -> u32 {
    diagnose(&seen(all, come)).stuck
}

fn run(all: &mut [Process], come: &mut Come, order: &mut impl Iterator<Item = usize>, most: usize) {
    for _ in 0..most {
        let possible = moves(all, come);
        let Some(pick) = order.next().filter(|_| !possible.is_empty()) else {
            return;
        };
        make(all, come, &possible[pick % possible.len()]);
    }
}

proptest! {
    #[test]
    fn what_stands_still_for_ever_is_all_called_stuck(
        mut all in programs(true),
        order in prop::collection::vec(0usize..1000, 200),
    ) {
        let mut come: Come = vec![Vec::new(); RANKS];
        run(&mut all, &mut come, &mut order.into_iter(), 200);
        prop_assume!(moves(&all, &come).is_empty());
        let unfinished = all.iter().filter(|one| !one.is_finished()).count();
        prop_assert_eq!(stuck(&all, &come) as usize, unfinished,
        "{:?}", diagnose(&seen(&all, &come)));
        let verdict = diagnose(&seen(&all, &come)).verdict;
        prop_assert_eq!(verdict == Verdict::Deadlock, unfinished > 0);
        // There is always a reason to tell.
        prop_assert_eq!(diagnose(&seen(&all, &come)).findings.is_empty(), unfinished == 0);
    }

    #[test]
    fn nobody_who_still_moves_is_called_stuck(
        mut all in programs(false),
        order in prop::collection::vec(0usize..1000, 200),
        until in 0usize..30,
    ) {
        let mut come: Come = vec![Vec::new(); RANKS];
        let mut order = order.into_iter();
        run(&mut all, &mut come, &mut order, until);
        let told = diagnose(&seen(&all, &come));
        let then = told.stuck;
        let before: Vec<usize> = all.iter().map(|one| one.at).collect();
        run(&mut all, &mut come, &mut order, 200);
        let still = all
            .iter()
            .zip(&before)
            .filter(|(one, before)| !one.is_finished() && one.at == **before);
        // As many ranks at least have not moved since as were called stuck.
        prop_assert!(still.count() >= then as usize, "{told:?}");
    }
}
