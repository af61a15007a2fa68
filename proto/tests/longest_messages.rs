//! The bounds of messages are those of the longest ones that there can be.

mod samples;

use invivo_proto::control;
use invivo_proto::control::histogram::{BINS_MAX, Distribution, Histogram};
use invivo_proto::control::wait_states::{WaitState, Waited};
use invivo_proto::control::{contexts, fault, local, profile, regions, sites, stacks};
use invivo_proto::ids::{CommId, Rank, RegionId, SiteId, WorldRank};

/// The bound of what places tell each other is that of its longest message.
#[test]
fn the_longest_message_of_a_place_fits() {
    let half = control::peer::SendEndpoint {
        destination: Rank(u32::MAX),
        sender: Rank(u32::MAX),
        comm: CommId {
            leader: Rank(u32::MAX),
            counter: u32::MAX,
        },
        source: u32::MAX,
        tag: i32::MIN,
        bytes: u64::MAX,
        begin_ns: u64::MAX,
        end_ns: u64::MAX,
        posted: u64::MAX,
        epoch: u32::MAX,
        region: RegionId(u16::MAX),
        site: SiteId(u16::MAX),
        clipping: control::peer::Clipping::Outside,
    };
    let sends = vec![half; control::peer::ENDPOINTS_MAX];
    let longest = control::peer::Endpoints::new(WorldRank(u32::MAX), u64::MAX, sends);
    let bytes = control::encode(&longest).unwrap().len();
    assert!(bytes <= control::peer::PEER_BYTES_MAX, "{bytes}");

    let enter = Some((u64::MAX, Rank(u32::MAX)));
    let step = control::meetings::Step {
        member: u32::MAX,
        enter_ns: u64::MAX,
        rank: Rank(u32::MAX),
    };
    let arrived = control::meetings::Arrived {
        of: control::meetings::Collective {
            comm: half.comm,
            ordinal: u64::MAX,
        },
        size: u32::MAX,
        meeting: control::meetings::Meeting {
            arrivals: u32::MAX,
            latest: enter,
            first_leave_ns: Some(u64::MAX),
            root: enter,
            steps: vec![step; control::meetings::STEPS_MAX],
            untimed: true,
            error_ns: u64::MAX,
        },
    };
    let mut plain = arrived.clone();
    plain.meeting.steps.clear();
    for arrived in [arrived, plain] {
        let count = control::meetings::MEETINGS_MAX / arrived.meeting.items();
        let meetings = control::meetings::Meetings {
            arrived: vec![arrived; count],
            ..control::meetings::Meetings::default()
        };
        let of = WorldRank(u32::MAX);
        let longest = control::peer::Endpoints::of_meetings(of, u64::MAX, meetings);
        let bytes = control::encode(&longest).unwrap().len();
        assert!(bytes <= control::peer::PEER_BYTES_MAX, "{bytes}");
    }
}

fn longest_waits() -> sites::SiteWaits {
    let causer = sites::Causer {
        rank: Rank(u32::MAX),
        ns: u64::MAX,
    };
    sites::SiteWaits {
        waited: Waited::once(u64::MAX, Rank(u32::MAX)),
        causers: vec![causer; sites::CAUSERS_MAX],
    }
}

/// What a call that completes requests may wait for.
const COMPLETED: [WaitState; 9] = [
    WaitState::LateSender,
    WaitState::LateReceiver,
    WaitState::WaitAtNxN,
    WaitState::WaitAtBarrier,
    WaitState::LateBroadcast,
    WaitState::EarlyReduce,
    WaitState::EarlyScan,
    WaitState::LateSenderWrongOrder,
    WaitState::LateSenderOtherThere,
];

/// A table of call sites is as long as its page says: below 12 MiB.
#[test]
fn the_longest_table_of_call_sites_fits() {
    let row = |number: u32| {
        let site = sites::Site {
            place: sites::Place::Code {
                file: "f".repeat(sites::FILE_BYTES_MAX),
                build_id: vec![0; local::BUILD_ID_BYTES_MAX],
                offset: number.into(),
            },
            region: RegionId(1),
        };
        let named = local::Named {
            function: "f".repeat(stacks::FUNCTION_BYTES_MAX),
            line: "l".repeat(stacks::LINE_BYTES_MAX),
        };
        let stats = sites::SiteStats {
            named: vec![named; local::INLINED_MAX],
            // As may be at an MPI_Waitall.
            waits: COMPLETED.map(|state| (state, longest_waits())).into(),
            distribution: longest_distribution(),
            ..samples::results::site_stats()
        };
        (site, stats)
    };
    let longest = sites::SiteTable {
        rows: (0..sites::ROWS_MAX).map(row).collect(),
        ..sites::SiteTable::default()
    };
    let bytes = control::encode(&longest).unwrap().len();
    assert!(bytes < 12 << 20, "{bytes}");
}

/// Bins as far apart as they can be, each as full as it can be.
fn longest_distribution() -> Distribution {
    let bins = (0..BINS_MAX as u16).map(|number| (number * 7, u64::MAX));
    let longest = Histogram::new(0, bins.collect());
    Distribution {
        durations: longest.clone(),
        sizes: longest,
        ..Distribution::default()
    }
}

/// A table of regions is below 4 MiB.
#[test]
fn the_longest_table_of_regions_fits() {
    let row = |number: u32| {
        let place = sites::Place::Code {
            file: "f".repeat(sites::FILE_BYTES_MAX),
            build_id: vec![0; local::BUILD_ID_BYTES_MAX],
            offset: number.into(),
        };
        let named = local::Named {
            function: "f".repeat(stacks::FUNCTION_BYTES_MAX),
            line: "l".repeat(stacks::LINE_BYTES_MAX),
        };
        let stats = regions::RegionStats {
            named: vec![named; local::INLINED_MAX],
            ..samples::results::region_stats()
        };
        (regions::Region::Function(place), stats)
    };
    let longest = regions::RegionTable {
        rows: (0..regions::ROWS_MAX).map(row).collect(),
        ..regions::RegionTable::default()
    };
    let bytes = control::encode(&longest).unwrap().len();
    assert!(bytes < 4 << 20, "{bytes}");
}

/// The bound of what a supervisor and its place tell each other is that of the longest messages.
#[test]
fn the_longest_messages_of_a_supervisor_fit() {
    let module = local::Module {
        path: "p".repeat(local::PATH_BYTES_MAX),
        build_id: vec![0; local::BUILD_ID_BYTES_MAX],
    };
    let named = local::Named {
        function: "f".repeat(stacks::FUNCTION_BYTES_MAX),
        line: "l".repeat(stacks::LINE_BYTES_MAX),
    };
    let step = local::Step::Code {
        module: 0,
        offset: 0,
    };
    let each = local::PYTHON_BYTES_MAX / stacks::DEPTH_MAX;
    let function = local::PythonFunction {
        name: "f".repeat(each / 2),
        file: "p".repeat(each / 2),
        line: u32::MAX,
    };
    let walked = local::FromSupervisor::Unwound {
        unwinding: 0,
        thread: local::UnwoundThread {
            modules: vec![module.clone(); local::MODULES_MAX],
            path: vec![step; stacks::DEPTH_MAX],
            // The shortest names are the most functions.
            python: vec![function; stacks::DEPTH_MAX],
            ..samples::stacks::walked()
        },
        rest: 0,
    };
    let named = local::FromSupervisor::Named {
        module,
        named: vec![(0, vec![named; local::INLINED_MAX]); local::OFFSETS_MAX],
    };
    let function = "f".repeat(stacks::FUNCTION_BYTES_MAX);
    let step = fault::FaultStep {
        frame: stacks::Frame::Function {
            module: "m".repeat(stacks::MODULE_BYTES_MAX),
            name: function,
        },
        line: "l".repeat(stacks::LINE_BYTES_MAX),
    };
    let faulted = local::FromSupervisor::Faulted(fault::Fault {
        path: vec![step; fault::STEPS_MAX],
        ..samples::stacks::fault()
    });
    let node = profile::Node {
        depth: 0,
        frame: stacks::Frame::Function {
            module: "m".repeat(stacks::MODULE_BYTES_MAX),
            name: "f".repeat(stacks::FUNCTION_BYTES_MAX),
        },
        ns: 0,
        own_ns: 0,
        most: (Rank(0), 0),
        lines: (0..profile::LINES_MAX)
            .map(|at| (format!("{at}{}", "l".repeat(stacks::LINE_BYTES_MAX - 1)), 0))
            .collect(),
    };
    let profiled = local::FromSupervisor::Profiled {
        profile: 0,
        seen: Ok(samples::profile::sampled()),
        nodes: vec![node; local::PROFILE_PART_MAX],
        rest: 0,
    };
    let context = contexts::Context {
        parent: 0,
        frame: stacks::Frame::Python {
            file: "m".repeat(stacks::MODULE_BYTES_MAX),
            name: "f".repeat(stacks::FUNCTION_BYTES_MAX),
        },
    };
    let met = local::FromSupervisor::Contexts {
        first: 1,
        contexts: vec![context; contexts::CONTEXTS_PART_MAX],
    };
    let taken = local::FromSupervisor::Samples {
        tid: 0,
        halvings: 0,
        left_out: 0,
        taken: vec![contexts::Taken::default(); contexts::SAMPLES_PART_MAX],
    };
    for message in [walked, named, faulted, profiled, met, taken] {
        let bytes = control::encode(&message).unwrap().len();
        assert!(bytes <= local::LOCAL_BYTES_MAX, "{bytes}");
    }
}
