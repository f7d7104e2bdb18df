//! Boxes: jobs of any height packed into boxes of one height, again and again, until all have the same one.
//!
//! Problem: jobs of one height are placed optimally by colouring their lifetimes; jobs of different heights are not.
//! Method: pack the small jobs into boxes that are as high as a larger class, treat a box as a job that lives from its
//! first birth to its last death, and repeat with the next class. To pack jobs into boxes of height H, round their
//! heights up to powers of 1 + ε, and pack each class alone, H / height jobs on top of each other:
//! draw a critical point in time; of the jobs that are live there, take those that are born first and those that die
//! last aside; from the rest cut strips in turn, the next to be born and the next to die, and put the neighbours in a
//! strip into one box, because their lifetimes hardly differ. Those put aside are coloured into rows, and as many rows
//! as a box is high make a box. Jobs that end before or begin after the point are packed alone, with the ends of the
//! rows' gaps as their critical points.
//! Guarantee: buffers in one box that are live together have different rows. The published bound on the waste needs
//! jobs that are much smaller than the load, and constants that no real instance meets.
//! Time O(n log n) expected per class and level, space O(n).
//! Source: Buchsbaum, Karloff, Kenyon, Reingold and Thorup, "OPT versus LOAD in dynamic storage allocation", lemma 1,
//! theorem 2, corollary 15 and theorem 16, DOI 10.1137/S0097539703423941; idealloc, `coreba/src/algo/boxing.rs`.
//!
//! ```text
//! strip of the next to be born     box of 2 rows      box of 2 rows
//!  A ######|##                      A ######|##        C ..####|###
//!  B .#####|#####                   B .#####|#####     D ...###|#
//!  C ..####|###          ->
//!  D ...###|#
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use crate::lifetimes::Lifetime;

/// A job: a buffer, or a box with jobs in it.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) lifetime: Lifetime,
    pub(super) height: u64,
    /// What is in it, with the offset from its begin; empty for a buffer.
    pub(super) inside: Vec<(u32, u64)>,
}

/// All jobs, buffers first; a job is known by its position.
pub(super) struct Jobs {
    pub(super) all: Vec<Job>,
    rng: fastrand::Rng,
}

impl Jobs {
    /// Jobs for buffers given as lifetime and size.
    pub(super) fn new(buffers: impl Iterator<Item = (Lifetime, u64)>, rng: fastrand::Rng) -> Self {
        let all = buffers.map(|(lifetime, height)| Job { lifetime, height, inside: Vec::new() }).collect();
        Self { all, rng }
    }

    fn start(&self, job: u32) -> u64 {
        self.all[job as usize].lifetime.start
    }

    fn end(&self, job: u32) -> u64 {
        self.all[job as usize].lifetime.end
    }

    /// Packs `jobs`, none higher than `height`, into boxes of that height; classes of heights grow by `1 + epsilon`.
    pub(super) fn pack(&mut self, mut jobs: Vec<u32>, height: u64, epsilon: f64) -> Vec<u32> {
        jobs.sort_unstable_by_key(|&job| (self.all[job as usize].height, job));
        let mut boxes = Vec::new();
        while let Some(&smallest) = jobs.first() {
            let top = grown(self.all[smallest as usize].height, epsilon).min(height);
            let n_class = jobs.partition_point(|&job| self.all[job as usize].height <= top);
            let class: Vec<u32> = jobs.drain(..n_class).collect();
            // The highest of the class is as good as the power of 1 + ε, and wastes less.
            let unit = class.iter().map(|&job| self.all[job as usize].height).max().unwrap_or(top);
            self.pack_units(class, Boxing { height, unit, epsilon }, &mut boxes);
        }
        boxes
    }

    /// Theorem 2: packs jobs of one class, a stretch of time after the other.
    fn pack_units(&mut self, class: Vec<u32>, boxing: Boxing, boxes: &mut Vec<u32>) {
        let mut stretches: Vec<(Vec<u32>, BTreeSet<u64>)> = vec![(class, BTreeSet::new())];
        while let Some((jobs, mut points)) = stretches.pop() {
            if !jobs.iter().any(|&job| first_point(&points, self.all[job as usize].lifetime).is_some()) {
                // Somebody is live at this point, so every stretch gets smaller.
                let at = self.rng.usize(0..jobs.len());
                points.insert(self.start(jobs[at]));
            }
            let (crossing, between) = self.split(jobs, &points);
            let mut aside = Vec::new();
            for group in crossing {
                self.pack_crowd(group, boxing, &mut aside, boxes);
            }
            let gaps = self.pack_rows(aside, boxing, boxes);
            stretches.extend(between.into_iter().map(|jobs| {
                let from = jobs.iter().map(|&job| self.start(job)).min().unwrap_or(0);
                let to = jobs.iter().map(|&job| self.end(job)).max().unwrap_or(0);
                let points = gaps.range(from..to).copied().collect();
                (jobs, points)
            }));
        }
    }

    /// Jobs by the first of `points` that they live at, and those between two points, by the next point.
    fn split(&self, jobs: Vec<u32>, points: &BTreeSet<u64>) -> (Vec<Vec<u32>>, Vec<Vec<u32>>) {
        let points: Vec<u64> = points.iter().copied().collect();
        let mut crossing = vec![Vec::new(); points.len()];
        let mut between = vec![Vec::new(); points.len() + 1];
        for job in jobs {
            let next = points.partition_point(|&point| point < self.start(job));
            let is_live = points.get(next).is_some_and(|&point| point < self.end(job));
            if is_live { crossing[next].push(job) } else { between[next].push(job) }
        }
        crossing.retain(|group| !group.is_empty());
        between.retain(|group| !group.is_empty());
        (crossing, between)
    }

    /// Lemma 1: packs jobs that are all live at one point, and puts those at its edges aside.
    fn pack_crowd(&mut self, mut crowd: Vec<u32>, boxing: Boxing, aside: &mut Vec<u32>, boxes: &mut Vec<u32>) {
        let n_outer = boxing.n_outer();
        if crowd.len() / 2 <= n_outer {
            aside.append(&mut crowd);
            return;
        }
        crowd.sort_unstable_by_key(|&job| (self.start(job), job));
        aside.extend(crowd.drain(..n_outer));
        crowd.sort_unstable_by_key(|&job| (Reverse(self.end(job)), job));
        aside.extend(crowd.drain(..n_outer));
        let by_death = crowd.clone();
        crowd.sort_unstable_by_key(|&job| (self.start(job), job));
        let mut taken: BTreeSet<u32> = BTreeSet::new();
        let (mut births, mut deaths) = (crowd.iter().copied(), by_death.into_iter());
        let mut is_birth_turn = true;
        while taken.len() < crowd.len() {
            let next: &mut dyn Iterator<Item = u32> = if is_birth_turn { &mut births } else { &mut deaths };
            let mut strip: Vec<u32> = next.filter(|&job| taken.insert(job)).take(boxing.n_inner()).collect();
            // Within a strip, neighbours are those whose other ends are close.
            if is_birth_turn {
                strip.sort_unstable_by_key(|&job| (Reverse(self.end(job)), job));
            } else {
                strip.sort_unstable_by_key(|&job| (self.start(job), job));
            }
            for group in strip.chunks(boxing.n_rows()) {
                let inside = group.iter().zip(0_u64..).map(|(&job, row)| (job, row * boxing.unit)).collect();
                boxes.push(self.close_box(inside, boxing.height));
            }
            is_birth_turn = !is_birth_turn;
        }
    }

    /// Colours jobs into rows, packs neighbouring rows into boxes, and gives the ends of the gaps in the rows.
    fn pack_rows(&mut self, jobs: Vec<u32>, boxing: Boxing, boxes: &mut Vec<u32>) -> BTreeSet<u64> {
        let mut gaps = BTreeSet::new();
        for rows in self.rows(jobs).chunks(boxing.n_rows()) {
            let mut inside = Vec::new();
            for (row, offset) in rows.iter().zip((0_u64..).map(|row| row * boxing.unit)) {
                gaps.extend(row.windows(2).filter(|pair| self.end(pair[0]) < self.start(pair[1])).map(|pair| self.end(pair[0])));
                inside.extend(row.iter().map(|&job| (job, offset)));
            }
            boxes.push(self.close_box(inside, boxing.height));
        }
        gaps
    }

    /// Rows of jobs that are not live together: the left-edge colouring.
    pub(super) fn rows(&self, mut jobs: Vec<u32>) -> Vec<Vec<u32>> {
        jobs.sort_unstable_by_key(|&job| (self.start(job), job));
        let mut rows: Vec<Vec<u32>> = Vec::new();
        let mut free: BinaryHeap<Reverse<usize>> = BinaryHeap::new();
        let mut busy: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
        for job in jobs {
            while let Some(&Reverse((end, row))) = busy.peek()
                && end <= self.start(job)
            {
                busy.pop();
                free.push(Reverse(row));
            }
            let row = free.pop().map_or(rows.len(), |Reverse(row)| row);
            if row == rows.len() {
                rows.push(Vec::new());
            }
            rows[row].push(job);
            busy.push(Reverse((self.end(job), row)));
        }
        rows
    }

    /// A new job around others.
    fn close_box(&mut self, inside: Vec<(u32, u64)>, height: u64) -> u32 {
        let start = inside.iter().map(|&(job, _)| self.start(job)).min().unwrap_or(0);
        let end = inside.iter().map(|&(job, _)| self.end(job)).max().unwrap_or(0);
        self.all.push(Job { lifetime: Lifetime { start, end }, height, inside });
        u32::try_from(self.all.len() - 1).expect("a class makes no more boxes than it has jobs, and there are few classes")
    }
}

/// How jobs of a class are packed.
#[derive(Clone, Copy)]
struct Boxing {
    /// Height of the boxes.
    height: u64,
    /// Height that each job of the class gets.
    unit: u64,
    epsilon: f64,
}

impl Boxing {
    /// How many jobs a box holds on top of each other.
    fn n_rows(self) -> usize {
        usize::try_from(self.height / self.unit).unwrap_or(usize::MAX)
    }

    /// How many jobs an inner strip has: so many boxes that one in `1 / ε` may be wasted.
    fn n_inner(self) -> usize {
        self.n_rows().saturating_mul(reciprocal(self.epsilon))
    }

    /// How many jobs are put aside at each edge.
    fn n_outer(self) -> usize {
        self.n_inner().saturating_mul(reciprocal(self.epsilon))
    }
}

/// `1 / epsilon`, rounded up.
fn reciprocal(epsilon: f64) -> usize {
    (1..64).find(|&n| f64::from(n) * epsilon >= 1.0).map_or(64, |n| usize::try_from(n).unwrap_or(64))
}

/// The height times `1 + epsilon`, rounded down.
fn grown(height: u64, epsilon: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "rounding down is meant, and the cast saturates")]
    let grown = (height as f64 * (1.0 + epsilon)) as u64;
    grown.max(height)
}

/// The first of `points` at which a lifetime is live.
fn first_point(points: &BTreeSet<u64>, lifetime: Lifetime) -> Option<u64> {
    points.range(lifetime.start..lifetime.end).next().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Jobs of height 1 that are all live at step 100, each a step longer at both ends than the one before.
    fn nested(n: u64) -> Jobs {
        let lifetimes = (0..n).map(|job| (Lifetime { start: 99 - job, end: 101 + job }, 1));
        Jobs::new(lifetimes, fastrand::Rng::with_seed(1))
    }

    #[test]
    fn every_job_is_in_one_box_and_rows_stay_within_its_height() {
        let mut jobs = nested(40);
        let boxes = jobs.pack((0..40).collect(), 4, 1.0);
        let mut inside: Vec<u32> = boxes.iter().flat_map(|&job| jobs.all[job as usize].inside.iter().map(|&(job, _)| job)).collect();
        inside.sort_unstable();
        assert_eq!(inside, (0..40).collect::<Vec<u32>>());
        // All are live together, so no row holds two.
        for &job in &boxes {
            let offsets: Vec<u64> = jobs.all[job as usize].inside.iter().map(|&(_, offset)| offset).collect();
            assert_eq!(offsets, (0..4).take(offsets.len()).collect::<Vec<u64>>());
        }
        assert!(boxes.len() <= 14, "{} boxes", boxes.len());
    }

    #[test]
    fn a_strip_puts_jobs_with_like_lifetimes_into_one_box() {
        let mut jobs = nested(40);
        let boxes = jobs.pack((0..40).collect(), 4, 1.0);
        let wasted = |&job: &u32| {
            let whole = &jobs.all[job as usize];
            whole.inside.iter().map(|&(job, _)| whole.lifetime.n_steps() - jobs.all[job as usize].lifetime.n_steps()).sum::<u64>()
        };
        // Four neighbours differ by 2, 4 and 6 steps; four at random by some fifty.
        let n_tight = boxes.iter().filter(|job| wasted(job) <= 12).count();
        assert!(n_tight >= 8, "{n_tight} of {} boxes are tight", boxes.len());
    }

    #[test]
    fn rows_hold_jobs_that_are_not_live_together() {
        let life = |start, end| (Lifetime { start, end }, 1);
        let jobs = Jobs::new([life(0, 2), life(1, 3), life(2, 4), life(3, 5)].into_iter(), fastrand::Rng::with_seed(0));
        assert_eq!(jobs.rows(vec![3, 2, 1, 0]), [vec![0, 2], vec![1, 3]]);
    }
}
