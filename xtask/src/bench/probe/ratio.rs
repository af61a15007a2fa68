//! How much of its rival something takes, turn by turn.

use crate::bench::statistics::Median;
use serde_json::Value;

/// The median of the ratios of each turn. Turns in which the rival took nothing that could be told
/// have none; where that are all, there is no median.
pub fn of_rival(own: &[f64], rival: &[f64]) -> Value {
    let pairs = own.iter().zip(rival).filter(|(_, rival)| **rival > 0.0);
    let ratios: Vec<f64> = pairs.map(|(own, rival)| own / rival).collect();
    Median::of(&ratios).map_or(Value::Null, |median| median.json())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_without_a_rival_are_left_out() {
        let ratio = of_rival(&[2.0, 3.0, 5.0], &[1.0, -1.0, 1.0]);
        assert_eq!(
            (ratio["median"].as_f64(), ratio["count"].as_u64()),
            (Some(3.5), Some(2))
        );
        assert_eq!(of_rival(&[1.0], &[0.0]), Value::Null);
    }
}
