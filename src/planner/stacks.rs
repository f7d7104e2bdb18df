//! Call stacks of a trace, each text, frame and stack stored once.
//!
//! A trace of millions of events has hundreds of distinct stacks, so that events hold ids and no text.

use std::collections::HashMap;
use std::sync::Arc;

/// An interned text; a position in a [`StackTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct TextId(pub u32);

/// An interned frame; a position in a [`StackTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct FrameId(pub u32);

/// An interned stack; a position in a [`StackTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct StackId(pub u32);

impl StackId {
    /// The stack without frames: nothing was recorded.
    pub const EMPTY: Self = Self(0);
}

/// One call of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Frame {
    /// The function; may be empty.
    pub function: TextId,
    /// Its source file; empty or `??` if unknown.
    pub file: TextId,
    /// The line in it, counted from 1; 0 if unknown.
    pub line: u32,
}

/// Texts, frames and stacks, each stored once.
#[derive(Clone, Debug)]
pub struct StackTable {
    texts: Vec<Arc<str>>,
    text_ids: HashMap<Arc<str>, TextId>,
    frames: Vec<Frame>,
    frame_ids: HashMap<Frame, FrameId>,
    /// The frames of all stacks, one stack behind the other.
    stack_frames: Vec<FrameId>,
    /// Where each stack begins in `stack_frames`, and where the last one ends.
    stack_starts: Vec<usize>,
    stack_lines: Vec<TextId>,
    stack_ids: HashMap<Vec<FrameId>, StackId>,
}

impl Default for StackTable {
    fn default() -> Self {
        let mut table = Self {
            texts: Vec::new(),
            text_ids: HashMap::new(),
            frames: Vec::new(),
            frame_ids: HashMap::new(),
            stack_frames: Vec::new(),
            stack_starts: vec![0, 0],
            stack_lines: Vec::new(),
            stack_ids: HashMap::from([(Vec::new(), StackId::EMPTY)]),
        };
        let nothing = table.text_id("");
        table.stack_lines.push(nothing);
        table
    }
}

/// The id of the next entry of a list; the readers keep lists far below this limit.
fn next_id(length: usize) -> u32 {
    u32::try_from(length).expect("a table holds fewer than 2^32 entries")
}

impl StackTable {
    /// The id of a text, new or known. Time O(length).
    pub fn text_id(&mut self, text: &str) -> TextId {
        if let Some(&id) = self.text_ids.get(text) {
            return id;
        }
        let id = TextId(next_id(self.texts.len()));
        let text: Arc<str> = Arc::from(text);
        self.texts.push(Arc::clone(&text));
        self.text_ids.insert(text, id);
        id
    }

    /// The id of a frame, new or known.
    pub fn frame_id(&mut self, frame: Frame) -> FrameId {
        let id = FrameId(next_id(self.frames.len()));
        *self.frame_ids.entry(frame).or_insert_with(|| {
            self.frames.push(frame);
            id
        })
    }

    /// The id of a stack, innermost frame first. `line` says in a few words where a new stack allocates.
    pub fn stack_id(&mut self, frames: &[FrameId], line: impl FnOnce(&Self) -> String) -> StackId {
        if let Some(&id) = self.stack_ids.get(frames) {
            return id;
        }
        let id = StackId(next_id(self.stack_lines.len()));
        let line = line(self);
        let line = self.text_id(&line);
        self.stack_frames.extend_from_slice(frames);
        self.stack_starts.push(self.stack_frames.len());
        self.stack_lines.push(line);
        self.stack_ids.insert(frames.to_vec(), id);
        id
    }

    /// A text.
    #[must_use]
    pub fn text(&self, id: TextId) -> &str {
        &self.texts[id.0 as usize]
    }

    /// A frame.
    #[must_use]
    pub fn frame(&self, id: FrameId) -> Frame {
        self.frames[id.0 as usize]
    }

    /// The frames of a stack, innermost first.
    #[must_use]
    pub fn stack(&self, id: StackId) -> &[FrameId] {
        let index = id.0 as usize;
        &self.stack_frames[self.stack_starts[index]..self.stack_starts[index + 1]]
    }

    /// Where a stack allocates, in a few words: stacks with the same line form a group. Empty for an empty stack.
    #[must_use]
    pub fn line(&self, id: StackId) -> TextId {
        self.stack_lines[id.0 as usize]
    }

    /// How many distinct stacks there are, the empty one not counted.
    #[must_use]
    pub fn n_stacks(&self) -> usize {
        self.stack_lines.len() - 1
    }

    /// How many distinct frames there are.
    #[must_use]
    pub fn n_frames(&self) -> usize {
        self.frames.len()
    }

    /// How many distinct texts there are.
    #[must_use]
    pub fn n_texts(&self) -> usize {
        self.texts.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stacks_are_stored_once() {
        let mut table = StackTable::default();
        let (function, file) = (table.text_id("forward"), table.text_id("model.py"));
        let inner = table.frame_id(Frame { function, file, line: 7 });
        let outer = table.frame_id(Frame { function, file, line: 9 });
        assert_eq!(table.frame_id(Frame { function, file, line: 7 }), inner);
        let stack = table.stack_id(&[inner, outer], |table| table.text(file).to_owned());
        assert_eq!(table.stack_id(&[inner, outer], |_| unreachable!("the stack is known")), stack);
        assert_eq!((table.n_stacks(), table.stack(stack)), (1, [inner, outer].as_slice()));
        assert_eq!((table.text(table.line(stack)), table.text(table.line(StackId::EMPTY))), ("model.py", ""));
        assert!(table.stack(StackId::EMPTY).is_empty());
    }
}
