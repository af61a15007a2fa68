//! Whether Open MPI's ranks would yield the processor while they wait in a run without us. Pure.
//!
//! Open MPI makes every process of a node yield in every wait where more processes are than slots.
//! With the tool processes there often are, and a rank that yields takes many times as long for a
//! message. What counts for the application is its own ranks; the tool processes go on yielding.

use super::variables::{Environment, Numbers, text};
use std::ffi::{OsStr, OsString};

/// How Open MPI 4's launcher tells every process that there are more of them than slots; it sets it
/// to 0 where there are not. Open MPI 5 asks PMIx instead.
const OVERSUBSCRIBED: &str = "OMPI_MCA_mpi_oversubscribe";
/// Slots of the whole job, as Open MPI tells the program.
const SLOTS: &str = "OMPI_UNIVERSE_SIZE";
/// What the user says about it.
const SAID: &str = "OMPI_MCA_mpi_yield_when_idle";
/// What Open MPI takes for no.
const NO: [&str; 6] = ["0", "f", "false", "n", "no", "disabled"];

/// What a rank must be told, so that it waits as in a run without us.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// A variable to change.
    pub variable: Option<(&'static str, OsString)>,
    /// The shim must switch the yielding off once MPI is initialised: no variable does that.
    pub spins: bool,
}

/// What must be told where tool processes may be all that is too many.
pub fn of_application(env: &Environment, numbers: Numbers) -> Waiting {
    let slots = text(env, SLOTS).and_then(|slots| slots.parse::<u32>().ok());
    // Every host has the same number of ranks, so all slots serve where there are several hosts.
    let has_slots = slots.is_some_and(|slots| numbers.ranks <= slots);
    let told = text(env, OVERSUBSCRIBED);
    let wants_yielding = env.get(OsStr::new(SAID)).is_some_and(|said| {
        let said = said.to_string_lossy().to_ascii_lowercase();
        !NO.contains(&said.trim())
    });
    Waiting {
        variable: (has_slots && told == Some("1")).then(|| (OVERSUBSCRIBED, "0".into())),
        spins: has_slots && told.is_none() && !wants_yielding,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What two ranks are told, where the launcher says so of slots and of yielding.
    fn waiting(pairs: &[(&str, &str)]) -> Waiting {
        let env = pairs
            .iter()
            .map(|(name, value)| (name.into(), value.into()));
        let numbers = Numbers {
            rank: 0,
            ranks: 2,
            on_host: 2,
            hosts: 1,
        };
        of_application(&env.collect(), numbers)
    }

    #[test]
    fn ranks_that_have_their_slots_do_not_yield() {
        let told = |slots| waiting(&[(SLOTS, slots), (OVERSUBSCRIBED, "1")]);
        let mended = Waiting {
            variable: Some((OVERSUBSCRIBED, "0".into())),
            spins: false,
        };
        assert_eq!(told("2"), mended);
        assert_eq!(told("1"), Waiting::default(), "more ranks than slots");
        let enough = waiting(&[(SLOTS, "4"), (OVERSUBSCRIBED, "0")]);
        assert_eq!(enough, Waiting::default(), "it is 0 already");
        assert!(waiting(&[(SLOTS, "2")]).spins, "Open MPI 5");
        assert!(!waiting(&[(SLOTS, "1")]).spins);
        assert_eq!(waiting(&[]), Waiting::default(), "no launcher of Open MPI");
    }

    #[test]
    fn what_the_user_says_about_yielding_holds() {
        for (said, spins) in [("1", false), ("true", false), ("0", true), ("False", true)] {
            assert_eq!(
                waiting(&[(SLOTS, "2"), (SAID, said)]).spins,
                spins,
                "{said}"
            );
        }
    }
}
