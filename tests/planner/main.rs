//! Long runs of the planner's property checks; each file is named by what it proves.

mod exact_against_a_sweep;
