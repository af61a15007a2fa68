//! Random kills and stops of real jobs: a case is made of a seed ([`case`]), with a [`victim`],
//! struck and watched to its end ([`hunt`]), what became of it is named ([`outcome`]) by what the
//! ranks have marked of themselves ([`marks`]), and counted for the manual ([`tally`]).

pub mod case;
pub mod hunt;
pub mod marks;
pub mod outcome;
pub mod tally;
pub mod victim;
