//! What campaigns are asked for in the environment, as `cargo xtask kills` and `cargo xtask soak`
//! set it.

use crate::family::Family;

/// A number, where one is asked for.
pub fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text}: no number")),
    )
}

/// The MPIs that are asked for, such as `ompi,mpich5`, or these.
pub fn families(name: &str, usual: &[Family]) -> Vec<Family> {
    let Ok(names) = std::env::var(name) else {
        return usual.to_vec();
    };
    let named = |name| {
        let mut all = Family::ALL.into_iter().chain(Family::NEW);
        let family = all.find(|family| family.name() == name);
        family.unwrap_or_else(|| panic!("{name}: no MPI of the tests is called that"))
    };
    names.split(',').map(named).collect()
}
