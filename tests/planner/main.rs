//! Tests of the planner as its users see it: published instances, samples as graphs, both checkers.

mod checkers;
mod published_instances;
mod random_cases;
mod runtimes;
mod samples;
mod sharing;
mod sketch;
mod strategies;
mod traces;
