//! Finds the layout that has exactly a given number of processes.

use super::error::Fit;
use super::{FanIn, Layout, LayoutError, Policy, TOTAL_MAX};

impl Layout {
    /// The layout of a job of `total` processes. With `app`, that many ranks are the application,
    /// and where the fan-in wished for does not give the total, places take as many ranks as does
    /// ([`Layout::fan_in`] then differs from `fan_in`).
    ///
    /// # Errors
    /// When the total does not fit; the error says which totals do.
    pub fn of_total(
        total: u32,
        fan_in: FanIn,
        policy: Policy,
        app: Option<u32>,
    ) -> Result<Layout, LayoutError> {
        if total > TOTAL_MAX {
            return Err(LayoutError::TooMany {
                total: u64::from(total),
            });
        }
        match app {
            Some(app) => with_app(total, fan_in, policy, app),
            None => alone(total, fan_in, policy),
        }
    }
}

/// Every rank more on each host adds at least that rank, so the number of ranks is found by
/// bisection.
fn alone(total: u32, fan_in: FanIn, policy: Policy) -> Result<Layout, LayoutError> {
    let hosts = policy.hosts();
    let of = |ranks_per_host: u32| {
        let ranks = u64::from(ranks_per_host) * u64::from(hosts);
        let ranks = u32::try_from(ranks).map_err(|_| LayoutError::TooMany { total: ranks })?;
        Layout::for_app(ranks, fan_in, policy)
    };

    let smallest = of(1)?;
    if total < smallest.total() {
        return Err(LayoutError::TooFew {
            total,
            hosts,
            smallest: smallest.fit(),
        });
    }

    // Two places more than ranks there can be at most.
    let fits = |ranks: u32| of(ranks).is_ok_and(|layout| layout.total() <= total);
    let (below, above) = bisect(1, total.div_ceil(hosts) + 1, fits);
    let layout = of(below)?;
    if layout.total() == total {
        return Ok(layout);
    }

    // A neighbouring number of ranks may give this very total with another fan-in; offered as
    // `--app`.
    let near = [below, above].map(|ranks| ranks.saturating_mul(hosts));
    Err(LayoutError::NoFit {
        total,
        fan_in,
        hosts,
        below: layout.fit(),
        above: of(above).ok().map(|layout| layout.fit()),
        app: near
            .into_iter()
            .find(|&app| with_app(total, fan_in, policy, app).is_ok()),
    })
}

/// More ranks per place never need more processes, so the fan-in is found by bisection, too. Of
/// those that give the total, the smallest shares the ranks out most evenly.
fn with_app(total: u32, fan_in: FanIn, policy: Policy, app: u32) -> Result<Layout, LayoutError> {
    let usual = Layout::for_app(app, fan_in, policy)?;
    if usual.total() == total {
        return Ok(usual);
    }

    let of = |ranks_per_place: u32| {
        Layout::for_app(app, fan_in.with_ranks_per_place(ranks_per_place)?, policy)
    };
    let no_fit = LayoutError::NoFitForApp {
        total,
        app,
        fan_in,
        usual: usual.total(),
    };

    let all_in_one = app.div_ceil(policy.hosts());
    let too_wide = |ranks: u32| of(ranks).is_ok_and(|layout| layout.total() <= total);
    let narrow = |ranks: u32| !too_wide(ranks);
    // The least number of ranks per place that does not need more processes than there are.
    let smallest = if narrow(1) {
        bisect(1, all_in_one, narrow).1
    } else {
        1
    };

    let layout = of(smallest)?;
    if layout.total() == total {
        Ok(layout)
    } else {
        Err(no_fit)
    }
}

/// Two neighbours of which the first has the property and the second has not, where all numbers
/// from `has` up to some point have it and none behind. (`has_not` is taken for granted.)
fn bisect(has: u32, has_not: u32, property: impl Fn(u32) -> bool) -> (u32, u32) {
    let (mut has, mut has_not) = (has, has_not.max(has.saturating_add(1)));
    while has_not - has > 1 {
        // Not the half of the sum, which could overflow.
        let middle = has + (has_not - has) / 2;
        if property(middle) {
            has = middle
        } else {
            has_not = middle
        }
    }
    (has, has_not)
}

impl Layout {
    fn fit(&self) -> Fit {
        Fit {
            total: self.total(),
            ranks: self.app(),
        }
    }
}
