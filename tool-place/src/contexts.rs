//! The calling contexts that a rank's samples were taken in, as its sampler numbers them.

use invivo_proto::control::contexts::{CONTEXTS_MAX, Context, Contexts};
use invivo_proto::control::stacks::{FUNCTION_BYTES_MAX, Frame, MODULE_BYTES_MAX};

/// A rank's contexts. A sampler that comes after another one numbers from 1 again; its contexts
/// stand behind those of the one before, so that samples of before keep their names.
#[derive(Debug, Default)]
pub struct RankContexts {
    /// That with number 1 stands first.
    all: Vec<Context>,
    /// How many are of samplers of before.
    before: u32,
}

/// Contexts that do not follow on those that are known, or lie below none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfOrder;

impl RankContexts {
    /// The number here of that which the sampler gives this one; 0 where it is not known.
    pub fn number(&self, of_sampler: u32) -> u32 {
        let number = self.before.saturating_add(of_sampler);
        match of_sampler != 0 && number as usize <= self.all.len() {
            true => number,
            false => 0,
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// These were met: the sampler's numbers from `first` on. Number 1 is that of a new sampler.
    ///
    /// # Errors
    /// When they make no sense; then nothing has changed.
    pub fn add(&mut self, first: u32, met: Vec<Context>) -> Result<(), OutOfOrder> {
        let count = self.all.len() as u32;
        let before = if first == 1 { count } else { self.before };
        let follows = first.checked_add(before) == Some(count + 1);
        let fits = self.all.len() + met.len() <= CONTEXTS_MAX as usize;
        let lies_below =
            |(number, one): (u32, &Context)| one.parent < number && is_short(&one.frame);
        if !(follows && fits && (first..).zip(&met).all(lies_below)) {
            return Err(OutOfOrder);
        }
        self.before = before;
        self.all.extend(met.into_iter().map(|one| Context {
            parent: match one.parent {
                0 => 0,
                parent => before + parent,
            },
            ..one
        }));
        Ok(())
    }

    /// Adds a context and its callers to others; how many were not among them.
    pub fn give(&self, number: u32, to: &mut Contexts) -> usize {
        let (mut number, mut new) = (number, 0);
        while let Some(context) = self.get(number)
            && !to.contains_key(&number)
        {
            to.insert(number, context.clone());
            new += 1;
            // It is lower, so that this ends.
            number = context.parent;
        }
        new
    }

    /// All of them.
    pub fn all(&self) -> Contexts {
        (1..).zip(self.all.iter().cloned()).collect()
    }

    fn get(&self, number: u32) -> Option<&Context> {
        self.all.get((number as usize).checked_sub(1)?)
    }
}

/// Whether its names are no longer than any sampler's.
fn is_short(frame: &Frame) -> bool {
    match frame {
        Frame::Function { module, name } | Frame::Python { file: module, name } => {
            module.len() <= MODULE_BYTES_MAX && name.len() <= FUNCTION_BYTES_MAX
        }
        Frame::Lost | Frame::LeftOut => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn below(parent: u32) -> Context {
        Context {
            parent,
            frame: Frame::Lost,
        }
    }

    #[test]
    fn contexts_out_of_order_change_nothing() {
        let mut contexts = RankContexts::default();
        assert_eq!(contexts.add(1, vec![below(0), below(1)]), Ok(()));
        let beyond = (u32::MAX, below(0));
        for (first, met) in [
            (2, below(0)),
            (4, below(0)),
            (3, below(3)),
            (0, below(0)),
            beyond,
        ] {
            assert_eq!(contexts.add(first, vec![met]), Err(OutOfOrder));
        }
        let too_many = vec![below(0); CONTEXTS_MAX as usize];
        assert_eq!(contexts.add(3, too_many), Err(OutOfOrder));
        assert_eq!(contexts.count(), 2);
        assert_eq!(contexts.add(3, vec![below(2)]), Ok(()));
        assert_eq!(
            [0, 3, 4, u32::MAX].map(|of| contexts.number(of)),
            [0, 3, 0, 0]
        );
    }

    #[test]
    fn another_sampler_numbers_its_contexts_anew() {
        let mut contexts = RankContexts::default();
        assert_eq!(contexts.add(1, vec![below(0), below(1)]), Ok(()));
        assert_eq!(contexts.add(1, vec![below(0)]), Ok(()));
        assert_eq!(contexts.add(2, vec![below(1)]), Ok(()));
        assert_eq!([1, 2, 3].map(|of| contexts.number(of)), [3, 4, 0]);
        let parents: Vec<u32> = contexts.all().values().map(|of| of.parent).collect();
        assert_eq!(parents, [0, 1, 0, 3]);
    }

    proptest! {
        #[test]
        fn a_context_comes_with_all_its_callers(
            parents in prop::collection::vec(any::<prop::sample::Index>(), 1..60),
            wanted in prop::collection::vec(0u32..70, 0..20),
        ) {
            let parents: Vec<u32> = (1u32..)
                .zip(&parents)
                .map(|(number, parent)| parent.index(number as usize) as u32)
                .collect();
            let mut contexts = RankContexts::default();
            let met = parents.iter().copied().map(below).collect();
            prop_assert_eq!(contexts.add(1, met), Ok(()));
            let (mut given, mut count) = (Contexts::new(), 0);
            for number in &wanted {
                count += contexts.give(*number, &mut given);
            }
            prop_assert_eq!(count, given.len());
            // By a list that is looked through.
            let is_wanted = |number: u32| {
                wanted.iter().any(|from| {
                    let mut at = *from;
                    while at != number && at != 0 && at as usize <= parents.len() {
                        at = parents[at as usize - 1];
                    }
                    at == number && at as usize <= parents.len()
                })
            };
            for number in 1..=parents.len() as u32 {
                prop_assert_eq!(given.contains_key(&number), is_wanted(number), "{}", number);
            }
        }
    }
}
