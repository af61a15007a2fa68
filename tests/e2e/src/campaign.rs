//! Settings of `cargo xtask kills` and `cargo xtask soak`, which come by environment variables.

use crate::mpi::Family;

/// The number in a variable, where it is set.
pub fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable}={text}: no number")),
    )
}

/// The MPIs that a variable names, such as `ompi,mpich5`; `default` where it is not set.
pub fn families(variable: &str, default: &[Family]) -> Vec<Family> {
    let Ok(names) = std::env::var(variable) else {
        return default.to_vec();
    };
    let named = |name| {
        let mut all = Family::ALL.into_iter().chain(Family::NEW);
        let family = all.find(|family| family.name() == name);
        family.unwrap_or_else(|| panic!("{name}: no MPI of the tests is called that"))
    };
    names.split(',').map(named).collect()
}
