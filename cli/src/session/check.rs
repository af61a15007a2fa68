//! Checks that the steps of a session make sense one after the other.

use super::comparison::Comparison;
use super::field::{Field, Kind};
use super::part::Part;
use super::script::{Action, STEPS_MAX, Step, Wait};
use invivo_proto::control::order::Order;

/// A line, and what is wrong there.
type Wrong = (usize, String);

/// What is known before a step.
#[derive(Clone, Copy, Default)]
struct Before {
    /// The last query.
    queried: Option<Kind>,
    /// The line of the step after which there is nothing to talk to.
    over: Option<usize>,
}

/// Checks all steps.
///
/// # Errors
/// The first step that cannot make sense.
pub fn check(steps: &[Step]) -> Result<(), Wrong> {
    let number = count(steps);
    if number > STEPS_MAX {
        // No single step is to blame: the sum is too large, so the first one is named.
        let line = steps.first().map_or(1, |step| step.line);
        let what = format!(
            "the session would carry out {number} steps, at most {STEPS_MAX} are; loop less often"
        );
        return Err((line, what));
    }
    walk(steps, &mut Before::default())
}

/// Steps that are carried out, rounds counted.
fn count(steps: &[Step]) -> u64 {
    let one = |step: &Step| match &step.action {
        // Saturating: nested loops of a hostile file multiply beyond any integer.
        Action::Loop { times, steps } => u64::from(*times).saturating_mul(count(steps)),
        _ => 1,
    };
    steps.iter().map(one).fold(0, u64::saturating_add)
}

fn walk(steps: &[Step], before: &mut Before) -> Result<(), Wrong> {
    for step in steps {
        let wrong = |what: String| Err((step.line, what));
        let wait_for_end = matches!(step.action, Action::Wait(Wait::JobEnd));
        let wait_for_time = matches!(step.action, Action::Wait(Wait::Time(_)));
        // Behind the end only time can pass: everything else would need an answer from the job.
        if let Some(line) = before.over
            && !wait_for_time
            && !matches!(step.action, Action::Loop { .. })
        {
            return wrong(format!(
                "after line {line} there is no measurement any more that could answer"
            ));
        }
        match &step.action {
            Action::Wait(Wait::Until(kind, comparison)) => {
                fits(*kind, comparison).or_else(wrong)?
            }
            Action::Assert(comparison) => match before.queried {
                Some(kind) => fits(kind, comparison).or_else(wrong)?,
                None => {
                    return wrong("nothing has been asked yet; put a query before it".to_owned());
                }
            },
            Action::Query(kind) => before.queried = Some(*kind),
            Action::Order(Order::Shutdown) => before.over = Some(step.line),
            Action::Loop { times, steps } => {
                walk(steps, before)?;
                // The second round begins with what the first one leaves: a shutdown in it makes
                // every later step impossible. Further rounds find nothing new.
                if *times > 1 {
                    walk(steps, before)?;
                    names_differ(steps)?;
                }
            }
            Action::Wait(_) | Action::Order(_) | Action::Save(_) => {}
        }
        if wait_for_end {
            before.over = Some(step.line);
        }
    }
    Ok(())
}

/// Whether what is saved in each round gets a name of its own.
fn names_differ(steps: &[Step]) -> Result<(), (usize, String)> {
    for step in steps {
        if let Action::Save(dir) = &step.action
            && !dir.to_string_lossy().contains("%n")
        {
            let why = "the second round would find the directory of the first; put %n into its \
                       name, the number of the save";
            return Err((step.line, why.to_owned()));
        }
    }
    Ok(())
}

/// Whether a comparison can be made with an answer of this kind.
fn fits(kind: Kind, comparison: &Comparison) -> Result<(), String> {
    let name = kind.name();
    if Field::find(kind, &comparison.field).is_none() {
        return Err(format!(
            "an answer to {name} has no field `{}`; it has: {}",
            comparison.field,
            Field::names(kind).join(", ")
        ));
    }
    let Part {
        function,
        rank,
        source,
        destination,
    } = &comparison.part;
    let per_rank = kind == Kind::FunctionsPerRank;
    let table = per_rank || kind == Kind::Functions;
    if function.is_some() && !table {
        return Err(format!(
            "an answer to {name} has no functions; put query = \"functions\" before it"
        ));
    }
    if rank.is_some() && !per_rank {
        return Err(format!(
            "an answer to {name} does not tell ranks apart; put query = \"functions-per-rank\" \
             before it"
        ));
    }
    if (source.is_some() || destination.is_some()) && kind != Kind::Matrix {
        return Err(format!(
            "an answer to {name} has no source and destination; put query = \"matrix\" before it"
        ));
    }
    Ok(())
}
