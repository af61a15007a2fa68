//! What one rank did over time: bins of job time, in memory that does not grow with the run.
//!
//! Calls of a packet come in the order of time and are short beside a bin: what falls into the bin
//! of the call before is added to some numbers. They go into the pyramids when another bin comes,
//! or when a call touches more than one.

use invivo_analysis::iterations::Clock;
use invivo_analysis::pauses::Pauses;
use invivo_mpi_link::clock::NodeClock;
use invivo_otfx::{Cell, Pyramid};
use invivo_proto::control::grid::{Axes, BINS, CallMetric, UNIT_NS};

/// Job time of ticks, counted from a point that both clocks know.
#[derive(Clone, Copy)]
pub struct JobTime<'a> {
    /// The point, in ticks and in ns.
    pub anchor: (u64, u64),
    pub clock: &'a NodeClock,
}

impl JobTime<'_> {
    /// Job time of a tick.
    pub fn ns(&self, ticks: u64) -> u64 {
        let (at, ns) = self.anchor;
        if ticks >= at {
            ns.saturating_add(self.clock.duration_ns(ticks - at))
        } else {
            ns.saturating_sub(self.clock.duration_ns(at - ticks))
        }
    }

    /// The tick of a job time.
    pub fn ticks(&self, job_ns: u64) -> u64 {
        let (at, ns) = self.anchor;
        if job_ns >= ns {
            at.saturating_add(self.clock.duration_ticks(job_ns - ns))
        } else {
            at.saturating_sub(self.clock.duration_ticks(ns - job_ns))
        }
    }
}

impl Clock for JobTime<'_> {
    fn job_ns(&self, at: u64) -> u64 {
        self.ns(at)
    }

    fn duration_ns(&self, ticks: u64) -> u64 {
        self.clock.duration_ns(ticks)
    }
}

/// When a call was, in ticks.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub begin: u64,
    pub end: u64,
    /// Ticks of it in which the job was not paused.
    pub net: u64,
}

/// The bin that the last call lay in, and what fell into it since it is the last one's.
#[derive(Clone, Debug)]
struct Latest {
    /// Its edges in ticks; of nobody at first.
    from: u64,
    to: u64,
    /// When it begins, in job time.
    begin_ns: u64,
    calls: u64,
    ticks: u64,
    bytes: u64,
}

/// One rank's.
#[derive(Clone, Debug)]
pub struct OverTime {
    latest: Latest,
    /// When the last call ended, in ticks.
    last_end: u64,
    /// Made at the first call: a place has room for more ranks than come.
    pyramids: Option<Box<Pyramids>>,
    /// For how long it waited for others; made at the first wait. 50 KiB.
    waiting: Option<Box<Pyramid>>,
}

/// 100 KiB.
#[derive(Clone, Debug)]
struct Pyramids {
    /// Calls by the bin that they ended in; the sum is the time in MPI, in ns, in every bin that
    /// they touched.
    time: Pyramid,
    /// Bytes by the bin that their call ended in.
    bytes: Pyramid,
}

impl Default for OverTime {
    fn default() -> OverTime {
        OverTime {
            latest: Latest {
                from: u64::MAX,
                to: 0,
                begin_ns: 0,
                calls: 0,
                ticks: 0,
                bytes: 0,
            },
            last_end: 0,
            pyramids: None,
            waiting: None,
        }
    }
}

impl OverTime {
    /// Adds a call that lies in the bin of the last one. False where it does not: then
    /// [`OverTime::turn`] has to.
    #[inline(always)]
    pub fn add(&mut self, call: Span, bytes: u64) -> bool {
        let latest = &mut self.latest;
        if call.begin < latest.from || call.end >= latest.to {
            return false;
        }
        latest.calls += 1;
        latest.ticks += call.net;
        latest.bytes = latest.bytes.saturating_add(bytes);
        self.last_end = call.end;
        true
    }

    /// Adds a call that lies in another bin, or in several.
    #[cold]
    pub fn turn(&mut self, call: Span, bytes: u64, pauses: &Pauses, time: &JobTime<'_>) {
        self.flush(time.clock);
        self.last_end = self.last_end.max(call.end);
        let (begin_ns, end_ns) = (time.ns(call.begin), time.ns(call.end));
        let pyramids = self.pyramids.get_or_insert_with(|| {
            let new = || Pyramid::new(BINS as usize, UNIT_NS);
            Box::new(Pyramids {
                time: new(),
                bytes: new(),
            })
        });
        // Both ends first: the width does not change between them then.
        pyramids.time.add_cell(end_ns, &sum(0, 0));
        pyramids.time.add_cell(begin_ns, &sum(0, 0));
        let width_ns = pyramids.time.width();
        let bin = |ns: u64| ns / width_ns;
        let mut at = call.begin;
        for number in bin(begin_ns)..bin(end_ns) {
            let edge_ns = (number + 1).saturating_mul(width_ns);
            let to = time.ticks(edge_ns).clamp(at, call.end);
            let net = time.clock.duration_ns(pauses.net(at, to).ticks);
            pyramids.time.add_cell(edge_ns - 1, &sum(0, net));
            at = to;
        }
        // The rest lies in the bin of its end, which is the next call's as well, mostly.
        let begin_ns = bin(end_ns).saturating_mul(width_ns);
        self.latest = Latest {
            from: time.ticks(begin_ns),
            to: time.ticks(begin_ns.saturating_add(width_ns)),
            begin_ns,
            calls: 1,
            ticks: pauses.net(at, call.end).ticks,
            bytes,
        };
    }

    /// Adds bytes that a call moved which was added before.
    pub fn more(&mut self, bytes: u64) {
        self.latest.bytes = self.latest.bytes.saturating_add(bytes);
    }

    /// It waited for another rank, from then on (job time) for so long.
    pub fn wait(&mut self, from_ns: u64, ns: u64) {
        let new = || Box::new(Pyramid::new(BINS as usize, UNIT_NS));
        let waiting = self.waiting.get_or_insert_with(new);
        let until_ns = from_ns.saturating_add(ns);
        // Both ends first: the width does not change between them then.
        for end_ns in [until_ns.saturating_sub(1), from_ns] {
            waiting.add_cell(end_ns, &sum(0, 0));
        }
        let width_ns = waiting.width();
        let mut at_ns = from_ns;
        while at_ns < until_ns {
            let edge_ns = (at_ns / width_ns + 1).saturating_mul(width_ns);
            let to_ns = edge_ns.min(until_ns);
            waiting.add_cell(at_ns, &sum(0, to_ns - at_ns));
            at_ns = to_ns;
        }
    }

    /// The numbers of the last bin go into the pyramids.
    fn flush(&mut self, clock: &NodeClock) {
        let Some(pyramids) = &mut self.pyramids else {
            return;
        };
        let latest = &mut self.latest;
        let time = sum(latest.calls, clock.duration_ns(latest.ticks));
        pyramids.time.add_cell(latest.begin_ns, &time);
        pyramids
            .bytes
            .add_cell(latest.begin_ns, &sum(0, latest.bytes));
        (latest.calls, latest.ticks, latest.bytes) = (0, 0, 0);
    }

    /// When its last call ended, in ticks; 0 where there was none.
    pub fn last_end(&self) -> u64 {
        self.last_end
    }

    /// The values of the columns, of computing the time in MPI; nothing where its bins are wider.
    pub fn columns(&self, metric: CallMetric, axes: &Axes, clock: &NodeClock) -> Option<Vec<u64>> {
        let mut columns = vec![0u64; axes.columns as usize];
        let mut add = |at_ns: u64, value: u128| {
            if let Some(column) = axes.column(at_ns) {
                let value = value.try_into().unwrap_or(u64::MAX);
                let column = &mut columns[column as usize];
                *column = column.saturating_add(value);
            }
        };
        let pyramids = self.pyramids.as_deref();
        let pyramid = match metric {
            CallMetric::MpiTime | CallMetric::Compute | CallMetric::Calls => {
                pyramids.map(|of| &of.time)
            }
            CallMetric::BytesSent => pyramids.map(|of| &of.bytes),
            CallMetric::Waiting => self.waiting.as_deref(),
        };
        if let Some(pyramid) = pyramid {
            if pyramid.width() > axes.width_ns {
                return None;
            }
            for (begin_ns, cell) in pyramid.cells() {
                let value = match metric {
                    CallMetric::Calls => cell.count.into(),
                    _ => cell.sum,
                };
                add(begin_ns, value);
            }
        }
        let latest = &self.latest;
        let value = match metric {
            CallMetric::MpiTime | CallMetric::Compute => clock.duration_ns(latest.ticks),
            CallMetric::Calls => latest.calls,
            CallMetric::BytesSent => latest.bytes,
            CallMetric::Waiting => 0,
        };
        add(latest.begin_ns, value.into());
        Some(columns)
    }
}

/// So many calls, and a sum.
fn sum(count: u64, sum: u64) -> Cell {
    Cell {
        count,
        sum: sum.into(),
        ..Cell::EMPTY
    }
}

/// Ticks of each column in which a rank was recorded, from `from` to `until`, without its pauses.
/// `edges` are the columns' in ticks, one more than there are columns; `recorded` are intervals.
pub fn recorded(
    edges: &[u64],
    recorded: &[(u64, u64)],
    from: u64,
    until: u64,
    pauses: &Pauses,
) -> Vec<u64> {
    let mut columns = vec![0; edges.len().saturating_sub(1)];
    for &(begin, end) in recorded {
        let (begin, end) = (begin.max(from), end.min(until));
        let first = edges.partition_point(|&edge| edge <= begin).max(1) - 1;
        for (column, edge) in columns.iter_mut().zip(edges.windows(2)).skip(first) {
            if edge[0] >= end {
                break;
            }
            let (begin, end) = (begin.max(edge[0]), end.min(edge[1]));
            if begin < end {
                *column += pauses.net(begin, end).ticks;
            }
        }
    }
    columns
}

#[cfg(test)]
mod tests;
