//! Reads the text of kernels into instructions. An instruction that is not known is refused by line: that is the sign
//! that the compiler emits something new.

use std::collections::HashMap;

/// A kernel, ready to run.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// Bytes of each parameter.
    pub(crate) parameters: Vec<usize>,
    pub(crate) n_registers: usize,
    pub(crate) code: Vec<Instruction>,
}

/// One line of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    /// Runs only where this predicate is as said.
    pub(crate) guard: Option<(usize, bool)>,
    pub(crate) action: Action,
    /// The line in the text, from 1.
    pub(crate) line: usize,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand {
    Register(usize),
    Immediate(u64),
    Special(Special),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Special {
    ThreadX,
    BlockX,
    BlockSizeX,
    GridSizeX,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    Min,
    Max,
    Div,
    Rem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Not,
    Negate,
    Absolute,
    Reciprocal,
    Root,
}

/// The type of an instruction: width in bits, and whether it is signed or a float.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Type {
    pub(crate) bits: u32,
    pub(crate) signed: bool,
    pub(crate) float: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    LoadParameter { to: usize, parameter: usize, bytes: usize },
    Load { to: usize, address: Operand, offset: u64, bytes: usize },
    Store { from: Operand, address: Operand, offset: u64, bytes: usize },
    Move { to: usize, from: Operand, bits: u32 },
    Binary { kind: Binary, to: usize, a: Operand, b: Operand, kind_type: Type },
    MulWide { to: usize, a: Operand, b: Operand },
    MulAdd { to: usize, a: Operand, b: Operand, c: Operand, bits: u32 },
    Unary { kind: Unary, to: usize, a: Operand, kind_type: Type },
    Convert { to: usize, from: Operand, to_type: Type, from_type: Type },
    Compare { kind: Compare, or_unordered: bool, to: usize, a: Operand, b: Operand, kind_type: Type },
    Select { to: usize, a: Operand, b: Operand, predicate: usize, bits: u32 },
    BitField { to: usize, a: Operand, from: Operand, n: Operand },
    ShuffleDown { to: usize, valid: Option<usize>, from: usize, by: Operand, members: Operand },
    Atomic { kind: Binary, to: usize, address: Operand, from: Operand, bytes: usize },
    Branch { to: usize },
    Return,
}

/// All kernels of a text, by name.
pub(crate) fn parse(text: &str) -> Result<HashMap<String, Kernel>, String> {
    let mut kernels = HashMap::new();
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.split("//").next().unwrap_or("").trim()));
    while let Some((_, line)) = lines.next() {
        let Some(rest) = line.strip_prefix(".visible .entry ") else { continue };
        let name = rest.trim_end_matches('(').trim().to_owned();
        let mut parameters = Vec::new();
        for (number, line) in lines.by_ref().take_while(|(_, line)| !line.starts_with(')')) {
            let kind = line.split_whitespace().nth(1).ok_or_else(|| format!("line {number}: parameter `{line}`"))?;
            parameters.push(type_of(kind.trim_start_matches('.'), number)?.bits as usize / 8);
        }
        let body: Vec<(usize, &str)> = lines.by_ref().take_while(|(_, line)| *line != "}").collect();
        let kernel = Body { name: &name, registers: HashMap::new(), labels: HashMap::new() }.read(parameters, &body)?;
        kernels.insert(name, kernel);
    }
    if kernels.is_empty() { Err("no kernel in the text".to_owned()) } else { Ok(kernels) }
}

struct Body<'a> {
    name: &'a str,
    registers: HashMap<&'a str, usize>,
    labels: HashMap<&'a str, usize>,
}

impl<'a> Body<'a> {
    fn read(mut self, parameters: Vec<usize>, lines: &[(usize, &'a str)]) -> Result<Kernel, String> {
        let is_code = |line: &str| !(line.is_empty() || line == "{" || line.starts_with('.'));
        let mut texts = Vec::new();
        for &(number, line) in lines.iter().filter(|(_, line)| is_code(line)) {
            match line.strip_suffix(':') {
                Some(label) => _ = self.labels.insert(label, texts.len()),
                None => texts.push((number, line.trim_end_matches(';').trim())),
            }
        }
        let code = texts.into_iter().map(|(number, text)| self.instruction(number, text)).collect::<Result<Vec<_>, _>>()?;
        Ok(Kernel { parameters, n_registers: self.registers.len(), code })
    }

    fn register(&mut self, name: &'a str) -> usize {
        let next = self.registers.len();
        *self.registers.entry(name).or_insert(next)
    }

    fn operand(&mut self, text: &'a str, line: usize) -> Result<Operand, String> {
        Ok(match text {
            "%tid.x" => Operand::Special(Special::ThreadX),
            "%ctaid.x" => Operand::Special(Special::BlockX),
            "%ntid.x" => Operand::Special(Special::BlockSizeX),
            "%nctaid.x" => Operand::Special(Special::GridSizeX),
            register if register.starts_with('%') => Operand::Register(self.register(register)),
            number => Operand::Immediate(immediate(number).ok_or_else(|| format!("line {line}: operand `{text}`"))?),
        })
    }

    fn instruction(&mut self, line: usize, text: &'a str) -> Result<Instruction, String> {
        let (guard, text) = match text.strip_prefix('@').and_then(|rest| rest.split_once(char::is_whitespace)) {
            Some((predicate, rest)) => {
                let wanted = !predicate.starts_with('!');
                (Some((self.register(predicate.trim_start_matches('!')), wanted)), rest.trim())
            }
            None => (None, text),
        };
        let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let operands: Vec<&'a str> = rest.split(',').map(str::trim).filter(|operand| !operand.is_empty()).collect();
        let parts: Vec<&str> = name.split('.').collect();
        let action = self.action(line, &parts, &operands).map_err(|why| format!("{why} (in `{text}`)"))?;
        Ok(Instruction { guard, action, line })
    }

    fn action(&mut self, line: usize, parts: &[&str], operands: &[&'a str]) -> Result<Action, String> {
        let unknown = || format!("line {line}: instruction `{}` is not known to the interpreter", parts.join("."));
        let kind_type = || parts.last().ok_or_else(unknown).and_then(|last| type_of(last, line));
        match (parts, operands) {
            (["ret"], []) => Ok(Action::Return),
            (["bra"] | ["bra", "uni"], [label]) => {
                let to = *self.labels.get(label).ok_or_else(|| format!("line {line}: no label {label}"))?;
                Ok(Action::Branch { to })
            }
            (["ld", "param", _], [to, place]) => {
                let prefix = format!("[{}_param_", self.name);
                let parameter = place.strip_prefix(prefix.as_str()).and_then(|rest| rest.trim_end_matches(']').parse().ok());
                let parameter = parameter.ok_or_else(|| format!("line {line}: parameter {place}"))?;
                Ok(Action::LoadParameter { to: self.register(to), parameter, bytes: kind_type()?.bits as usize / 8 })
            }
            (["ld", _] | ["ld", "global", _], [to, place]) => {
                let (address, offset) = self.place(place, line)?;
                Ok(Action::Load { to: self.register(to), address, offset, bytes: kind_type()?.bits as usize / 8 })
            }
            (["st", _] | ["st", "global", _], [place, from]) => {
                let (address, offset) = self.place(place, line)?;
                Ok(Action::Store { from: self.operand(from, line)?, address, offset, bytes: kind_type()?.bits as usize / 8 })
            }
            (["atom", "global", kind @ ("add" | "min" | "max"), _], [to, place, from]) => {
                let (address, offset) = self.place(place, line)?;
                if offset != 0 {
                    return Err(unknown());
                }
                let kind = binary(kind).ok_or_else(unknown)?;
                Ok(Action::Atomic { kind, to: self.register(to), address, from: self.operand(from, line)?, bytes: kind_type()?.bits as usize / 8 })
            }
            (["shfl", "sync", "down", "b32"], [to, from, by, _, members]) => {
                let (to, valid) = to.split_once('|').map_or((*to, None), |(to, valid)| (to, Some(valid)));
                let valid = valid.map(|valid| self.register(valid));
                let (to, from) = (self.register(to), self.register(from));
                Ok(Action::ShuffleDown { to, valid, from, by: self.operand(by, line)?, members: self.operand(members, line)? })
            }
            (["mov", _] | ["cvta", "to", "global", _], [to, from]) => {
                Ok(Action::Move { to: self.register(to), from: self.operand(from, line)?, bits: kind_type()?.bits })
            }
            // Floats become whole numbers toward zero, and whole numbers the nearest float.
            (["cvt", to_type, from_type] | ["cvt", "rn" | "rzi", to_type, from_type], [to, from]) => {
                let (to_type, from_type) = (type_of(to_type, line)?, type_of(from_type, line)?);
                Ok(Action::Convert { to: self.register(to), from: self.operand(from, line)?, to_type, from_type })
            }
            ([name @ ("not" | "neg" | "abs"), _] | [name @ ("rcp" | "sqrt"), "rn", _], [to, a]) => {
                let kind = unary(name).ok_or_else(unknown)?;
                Ok(Action::Unary { kind, to: self.register(to), a: self.operand(a, line)?, kind_type: kind_type()? })
            }
            (["setp", compare, _], [to, a, b]) => {
                let (kind, or_unordered) = compare_of(compare, kind_type()?.float).ok_or_else(unknown)?;
                Ok(Action::Compare {
                    kind,
                    or_unordered,
                    to: self.register(to),
                    a: self.operand(a, line)?,
                    b: self.operand(b, line)?,
                    kind_type: kind_type()?,
                })
            }
            (["selp", _], [to, a, b, predicate]) => {
                let (to, predicate) = (self.register(to), self.register(predicate));
                Ok(Action::Select { to, a: self.operand(a, line)?, b: self.operand(b, line)?, predicate, bits: kind_type()?.bits })
            }
            (["bfe", "u32"], [to, a, from, n]) => {
                let to = self.register(to);
                Ok(Action::BitField { to, a: self.operand(a, line)?, from: self.operand(from, line)?, n: self.operand(n, line)? })
            }
            (["mul", "wide", "u32"], [to, a, b]) => {
                Ok(Action::MulWide { to: self.register(to), a: self.operand(a, line)?, b: self.operand(b, line)? })
            }
            (["mad", "lo", _], [to, a, b, c]) => {
                let to = self.register(to);
                let (a, b, c) = (self.operand(a, line)?, self.operand(b, line)?, self.operand(c, line)?);
                Ok(Action::MulAdd { to, a, b, c, bits: kind_type()?.bits })
            }
            (["mul", "lo", _] | [_, _] | ["add" | "sub" | "mul" | "div", "rn", _], [to, a, b]) => {
                let kind = binary(parts[0]).ok_or_else(unknown)?;
                Ok(Action::Binary { kind, to: self.register(to), a: self.operand(a, line)?, b: self.operand(b, line)?, kind_type: kind_type()? })
            }
            _ => Err(unknown()),
        }
    }

    /// `[%rd1+8]` as a register and an offset.
    fn place(&mut self, text: &'a str, line: usize) -> Result<(Operand, u64), String> {
        let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).ok_or_else(|| format!("line {line}: place {text}"))?;
        let (register, offset) = inner.split_once('+').unwrap_or((inner, "0"));
        let offset = immediate(offset).ok_or_else(|| format!("line {line}: offset {offset}"))?;
        Ok((self.operand(register, line)?, offset))
    }
}

fn immediate(text: &str) -> Option<u64> {
    let float = |digits: &str| u64::from_str_radix(digits, 16).ok();
    if let Some(digits) = text.strip_prefix("0f").or_else(|| text.strip_prefix("0d")) {
        return float(digits);
    }
    match text.strip_prefix('-') {
        Some(digits) => digits.parse::<u64>().ok().map(u64::wrapping_neg),
        None => text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |digits| u64::from_str_radix(digits, 16).ok()),
    }
}

fn type_of(name: &str, line: usize) -> Result<Type, String> {
    let (letter, bits) = name.split_at(1.min(name.len()));
    let bits: Option<u32> = if name == "pred" { Some(1) } else { bits.parse().ok() };
    let bits = bits.filter(|bits| [1, 8, 16, 32, 64].contains(bits) && (name == "pred" || ["u", "s", "b", "f"].contains(&letter)));
    bits.map(|bits| Type { bits, signed: letter == "s", float: letter == "f" })
        .ok_or_else(|| format!("line {line}: type `{name}` is not known to the interpreter"))
}

fn binary(name: &str) -> Option<Binary> {
    Some(match name {
        "add" => Binary::Add,
        "sub" => Binary::Sub,
        "mul" => Binary::Mul,
        "and" => Binary::And,
        "or" => Binary::Or,
        "xor" => Binary::Xor,
        "shl" => Binary::ShiftLeft,
        "shr" => Binary::ShiftRight,
        "min" => Binary::Min,
        "max" => Binary::Max,
        "div" => Binary::Div,
        "rem" => Binary::Rem,
        _ => return None,
    })
}

fn unary(name: &str) -> Option<Unary> {
    Some(match name {
        "not" => Unary::Not,
        "neg" => Unary::Negate,
        "abs" => Unary::Absolute,
        "rcp" => Unary::Reciprocal,
        "sqrt" => Unary::Root,
        _ => return None,
    })
}

/// A comparison, and whether it holds for what is no number: `geu` is `ge` or no number, `nan` is never or no number.
fn compare_of(name: &str, is_float: bool) -> Option<(Compare, bool)> {
    if name == "nan" {
        return Some((Compare::Never, true));
    }
    let unordered = name.strip_suffix('u').filter(|_| is_float);
    let kind = match unordered.unwrap_or(name) {
        "eq" => Compare::Eq,
        "ne" => Compare::Ne,
        "lt" => Compare::Lt,
        "le" => Compare::Le,
        "gt" => Compare::Gt,
        "ge" => Compare::Ge,
        _ => return None,
    };
    Some((kind, unordered.is_some()))
}
