//! Policies of reduction that buffer and twin share: the decisions alone, so that what is compared is how
//! they are carried out.

use invivo_otfx::{Event, FlightRecorder, Levels, Removal, Strategy};
use invivo_proto::record::{Call, Kind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The product's.
    FlightRecorder,
    /// Messages and the rest have a level each; the oldest bin of the larger one goes.
    OldestOfLargest,
    /// As before, but the rest goes all at once and its level is closed; when messages fill the buffer alone,
    /// new ones find no room.
    Closing,
}

impl Policy {
    pub fn levels(self) -> usize {
        if self == Policy::FlightRecorder { 1 } else { 2 }
    }

    pub fn strategy(self) -> Box<dyn Strategy> {
        match self {
            Policy::FlightRecorder => Box::new(FlightRecorder),
            _ => Box::new(TestStrategy::new(self)),
        }
    }
}

/// The decisions, with what they depend on.
#[derive(Clone, Debug)]
pub struct TestStrategy {
    policy: Policy,
    closed: bool,
}

impl TestStrategy {
    pub fn new(policy: Policy) -> Self {
        TestStrategy {
            policy,
            closed: false,
        }
    }

    pub fn level_of(&self, call: &Call) -> Option<usize> {
        let message = matches!(
            call.facts.kind,
            Kind::Send | Kind::Recv | Kind::PostSend | Kind::PostRecv
        );
        match (self.policy, message) {
            (Policy::FlightRecorder, _) => Some(0),
            (_, true) => Some(1),
            (_, false) => (!self.closed).then_some(0),
        }
    }

    pub fn decide(&mut self, wanting: usize, bins: [usize; 2]) -> Removal {
        match self.policy {
            Policy::FlightRecorder => Removal::OldestBin(wanting),
            Policy::OldestOfLargest => Removal::OldestBin(usize::from(bins[1] > bins[0])),
            Policy::Closing if self.closed => Removal::Nothing,
            Policy::Closing => {
                self.closed = true;
                Removal::Level(0)
            }
        }
    }
}

impl Strategy for TestStrategy {
    fn levels(&self) -> usize {
        self.policy.levels()
    }

    fn level(&self, event: &Event<'_>) -> Option<usize> {
        match event {
            Event::Call { call, .. } => self.level_of(call),
            _ => None,
        }
    }

    fn make_room(&mut self, wanting: usize, levels: Levels<'_>) -> Removal {
        self.decide(wanting, [levels.bins(0) as usize, levels.bins(1) as usize])
    }
}
