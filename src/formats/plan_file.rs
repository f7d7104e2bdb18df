//! Plan files: a plan as JSON, with enough about its buffers to check it against a model later.

use std::collections::{BTreeMap, HashMap};

use arenascope_planner::alias::Io;
use arenascope_planner::diff::PlacedBuffer;
use arenascope_planner::ids::{BufferId, PoolId, SlotId};
use arenascope_planner::keep::OldBuffer;
use arenascope_planner::lifetimes::Lifetime;
use arenascope_planner::parallel::Parallel;
use arenascope_planner::plan::{Plan, PoolPlan, Status};
use arenascope_planner::prepare::Prepared;
use serde::{Deserialize, Serialize};

use crate::error::{FormatError, one_line};
use crate::json_fault;

/// The only version of plan files so far.
const SCHEMA: u64 = 1;

/// A plan as it is in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanFile {
    /// The version of this layout: 1.
    pub schema: u64,
    /// Always `plan`.
    pub kind: String,
    /// The model file's name without its folder.
    #[serde(default)]
    pub file: String,
    /// The strategy that made the plan; empty if unknown.
    #[serde(default)]
    pub strategy: String,
    /// What every offset and size was rounded to.
    #[serde(default)]
    pub align: Option<u64>,
    /// `on` or `off`.
    #[serde(default)]
    pub in_place: Option<String>,
    /// `static` or `arena`.
    #[serde(default)]
    pub io: Option<String>,
    /// `off` if the memory of graphs inside ops was left out; else absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subgraphs: Option<String>,
    /// Which ops can run side by side: `ancestors` or `paths=K`; absent if the order alone counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<String>,
    /// The ops in schedule order; empty for bare problems.
    #[serde(default)]
    pub order: Vec<String>,
    /// Highest end of any buffer; the highest end is taken if it is missing.
    #[serde(default)]
    pub arena_bytes: Option<u64>,
    /// The pools, if there are several; offsets count from the begin of the buffer's pool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PlanFilePool>,
    /// The buffers.
    pub buffers: Vec<PlanFileBuffer>,
}

/// One of several pools of a plan file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanFilePool {
    /// Its name; may be empty.
    #[serde(default)]
    pub name: String,
    /// Highest end of any buffer in it.
    pub arena_bytes: u64,
}

/// One placed buffer of a plan file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanFileBuffer {
    /// Its id in the problem that was planned.
    #[serde(default)]
    pub id: Option<u64>,
    /// Its name: that of its first tensor.
    #[serde(default)]
    pub name: String,
    /// The tensors in it.
    #[serde(default)]
    pub tensors: Vec<String>,
    /// Its size, rounded.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Its first step.
    #[serde(default)]
    pub start: Option<u64>,
    /// One past its last step.
    #[serde(default)]
    pub end: Option<u64>,
    /// Its first byte in the arena.
    pub offset: u64,
    /// Its slot; absent or null in offset plans.
    #[serde(default)]
    pub slot: Option<u32>,
    /// The position of its pool in [`PlanFile::pools`]; absent if there is one arena.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<u32>,
}

/// A plan as the text of a plan file. Time and space O(buffers + tensors + ops).
#[must_use]
pub fn plan_to_json(prepared: &Prepared, plan: &Plan) -> String {
    let settings = &prepared.settings;
    let order = prepared
        .context
        .as_ref()
        .map_or_else(Vec::new, |context| context.schedule.order().iter().map(|&op| context.graph.op(op).name.clone()).collect());
    let file = PlanFile {
        schema: SCHEMA,
        kind: "plan".to_owned(),
        file: prepared.workload.file.clone(),
        strategy: plan.strategy.clone(),
        align: Some(settings.align.bytes()),
        in_place: Some(if settings.alias.in_place { "on" } else { "off" }.to_owned()),
        io: Some(
            match settings.alias.io {
                Io::Static => "static",
                Io::Arena => "arena",
            }
            .to_owned(),
        ),
        subgraphs: (!settings.subgraphs).then(|| "off".to_owned()),
        parallel: (settings.parallel != Parallel::Off).then(|| settings.parallel.to_string()),
        order,
        arena_bytes: Some(plan.arena_bytes),
        pools: pool_entries(prepared, plan),
        buffers: prepared.problem.ids().map(|id| buffer_entry(prepared, plan, id)).collect(),
    };
    let mut text = serde_json::to_string_pretty(&file).expect("strings and numbers always serialise");
    text.push('\n');
    text
}

fn buffer_entry(prepared: &Prepared, plan: &Plan, id: BufferId) -> PlanFileBuffer {
    let buffer = prepared.problem.buffer(id);
    let name = |&tensor: &_| prepared.context.as_ref().map_or_else(String::new, |context| context.graph.tensor(tensor).name.clone());
    PlanFileBuffer {
        id: Some(u64::from(id.0)),
        name: prepared.buffer_name(id).to_owned(),
        tensors: prepared.buffer_tensors(id).iter().map(name).collect(),
        bytes: Some(buffer.bytes),
        start: Some(buffer.lifetime.start),
        end: Some(buffer.lifetime.end),
        offset: plan.offset(id),
        slot: plan.slot(id).map(|slot| slot.0),
        pool: plan.pools.as_ref().map(|_| plan.pool(id).0),
    }
}

fn pool_entries(prepared: &Prepared, plan: &Plan) -> Vec<PlanFilePool> {
    let planned = plan.pools.iter().flat_map(|pools| &pools.arena_bytes);
    let pools = prepared.problem.pools().iter().zip(planned);
    pools.map(|(pool, &arena_bytes)| PlanFilePool { name: pool.name.clone(), arena_bytes }).collect()
}

/// Reads the text of a plan file.
///
/// # Errors
/// [`FormatError::Plan`] with the line or the rule that is broken.
pub fn plan_from_json(text: &str) -> Result<PlanFile, FormatError> {
    let broken = |what: String, advice: &str| FormatError::Plan { what, advice: advice.to_owned() };
    if text.trim().is_empty() {
        return Err(broken("it is empty".to_owned(), "write one with `export -o plan.json`"));
    }
    let file: PlanFile = serde_json::from_str(text).map_err(|error| {
        let what = format!("line {}, column {}: {}", error.line(), error.column(), json_fault::what(&error));
        broken(what, "write one with `export -o plan.json`")
    })?;
    if file.kind != "plan" {
        return Err(broken(format!("its kind is `{}`, not `plan`", one_line(&file.kind)), "give the plan second and the model first"));
    }
    if file.schema != SCHEMA {
        return Err(broken(format!("schema {} is not {SCHEMA}", file.schema), "write it again with this version"));
    }
    if file.align == Some(0) {
        return Err(broken("an alignment of 0".to_owned(), "use 1 or more"));
    }
    for buffer in &file.buffers {
        if buffer.offset.checked_add(buffer.bytes.unwrap_or(0)).is_none() {
            let what = format!("buffer `{}` ends beyond 64 bits (offset {})", one_line(&buffer.name), buffer.offset);
            return Err(broken(what, "correct its offset"));
        }
    }
    Ok(file)
}

impl PlanFile {
    /// The buffers with their places, for comparing plans; a buffer without a name goes by its id.
    #[must_use]
    pub fn placed_buffers(&self) -> Vec<PlacedBuffer> {
        let place = |buffer: &PlanFileBuffer| PlacedBuffer {
            name: match buffer.id {
                Some(id) if buffer.name.is_empty() => format!("#{id}"),
                _ => buffer.name.clone(),
            },
            bytes: buffer.bytes.unwrap_or(0),
            pool: buffer.pool.map(PoolId),
            offset: buffer.offset,
            lifetime: buffer.start.zip(buffer.end).map(|(start, end)| Lifetime { start, end }),
        };
        self.buffers.iter().map(place).collect()
    }

    /// The size of the arena: as the file says, or where its highest buffer ends.
    #[must_use]
    pub fn arena_bytes(&self) -> u64 {
        let end = |buffer: &PlanFileBuffer| buffer.offset.saturating_add(buffer.bytes.unwrap_or(0));
        self.arena_bytes.unwrap_or_else(|| self.buffers.iter().map(end).max().unwrap_or(0))
    }

    /// The plan for a problem: buffers are matched by name where names are unique on both sides, then by id.
    ///
    /// # Errors
    /// [`FormatError::PlanLacksBuffer`] with the first buffer that the file does not place.
    pub fn for_problem(&self, prepared: &Prepared) -> Result<Plan, FormatError> {
        let problem = &prepared.problem;
        let by_name = unique_names(self.buffers.iter().map(|buffer| buffer.name.as_str()));
        let own_names = unique_names(problem.ids().map(|id| prepared.buffer_name(id)));
        let by_id: BTreeMap<u64, usize> = self.buffers.iter().enumerate().filter_map(|(index, buffer)| Some((buffer.id?, index))).collect();
        let entry = |id: BufferId| {
            let name = prepared.buffer_name(id);
            let named = own_names.get(name).and_then(|_| by_name.get(name));
            // An id stands for the buffer only if the names do not say otherwise.
            let agrees = |index: &&usize| {
                let other = self.buffers[**index].name.as_str();
                other == name || other.is_empty() || by_name.is_empty() || !own_names.contains_key(name)
            };
            named.or_else(|| by_id.get(&u64::from(id.0)).filter(agrees)).map(|&index| &self.buffers[index])
        };
        let entries: Vec<Option<&PlanFileBuffer>> = problem.ids().map(entry).collect();
        if let Some(first) = entries.iter().position(Option::is_none) {
            let id = BufferId::new(first);
            let n_missing = entries.iter().filter(|entry| entry.is_none()).count();
            return Err(FormatError::PlanLacksBuffer {
                name: one_line(prepared.buffer_name(id)),
                id: id.0,
                bytes: problem.buffer(id).bytes,
                n_missing,
            });
        }
        let entries: Vec<&PlanFileBuffer> = entries.into_iter().flatten().collect();
        self.check_range(prepared, &entries)?;
        let strategy = if self.strategy.is_empty() { "plan file" } else { &self.strategy };
        let plan = Plan::from_offsets(strategy, problem, entries.iter().map(|entry| entry.offset).collect());
        let slots: Option<Vec<SlotId>> = entries.iter().map(|entry| entry.slot.map(SlotId)).collect();
        let slots = slots.filter(|slots| !slots.is_empty());
        let pools = self.pool_plan(prepared, &entries)?;
        Ok(Plan { slots, pools, arena_bytes: self.arena_bytes.unwrap_or(plan.arena_bytes), status: Status::Feasible, note: None, ..plan })
    }

    /// The pools, if the problem has several and every buffer says which one it is in.
    fn pool_plan(&self, prepared: &Prepared, entries: &[&PlanFileBuffer]) -> Result<Option<PoolPlan>, FormatError> {
        let n_pools = prepared.problem.pools().len();
        let of_buffer: Option<Vec<PoolId>> = entries.iter().map(|entry| entry.pool.map(PoolId)).collect();
        let Some(of_buffer) = of_buffer.filter(|_| n_pools > 0) else { return Ok(None) };
        if self.pools.len() != n_pools || of_buffer.iter().any(|pool| pool.index() >= n_pools) {
            let what = format!("{} pools, but the problem has {n_pools}", self.pools.len());
            return Err(FormatError::Plan { what, advice: "make the plan from the same file".to_owned() });
        }
        Ok(Some(PoolPlan { of_buffer, arena_bytes: self.pools.iter().map(|pool| pool.arena_bytes).collect() }))
    }

    /// The buffers as a plan to keep.
    #[must_use]
    pub fn to_keep(&self) -> Vec<OldBuffer> {
        let old = |buffer: &PlanFileBuffer| OldBuffer {
            name: buffer.name.clone(),
            bytes: buffer.bytes,
            offset: buffer.offset,
            pool: buffer.pool.map(PoolId),
        };
        self.buffers.iter().map(old).collect()
    }

    fn check_range(&self, prepared: &Prepared, entries: &[&PlanFileBuffer]) -> Result<(), FormatError> {
        for (buffer, entry) in prepared.problem.buffers().iter().zip(entries) {
            if entry.offset.checked_add(buffer.bytes).is_none() {
                let what = format!("buffer `{}` at offset {} ends beyond 64 bits", one_line(&entry.name), entry.offset);
                return Err(FormatError::Plan { what, advice: "correct its offset".to_owned() });
            }
            let n_slots = entries.len().saturating_mul(2);
            if entry.slot.is_some_and(|slot| SlotId(slot).index() >= n_slots) {
                let what = format!("buffer `{}` is in slot {:?}, but {} buffers need fewer slots", one_line(&entry.name), entry.slot, entries.len());
                return Err(FormatError::Plan { what, advice: "number slots from 0".to_owned() });
            }
        }
        Ok(())
    }
}

/// Names that occur once, with their position; empty names are nobody's.
fn unique_names<'a>(names: impl Iterator<Item = &'a str>) -> HashMap<&'a str, usize> {
    let mut first: HashMap<&str, Option<usize>> = HashMap::new();
    for (index, name) in names.enumerate().filter(|(_, name)| !name.is_empty()) {
        first.entry(name).and_modify(|entry| *entry = None).or_insert(Some(index));
    }
    first.into_iter().filter_map(|(name, index)| Some((name, index?))).collect()
}
