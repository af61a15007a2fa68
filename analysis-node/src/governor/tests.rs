use super::*;
use invivo_proto::control::analyses::AnalysisSet;
use invivo_proto::control::metrics::{Measured, MetricSet};
use invivo_proto::control::sampling::Sampling;
use invivo_proto::control::selection::{Fits, Selection};

const MS: u64 = 1_000_000;
const RANKS: u32 = 4;

/// A job whose measurement takes shares of the ranks' time that are known, and does what it is
/// ordered.
struct Job {
    governor: Governor,
    now_ns: u64,
    coverage: Coverage,
    /// What regions of less than 1 us, 10 us and all others take.
    regions: [f64; 3],
    /// What each Hz takes.
    per_hz: f64,
    /// What reading metrics takes at 100 ms.
    metrics: f64,
    calls: f64,
    /// Calls of each rank in 50 ms, where they are counted.
    counted: u64,
    /// What places take for them with all analyses, and for being there.
    places: f64,
    idle: f64,
    /// The same while they are awake behind an order.
    awake: f64,
    awake_until_ns: u64,
    /// As ordered.
    selection: Selection,
    sampling: u32,
    measured: Measured,
    recording: bool,
    analyses: bool,
    /// What was ordered, and what was said.
    orders: Vec<Order>,
    lines: Vec<String>,
    refuses: bool,
}

impl Job {
    fn new(cap: &str, wanted: Wanted) -> Job {
        let mut governor = Governor::new(wanted.clone());
        governor.set_cap(0, Some(cap.parse().expect("a cap")));
        Job {
            governor,
            now_ns: 0,
            coverage: Coverage::default(),
            regions: [0.0; 3],
            per_hz: 0.0,
            metrics: 0.0,
            calls: 0.001,
            counted: 0,
            places: 0.0,
            idle: 0.0,
            awake: 0.0,
            awake_until_ns: 0,
            selection: Selection::default(),
            sampling: wanted.sampling.frequency,
            measured: wanted.metrics,
            recording: true,
            analyses: true,
            orders: Vec::new(),
            lines: Vec::new(),
            refuses: false,
        }
    }

    /// The shares for regions, calls, and what samples and measures.
    fn shares(&self) -> (f64, f64, f64) {
        let excluded = self.selection.rules.iter().map(|rule| &rule.fits);
        let kept = excluded.fold(self.regions, |[short, longer, long], fits| match fits {
            Fits::Short { mean_ns: 1_000, .. } => [0.0, longer, long],
            Fits::Short { .. } => [0.0, 0.0, long],
            fits if fits.fits_all() => [0.0; 3],
            _ => [short, longer, long],
        });
        let (on, analyses) = (f64::from(self.recording), f64::from(self.analyses));
        let calls = self.calls * on * (0.5 + 0.5 * analyses);
        let metrics = match self.measured.set.is_empty() {
            true => 0.0,
            false => self.metrics * 1e8 / self.measured.interval_ns as f64,
        };
        let observers = f64::from(self.sampling) * self.per_hz + metrics;
        (kept.iter().sum::<f64>() * on, calls, observers)
    }

    /// What places take from the ranks.
    fn displaced(&self) -> f64 {
        let is_awake = self.now_ns < self.awake_until_ns;
        let there = if is_awake { self.awake } else { self.idle };
        there + self.places * f64::from(self.recording && self.analyses)
    }

    fn share(&self) -> f64 {
        let (regions, calls, observers) = self.shares();
        regions + calls + observers + self.displaced()
    }

    /// Lets time pass in steps of 50 ms.
    fn run(&mut self, ms: u64) {
        let mut status = JobStatus::default();
        status.states[1] = RANKS;
        for _ in 0..ms / 50 {
            self.now_ns += 50 * MS;
            let (regions, calls, observers) = self.shares();
            let ns = |share: f64| (share * (50 * MS * u64::from(RANKS)) as f64) as u64;
            self.coverage.overhead_ns += ns(regions + calls);
            self.coverage.ledger.entered += self.counted * u64::from(RANKS);
            self.coverage.overhead_regions_ns += ns(regions);
            self.coverage.observer_cpu_ns += ns(observers);
            let tools = ns(observers + self.displaced());
            self.coverage.tool_cpu_ns += tools;
            self.coverage.displaced_ns += tools;
            if self.governor.asks(self.now_ns) {
                let line = self.governor.hears(self.now_ns, &status, &self.coverage);
                self.lines.extend(line);
            }
            if let Some(order) = self.governor.order() {
                self.obey(order);
            }
        }
    }

    fn obey(&mut self, order: Order) {
        if !self.refuses {
            match order.clone() {
                Order::Select(selection) => self.selection = selection,
                Order::Sampling(sampling) => self.sampling = sampling.frequency,
                Order::Metrics(measured) => self.measured = measured,
                Order::Record { on } => self.recording = on,
                Order::Analyses { on, .. } => self.analyses = on,
                other => panic!("{other:?} is not the governor's"),
            }
        }
        self.orders.push(order);
        self.awake_until_ns = self.now_ns + 3000 * MS;
        let acks = Acks {
            targets: RANKS,
            done: if self.refuses { 0 } else { RANKS },
            ..Acks::default()
        };
        self.governor.ordered(self.now_ns, Some(&acks));
    }

    /// What was taken since the start, as a share of the ranks' time.
    fn taken(&self) -> f64 {
        let ns = self.coverage.overhead_ns + self.coverage.displaced_ns;
        ns as f64 / (self.now_ns * u64::from(RANKS)) as f64
    }

    fn given_up(&self) -> Vec<String> {
        self.governor.status().given_up
    }
}

fn wanted() -> Wanted {
    Wanted {
        analyses: AnalysisSet::DEFAULT,
        recording: true,
        ..Wanted::default()
    }
}

#[test]
fn tiny_regions_go_first_and_within_two_seconds() {
    let mut job = Job::new("2%", wanted());
    job.regions = [0.6, 0.0, 0.01];
    job.run(2000);
    assert!(job.share() < 0.02, "{}", job.share());
    assert_eq!(
        job.given_up(),
        ["regions shorter than 10us are not recorded"]
    );
    assert_eq!(job.lines.len(), 1, "{:?}", job.lines);
    let line = "overhead 61.1 % is above 2%: regions shorter than 10us are not recorded \
                (`invivo overhead` says more)";
    assert_eq!(job.lines[0], line);
    job.run(60_000);
    assert_eq!(job.lines.len(), 1, "{:?}", job.lines);
    let note = "to keep the overhead below 2%: regions shorter than 10us are not recorded";
    assert_eq!(job.governor.note().as_deref(), Some(note));
}

#[test]
fn steps_are_one_by_one_where_the_cap_is_near() {
    let mut job = Job::new("2%", wanted());
    job.regions = [0.02, 0.01, 0.005];
    job.run(5000);
    assert_eq!(
        job.given_up(),
        ["regions shorter than 1us are not recorded"]
    );
    job.regions = [0.02, 0.03, 0.005];
    job.run(5000);
    assert_eq!(
        job.given_up(),
        ["regions shorter than 10us are not recorded"]
    );
    assert_eq!(job.lines.len(), 1);
}

#[test]
fn what_costs_nothing_is_not_given_up() {
    let mut wanted = wanted();
    wanted.sampling = Sampling::perf(1000);
    wanted.metrics = Measured {
        set: MetricSet::USUAL,
        interval_ns: 100 * MS,
    };
    let mut job = Job::new("2%", wanted);
    (job.per_hz, job.metrics, job.regions) = (0.05 / 1000.0, 0.01, [0.0005, 0.0, 0.0]);
    job.run(10_000);
    assert!(job.share() < 0.02, "{}", job.share());
    let given_up = job.given_up();
    assert!(
        given_up[0].starts_with("62 samples a second"),
        "{given_up:?}"
    );
    assert_eq!(given_up.len(), 1, "{given_up:?}");
    assert_eq!(job.selection, Selection::default());
}

#[test]
fn all_comes_back_when_the_program_is_another() {
    let mut job = Job::new("2%", wanted());
    job.regions = [0.5, 0.2, 0.1];
    job.run(8000);
    assert_eq!(job.given_up(), ["regions are not recorded"]);
    job.regions = [0.001, 0.001, 0.001];
    job.run(60_000);
    assert_eq!(job.given_up(), [""; 0]);
    assert_eq!(job.selection.rules, []);
    let events = job.governor.status().events;
    let last = events.last().map(|(_, sentence)| sentence.as_str());
    assert_eq!(last, Some("overhead 0.3 %: regions are recorded again"));
}

#[test]
fn it_tries_ever_more_rarely_what_does_not_last() {
    let mut job = Job::new("2%", wanted());
    job.regions = [0.5, 0.0, 0.0];
    job.run(600_000);
    let switches = job.orders.len();
    assert!((4..16).contains(&switches), "{switches} in ten minutes");
    job.run(600_000);
    let later = job.orders.len() - switches;
    assert!(later <= 4, "{later} in the next ten");
}

#[test]
fn far_above_the_cap_all_that_is_dear_goes() {
    let mut wanted = wanted();
    wanted.sampling = Sampling::perf(100);
    let mut job = Job::new("2%", wanted);
    job.run(30_000);
    assert_eq!(job.orders, []);
    (job.calls, job.places, job.per_hz) = (0.5, 0.5, 0.005 / 100.0);
    job.run(1500);
    assert!(job.share() < 0.02, "{}", job.share());
    let details: Vec<&str> = job.orders.iter().map(Order::name).collect();
    assert_eq!(details, ["analyses", "record", "selection"]);
    let said = job.lines.concat();
    let all = [
        "analyses are off",
        "carry no messages",
        "nothing is recorded",
    ];
    assert!(all.iter().all(|one| said.contains(one)), "{said}");
    assert!(job.lines.len() <= 2, "{said}");
}

/// How long it takes until the job is so, in ms.
fn until(job: &mut Job, is_so: fn(&Job) -> bool) -> u64 {
    for ms in (0..60_000).step_by(50) {
        if is_so(job) {
            return ms;
        }
        job.run(50);
    }
    panic!("ordered: {:?}", job.orders);
}

#[test]
fn a_flood_that_is_counted_needs_one_look() {
    let [uncounted, counted] = [0, 400_000].map(|counted| {
        let mut job = Job::new("2%", wanted());
        job.run(300);
        (job.calls, job.counted) = (0.5, counted);
        until(&mut job, |job| !job.orders.is_empty())
    });
    let sooner = uncounted.saturating_sub(counted);
    assert_eq!(sooner, LOOK_NS / MS, "{uncounted} {counted}");
}

#[test]
fn a_flood_that_comes_back_is_seen_at_once() {
    let mut job = Job::new("2%", wanted());
    job.calls = 0.5;
    until(&mut job, |job| !job.recording);
    until(&mut job, |job| job.recording);
    let tried_ms = until(&mut job, |job| !job.recording);
    assert!(tried_ms <= LOOK_NS / MS + 100, "{tried_ms} ms");
}

#[test]
fn what_is_left_below_the_cap_stays() {
    let mut job = Job::new("2%", wanted());
    (job.regions, job.calls) = ([0.6, 0.0, 0.0], 0.01);
    job.run(5000);
    let details: Vec<&str> = job.orders.iter().map(Order::name).collect();
    assert_eq!(details, ["selection"]);
}

#[test]
fn bursts_of_calls_take_little_more_than_the_cap() {
    let mut job = Job::new("2%", wanted());
    (job.places, job.idle) = (0.0, 0.004);
    for _ in 0..15 {
        job.calls = 0.6;
        job.run(6000);
        job.calls = 0.001;
        job.run(34_000);
    }
    let taken = job.taken();
    assert!(taken < 0.03, "{taken}");
    // And they are not the end of it.
    job.run(600_000);
    assert_eq!(job.given_up(), [""; 0]);
}

#[test]
fn tools_that_idle_hold_nothing_back() {
    let mut job = Job::new("2%", wanted());
    (job.calls, job.idle) = (0.3, 0.019);
    job.run(10_000);
    assert!(job.given_up().contains(&"nothing is recorded".to_owned()));
    job.calls = 0.0005;
    job.run(500_000);
    assert_eq!(job.given_up(), [""; 0]);
}

#[test]
fn tools_that_are_awake_behind_an_order_count_for_nothing() {
    let mut job = Job::new("2%", wanted());
    (job.calls, job.idle, job.awake) = (0.3, 0.004, 0.03);
    job.run(5000);
    assert!(!job.recording);
    job.calls = 0.001;
    job.run(90_000);
    assert_eq!(job.given_up(), [""; 0]);
    let tries = job.orders.iter().filter(|order| order.name() == "record");
    assert_eq!(tries.count(), 2, "it lasts at once");
    let said = job.lines.concat();
    assert!(!said.contains(NOTHING_HELPS), "{said}");
}

#[test]
fn a_kind_that_does_not_last_holds_no_other_back() {
    let mut wanted = wanted();
    wanted.sampling = Sampling::perf(1000);
    let mut job = Job::new("2%", wanted);
    job.calls = 0.5;
    job.run(300_000);
    assert!(!job.recording);
    job.per_hz = 0.1 / 1000.0;
    job.run(5000);
    assert!(job.sampling < 1000);
    // Calls are as dear as before, and samples are not.
    job.per_hz = 0.0;
    job.run(40_000);
    assert_eq!((job.sampling, job.recording), (1000, false));
}

#[test]
fn a_users_command_is_not_undone() {
    let mut job = Job::new("2%", wanted());
    job.regions = [0.5, 0.0, 0.0];
    job.run(3000);
    assert!(job.share() < 0.02);
    let all = Order::Select(Selection {
        replaces: true,
        rules: Vec::new(),
    });
    job.governor.heard(job.now_ns, &all);
    job.selection.rules.clear();
    let given = job.orders.len();
    job.run(9000);
    let after: Vec<&str> = job.orders[given..].iter().map(Order::name).collect();
    assert!(!after.contains(&"selection"), "{after:?}");
    assert_eq!(job.governor.status().decided, ["invivo selection"]);

    // A cap that is set again counts anew.
    job.governor.heard(
        job.now_ns,
        &Order::Overhead {
            cap: "2%".parse().ok(),
        },
    );
    job.run(9000);
    assert!(job.share() < 0.02);
    assert_eq!(job.governor.status().decided, [""; 0]);
}

#[test]
fn without_a_cap_all_is_as_the_user_wants_it() {
    let mut wanted = wanted();
    wanted.sampling = Sampling::perf(10_000);
    wanted.rules = vec![rule("solve*", true)];
    let rules = wanted.rules.clone();
    let mut job = Job::new("1%", wanted);
    (job.per_hz, job.calls, job.regions) = (0.3 / 10_000.0, 0.2, [0.2; 3]);
    job.run(30_000);
    assert!(job.share() < 0.01, "{}", job.share());
    assert_eq!(
        job.selection.rules.last(),
        rules.last(),
        "the user's rules decide"
    );
    job.governor
        .heard(job.now_ns, &Order::Overhead { cap: None });
    job.run(3000);
    assert_eq!(job.selection.rules, rules);
    assert_eq!(
        (job.sampling, job.recording, job.analyses),
        (10_000, true, true)
    );
    let status = job.governor.status();
    assert_eq!((status.cap, status.given_up), (None, Vec::new()));
    assert!(!status.events.is_empty(), "what was done is told on");
    assert!(
        !job.governor.asks(u64::MAX),
        "nothing is asked without a cap"
    );
}

#[test]
fn a_step_that_is_refused_is_not_tried_again() {
    let mut job = Job::new("2%", wanted());
    (job.refuses, job.regions) = (true, [0.5, 0.0, 0.0]);
    job.run(60_000);
    let of_regions = job
        .orders
        .iter()
        .filter(|order| order.name() == "selection");
    assert_eq!(of_regions.count(), 1);
    let status = job.governor.status();
    assert!(status.is_exhausted, "{status:?}");
    assert_eq!((status.given_up, status.decided), (Vec::new(), Vec::new()));
    assert!(job.lines.len() <= 3, "{:?}", job.lines);
}

#[test]
fn a_moment_above_the_cap_changes_nothing() {
    let mut job = Job::new("2%", wanted());
    job.run(5000);
    for _ in 0..20 {
        job.regions = [0.05, 0.0, 0.0];
        job.run(300);
        job.regions = [0.0; 3];
        job.run(2000);
    }
    assert_eq!(job.orders, []);
}

#[test]
fn a_missing_member_or_a_pause_tells_nothing() {
    let mut governor = Governor::new(wanted());
    governor.set_cap(0, "1%".parse().ok());
    let mut status = JobStatus::default();
    let mut coverage = Coverage::default();
    let mut at = 0;
    for (states, overhead_ns) in [
        ([0, 4, 0, 0, 0, 0], 100),
        ([0, 4, 0, 0, 0, 0], 50),
        ([0, 0, 0, 4, 0, 0], 90_000 * MS),
        ([0, 4, 0, 0, 0, 0], 180_000 * MS),
        ([0, 0, 0, 0, 4, 0], 270_000 * MS),
    ] {
        at += 10_000 * MS;
        assert!(governor.asks(at));
        (status.states, coverage.overhead_ns) = (states, overhead_ns);
        assert_eq!(governor.hears(at, &status, &coverage), None);
        assert_eq!(governor.order(), None);
    }
    assert!(governor.asks(at + 10_000 * MS));
    governor.unanswered();
    assert!(governor.asks(at + 20_000 * MS), "it asks again");
}

fn rule(pattern: &str, include: bool) -> invivo_proto::control::selection::Rule {
    invivo_proto::control::selection::Rule {
        include,
        fits: Fits::Name(pattern.to_owned()),
    }
}
