//! Points in job time as people read them: counted from the start of the job.
//!
//! Job time is the clock of the root's node, which mostly counts from its boot. JSON keeps it.

use invivo_grpc::v1::{BuffersReply, CommandReply, RecordsReply, SelectionReply};

/// A reply whose points in job time can be counted from another one.
pub trait SinceStart {
    /// All of them, for the fields that text shows.
    fn points(&mut self) -> Vec<&mut u64>;

    /// The reply with points counted from `start_ns`; what was earlier lies at the start.
    #[must_use]
    fn since(mut self, start_ns: u64) -> Self
    where
        Self: Sized,
    {
        for point in self.points() {
            *point = point.saturating_sub(start_ns);
        }
        self
    }
}

impl SinceStart for CommandReply {
    fn points(&mut self) -> Vec<&mut u64> {
        let cuts = self.from.iter_mut().chain(&mut self.to);
        let points = cuts.flat_map(|cut| [&mut cut.earliest_ns, &mut cut.latest_ns]);
        // 0 stands for a command that is not complete at a point of its own.
        let complete = Some(&mut self.complete_ns).filter(|point| **point > 0);
        points.chain(complete).collect()
    }
}

impl SinceStart for RecordsReply {
    fn points(&mut self) -> Vec<&mut u64> {
        let losses = self.losses.iter_mut();
        let calls = self.records.iter_mut().map(|call| &mut call.end_ns);
        let samples = self.samples.iter_mut().map(|sample| &mut sample.at_ns);
        let losses = losses.flat_map(|loss| [&mut loss.first_ns, &mut loss.last_ns]);
        let gone = self.gone_until_ns.iter_mut();
        gone.chain(losses).chain(calls).chain(samples).collect()
    }
}

impl SinceStart for BuffersReply {
    fn points(&mut self) -> Vec<&mut u64> {
        let levels = self.levels.iter_mut();
        let levels = levels.flat_map(|level| &mut level.gone_until_ns);
        let losses = self.losses.iter_mut();
        let losses = losses.flat_map(|loss| [&mut loss.first_ns, &mut loss.last_ns]);
        let capped = self.capped.iter_mut();
        let capped = capped.flat_map(|capped| [&mut capped.first_ns, &mut capped.last_ns]);
        levels.chain(losses).chain(capped).collect()
    }
}

impl SinceStart for SelectionReply {
    fn points(&mut self) -> Vec<&mut u64> {
        vec![&mut self.since_ns]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::Cut;

    #[test]
    fn cuts_count_from_the_start() {
        let cut = |at_ns| {
            Some(Cut {
                earliest_ns: at_ns,
                latest_ns: at_ns + 1,
                error_ns: 3,
            })
        };
        let window = CommandReply {
            from: cut(1_000),
            to: cut(1_500),
            complete_ns: 1_600,
            ..CommandReply::default()
        };
        let expected = CommandReply {
            from: cut(100),
            to: cut(600),
            complete_ns: 700,
            ..CommandReply::default()
        };
        assert_eq!(window.since(900), expected);
        assert_eq!(CommandReply::default().since(900), CommandReply::default());
    }
}
