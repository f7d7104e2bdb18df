//! Tests of the planner as its users see it: published instances, samples as graphs, both checkers.

mod branches;
mod checkers;
mod exact_against_a_sweep;
mod orders;
mod published_instances;
mod random_cases;
mod runtimes;
mod samples;
mod sharing;
mod sketch;
mod strategies;
mod traces;
