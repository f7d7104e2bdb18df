//! Runs a kernel: warps of 32 lanes, the lanes with the lowest program counter first, every access checked.

use crate::memory::Memory;
use crate::ptx::{Action, Binary, Compare, Instruction, Kernel, Operand, Special, Type, Unary};

const LANES: usize = 32;
/// Instructions of one warp after which a kernel counts as endless.
const MAX_INSTRUCTIONS: u64 = 1 << 32;

/// What a kernel did wrong.
#[derive(Debug)]
pub(crate) enum Trap {
    IllegalAddress {
        line: usize,
        address: u64,
        bytes: usize,
    },
    Misaligned {
        line: usize,
        address: u64,
        bytes: usize,
    },
    /// A shuffle that not all of its members came to.
    MissingLanes {
        line: usize,
    },
    Endless,
}

/// The shape of a launch along x; other axes are 1.
#[derive(Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
}

/// Runs all warps of a launch, one after another.
pub(crate) fn launch(kernel: &Kernel, grid: Grid, parameters: &[u64], memory: &mut Memory) -> Result<(), Trap> {
    for block in 0..grid.blocks {
        for first in (0..grid.threads).step_by(LANES) {
            Warp::new(kernel, grid, block, first).run(parameters, memory)?;
        }
    }
    Ok(())
}

struct Warp<'k> {
    kernel: &'k Kernel,
    grid: Grid,
    block: u32,
    first_thread: u32,
    /// Registers of all lanes: those of one register are beside each other.
    registers: Vec<[u64; LANES]>,
    /// The next instruction of each lane; `usize::MAX` for lanes that are done.
    next: [usize; LANES],
    /// Block of memory that was used last, as begin and end.
    recent: (u64, u64),
}

impl<'k> Warp<'k> {
    fn new(kernel: &'k Kernel, grid: Grid, block: u32, first_thread: u32) -> Self {
        let mut next = [0; LANES];
        for (lane, next) in (first_thread..).zip(&mut next) {
            if lane >= grid.threads {
                *next = usize::MAX;
            }
        }
        Self { kernel, grid, block, first_thread, registers: vec![[0; LANES]; kernel.n_registers], next, recent: (0, 0) }
    }

    fn run(&mut self, parameters: &[u64], memory: &mut Memory) -> Result<(), Trap> {
        let mut budget = MAX_INSTRUCTIONS;
        loop {
            let at = self.next.iter().copied().min().unwrap_or(usize::MAX);
            if at >= self.kernel.code.len() {
                return Ok(());
            }
            let others = self.next.iter().copied().filter(|&next| next != at).min().unwrap_or(usize::MAX);
            let lanes: u32 = (0..LANES).filter(|&lane| self.next[lane] == at).fold(0, |lanes, lane| lanes | 1 << lane);
            budget = self.run_together(at, others, lanes, parameters, memory, budget)?;
        }
    }

    /// Runs lanes that are at one place until they part or meet others.
    fn run_together(
        &mut self,
        mut at: usize,
        others: usize,
        lanes: u32,
        parameters: &[u64],
        memory: &mut Memory,
        mut budget: u64,
    ) -> Result<u64, Trap> {
        let kernel = self.kernel;
        while let Some(instruction) = kernel.code.get(at).filter(|_| at < others || others == usize::MAX) {
            budget = budget.checked_sub(1).ok_or(Trap::Endless)?;
            let active = self.guarded(instruction, lanes);
            match instruction.action {
                Action::Branch { to } => {
                    self.go(active, to);
                    self.go(lanes & !active, at + 1);
                    if active != 0 && active != lanes {
                        return Ok(budget);
                    }
                    at = if active == 0 { at + 1 } else { to };
                    if at > others {
                        return Ok(budget);
                    }
                }
                Action::Return => {
                    self.go(active, usize::MAX);
                    self.go(lanes & !active, at + 1);
                    return Ok(budget);
                }
                action => {
                    self.act(action, instruction.line, active, parameters, memory)?;
                    at += 1;
                }
            }
        }
        self.go(lanes, at);
        Ok(budget)
    }

    fn go(&mut self, lanes: u32, to: usize) {
        for lane in each(lanes) {
            self.next[lane] = to;
        }
    }

    fn guarded(&self, instruction: &Instruction, lanes: u32) -> u32 {
        let Some((predicate, wanted)) = instruction.guard else { return lanes };
        each(lanes).filter(|&lane| (self.registers[predicate][lane] & 1 == 1) == wanted).fold(0, |lanes, lane| lanes | 1 << lane)
    }

    fn value(&self, operand: Operand, lane: usize) -> u64 {
        match operand {
            Operand::Register(register) => self.registers[register][lane],
            Operand::Immediate(value) => value,
            Operand::Special(Special::ThreadX) => u64::from(self.first_thread) + lane as u64,
            Operand::Special(Special::BlockX) => u64::from(self.block),
            Operand::Special(Special::BlockSizeX) => u64::from(self.grid.threads),
            Operand::Special(Special::GridSizeX) => u64::from(self.grid.blocks),
        }
    }

    fn act(&mut self, action: Action, line: usize, lanes: u32, parameters: &[u64], memory: &mut Memory) -> Result<(), Trap> {
        match action {
            Action::Load { to, address, offset, bytes } => {
                for lane in each(lanes) {
                    let address = self.value(address, lane).wrapping_add(offset);
                    self.check(memory, line, address, bytes)?;
                    self.registers[to][lane] = memory.load(address, bytes);
                }
            }
            Action::Store { from, address, offset, bytes } => {
                for lane in each(lanes) {
                    let address = self.value(address, lane).wrapping_add(offset);
                    self.check(memory, line, address, bytes)?;
                    memory.store(address, bytes, self.value(from, lane));
                }
            }
            Action::Atomic { kind, to, address, from, bytes } => {
                let kind_type = Type { bits: if bytes == 8 { 64 } else { 32 }, signed: false, float: false };
                for lane in each(lanes) {
                    let address = self.value(address, lane);
                    self.check(memory, line, address, bytes)?;
                    let old = memory.load(address, bytes);
                    memory.store(address, bytes, compute(kind, old, self.value(from, lane), kind_type));
                    self.registers[to][lane] = old;
                }
            }
            Action::ShuffleDown { to, valid, from, by, members } => {
                let source = self.registers[from];
                for lane in each(lanes) {
                    if self.value(members, lane) & 0xffff_ffff != u64::from(lanes) {
                        return Err(Trap::MissingLanes { line });
                    }
                    let other = lane.saturating_add(usize::try_from(self.value(by, lane) & 31).unwrap_or(LANES));
                    let is_valid = other < LANES;
                    self.registers[to][lane] = source[if is_valid { other } else { lane }];
                    if let Some(valid) = valid {
                        self.registers[valid][lane] = u64::from(is_valid);
                    }
                }
            }
            plain => {
                for lane in each(lanes) {
                    let (to, value) = self.plain(plain, lane, parameters);
                    self.registers[to][lane] = value;
                }
            }
        }
        Ok(())
    }

    /// Instructions that only compute.
    fn plain(&self, action: Action, lane: usize, parameters: &[u64]) -> (usize, u64) {
        let value = |operand| self.value(operand, lane);
        match action {
            Action::LoadParameter { to, parameter, bytes } => (to, cut(parameters[parameter], if bytes == 8 { 64 } else { 32 })),
            Action::Move { to, from, bits } => (to, cut(value(from), bits)),
            Action::Binary { kind, to, a, b, kind_type } => (to, compute(kind, value(a), value(b), kind_type)),
            Action::MulWide { to, a, b } => (to, cut(value(a), 32) * cut(value(b), 32)),
            Action::MulAdd { to, a, b, c, bits } => (to, cut(value(a).wrapping_mul(value(b)).wrapping_add(value(c)), bits)),
            Action::Unary { kind, to, a, kind_type } => (to, alone(kind, value(a), kind_type)),
            Action::Convert { to, from, to_type, from_type } => (to, convert(value(from), to_type, from_type)),
            Action::Compare { kind, or_unordered, to, a, b, kind_type } => {
                (to, u64::from(compare(kind, or_unordered, value(a), value(b), kind_type)))
            }
            Action::Select { to, a, b, predicate, bits } => {
                (to, cut(if self.registers[predicate][lane] & 1 == 1 { value(a) } else { value(b) }, bits))
            }
            Action::BitField { to, a, from, n } => {
                let (from, n) = (value(from) & 255, value(n) & 255);
                let shifted = if from < 32 { cut(value(a), 32) >> from } else { 0 };
                (to, if n < 32 { shifted & ((1 << n) - 1) } else { shifted })
            }
            Action::Load { to, .. } | Action::Atomic { to, .. } | Action::ShuffleDown { to, .. } => (to, 0),
            Action::Store { .. } | Action::Branch { .. } | Action::Return => (0, 0),
        }
    }

    fn check(&mut self, memory: &Memory, line: usize, address: u64, bytes: usize) -> Result<(), Trap> {
        if !address.is_multiple_of(bytes as u64) {
            return Err(Trap::Misaligned { line, address, bytes });
        }
        let is_in = |(begin, end): (u64, u64)| begin <= address && address.saturating_add(bytes as u64) <= end;
        if !is_in(self.recent) {
            self.recent = memory.block_at(address).filter(|&block| is_in(block)).ok_or(Trap::IllegalAddress { line, address, bytes })?;
        }
        Ok(())
    }
}

fn each(lanes: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| lanes >> lane & 1 == 1)
}

fn cut(value: u64, bits: u32) -> u64 {
    if bits >= 64 { value } else { value & ((1 << bits) - 1) }
}

fn compute(kind: Binary, a: u64, b: u64, kind_type: Type) -> u64 {
    if kind_type.float {
        return of_floats(kind, a, b, kind_type.bits);
    }
    let bits = kind_type.bits;
    let (a, b) = (cut(a, bits), if matches!(kind, Binary::ShiftLeft | Binary::ShiftRight) { b & 0xffff_ffff } else { cut(b, bits) });
    let is_less = compare(Compare::Lt, false, a, b, kind_type);
    let result = match kind {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::ShiftLeft => {
            if b < u64::from(bits) {
                a << b
            } else {
                0
            }
        }
        Binary::ShiftRight => {
            if kind_type.signed {
                (signed(a, bits) >> b.min(63)).cast_unsigned()
            } else if b < u64::from(bits) {
                a >> b
            } else {
                0
            }
        }
        Binary::Min => {
            if is_less {
                a
            } else {
                b
            }
        }
        Binary::Max => {
            if is_less {
                b
            } else {
                a
            }
        }
        // What a division by 0 gives is not defined; kernels must not depend on it.
        Binary::Div if kind_type.signed => signed(a, bits).checked_div(signed(b, bits)).unwrap_or(-1).cast_unsigned(),
        Binary::Rem if kind_type.signed => signed(a, bits).checked_rem(signed(b, bits)).unwrap_or(0).cast_unsigned(),
        Binary::Div => a.checked_div(b).unwrap_or(u64::MAX),
        Binary::Rem => a.checked_rem(b).unwrap_or(0),
    };
    cut(result, bits)
}

fn signed(value: u64, bits: u32) -> i64 {
    let unused = 64 - bits;
    (value << unused).cast_signed() >> unused
}

/// The bits of a register as a float of that width.
fn float(value: u64, bits: u32) -> f64 {
    if bits == 64 { f64::from_bits(value) } else { f64::from(f32::from_bits(low(value))) }
}

fn low(value: u64) -> u32 {
    u32::try_from(value & 0xffff_ffff).unwrap_or(0)
}

/// The nearest float of that width; one operation in 64 bits and a rounding is one rounding in 32.
#[expect(clippy::cast_possible_truncation, reason = "rounding to the nearest is the purpose")]
fn float_bits(value: f64, bits: u32) -> u64 {
    if bits == 64 { value.to_bits() } else { u64::from((value as f32).to_bits()) }
}

fn of_floats(kind: Binary, a: u64, b: u64, bits: u32) -> u64 {
    let (x, y) = (float(a, bits), float(b, bits));
    let result = match kind {
        Binary::Add => x + y,
        Binary::Sub => x - y,
        Binary::Mul => x * y,
        Binary::Div => x / y,
        Binary::Min => x.min(y),
        Binary::Max => x.max(y),
        _ => f64::NAN,
    };
    float_bits(result, bits)
}

fn alone(kind: Unary, a: u64, kind_type: Type) -> u64 {
    let bits = kind_type.bits;
    if kind_type.float {
        let x = float(a, bits);
        let result = match kind {
            Unary::Negate => -x,
            Unary::Absolute => x.abs(),
            Unary::Reciprocal => 1.0 / x,
            Unary::Root => x.sqrt(),
            Unary::Not => f64::NAN,
        };
        return float_bits(result, bits);
    }
    cut(
        match kind {
            Unary::Negate => a.wrapping_neg(),
            Unary::Absolute => signed(a, bits).unsigned_abs(),
            _ => !a,
        },
        bits,
    )
}

#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "conversions as the instructions define them")]
fn convert(value: u64, to: Type, from: Type) -> u64 {
    match (to.float, from.float) {
        (true, true) => float_bits(float(value, from.bits), to.bits),
        (true, false) if from.signed && to.bits == 64 => (signed(value, from.bits) as f64).to_bits(),
        (true, false) if from.signed => u64::from((signed(value, from.bits) as f32).to_bits()),
        (true, false) if to.bits == 64 => (cut(value, from.bits) as f64).to_bits(),
        (true, false) => u64::from((cut(value, from.bits) as f32).to_bits()),
        (false, true) => cut((float(value, from.bits) as i64).cast_unsigned(), to.bits),
        (false, false) if from.signed => cut(signed(value, from.bits).cast_unsigned(), to.bits),
        (false, false) => cut(value, to.bits.min(from.bits)),
    }
}

fn compare(kind: Compare, or_unordered: bool, a: u64, b: u64, kind_type: Type) -> bool {
    let bits = kind_type.bits;
    let (a, b) = (cut(a, bits), cut(b, bits));
    let order = if kind_type.float {
        let Some(order) = float(a, bits).partial_cmp(&float(b, bits)) else { return or_unordered };
        order
    } else if kind_type.signed {
        signed(a, bits).cmp(&signed(b, bits))
    } else {
        a.cmp(&b)
    };
    match kind {
        Compare::Never => false,
        Compare::Eq => order.is_eq(),
        Compare::Ne => order.is_ne(),
        Compare::Lt => order.is_lt(),
        Compare::Le => order.is_le(),
        Compare::Gt => order.is_gt(),
        Compare::Ge => order.is_ge(),
    }
}
