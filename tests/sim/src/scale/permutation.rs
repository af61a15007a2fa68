//! Permutations of the numbers below some number, from a seed, that are undone as easily as done.

/// A permutation of `0..modulus`.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    factor: u64,
    shift: u64,
    inverse: u64,
    /// Numbers that it permutes.
    pub modulus: u64,
}

impl Permutation {
    /// One at random.
    pub fn random(rng: &mut fastrand::Rng, modulus: u64) -> Permutation {
        loop {
            let factor = rng.u64(1..modulus.max(2));
            // Only factors without a common divisor with the modulus permute.
            if let Some(inverse) = inverse(factor, modulus) {
                return Permutation {
                    factor,
                    shift: rng.u64(..modulus),
                    inverse,
                    modulus,
                };
            }
        }
    }

    /// The number that `of` becomes.
    pub fn at(&self, of: u64) -> u64 {
        (self.factor * of + self.shift) % self.modulus
    }

    /// The number that becomes `this`.
    pub fn undo(&self, this: u64) -> u64 {
        // The modulus is added first: the difference must not be negative.
        let unshifted = (this + self.modulus - self.shift) % self.modulus;
        self.inverse * unshifted % self.modulus
    }
}

/// The inverse of `factor` modulo `modulus`, by Euclid; nothing where they have a divisor in
/// common.
fn inverse(factor: u64, modulus: u64) -> Option<u64> {
    // Euclid's extended algorithm.
    let (mut old, mut new) = ((factor as i128, 1i128), (modulus as i128, 0i128));
    while new.0 != 0 {
        let quotient = old.0 / new.0;
        (old, new) = (new, (old.0 - quotient * new.0, old.1 - quotient * new.1));
    }
    (old.0 == 1).then(|| old.1.rem_euclid(modulus as i128) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::stream;

    #[test]
    fn permutations_permute_and_can_be_undone() {
        let mut rng = stream(1, "test");
        for modulus in [1, 2, 60, 64, 961] {
            let permutation = Permutation::random(&mut rng, modulus);
            let mut seen: Vec<u64> = (0..modulus).map(|of| permutation.at(of)).collect();
            assert!((0..modulus).all(|of| permutation.undo(permutation.at(of)) == of));
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..modulus));
        }
    }
}
