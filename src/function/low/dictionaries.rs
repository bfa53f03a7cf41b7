//! Dictionaries and sets: a list of keys, one of values, and a hash table of the keys' positions.
//!
//! ```text
//! d[k] = v      p = python.find_key(table, keys, k)
//!               p < 0 ? append k to keys, append v to values, python.add_key(table, keys) : values[p] = v
//! d[k]          values[python.key_position(table, keys, k)]
//! ```
//!
//! Keys stand in the order in which they came in, which is the order of iteration.

use super::leaves::leaf_types;
use super::views::ArrayPart;
use super::{Lower, Lowering};
use crate::function::library::LibraryKind;
use crate::function::types::FunctionType;
use crate::ssa::{BlockId, InstId, SsaOp, Tail};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::qtype::{BOOLEAN, INT64};

/// A dictionary or set as its arrays.
pub(super) struct DictParts {
    pub(super) keys: ArrayPart,
    values: Option<ArrayPart>,
    table: InstId,
}

impl Lowering<'_> {
    /// The arrays of a dictionary or set.
    pub(super) fn dict(&self, value: InstId) -> Option<DictParts> {
        let FunctionType::Dict(dict) = self.type_of(value) else { return None };
        let leaves = self.leaves(value);
        let values = dict.values().map(|values| ArrayPart::whole(leaves[1], values));
        let table = *leaves.last().expect("a dictionary has leaves");
        Some(DictParts { keys: ArrayPart::whole(leaves[0], dict.keys()), values, table })
    }

    /// Calls of the library that are about dictionaries, or may be.
    pub(super) fn dict_builtin(
        &mut self,
        kind: LibraryKind,
        args: &[InstId],
        inst: InstId,
    ) -> Lower<Vec<InstId>> {
        match kind {
            LibraryKind::NewDict | LibraryKind::NewSet => self.new_dict(inst),
            LibraryKind::AddKey => {
                let dict = self.dict(args[0]).expect("inference takes a set");
                let key = self.key(&dict, args[1]);
                let position = self.find_key(&dict, key);
                let is_new = self.is_absent(position);
                self.choose(is_new, &[], |this, is_then| {
                    if is_then {
                        this.add_key(&dict, key);
                    }
                    Ok(Vec::new())
                })
            }
            LibraryKind::DictGet => self.dict_get(args, inst),
            LibraryKind::Element => match self.dict(args[0]) {
                Some(dict) => {
                    let at = self.leaf(args[1]);
                    Ok(vec![self.load(&dict.keys, &[at])])
                }
                None => unreachable!("elements of other values are parts of them"),
            },
            LibraryKind::ValueAt => {
                let dict = self.dict(args[0]).expect("inference takes a dictionary");
                let (values, at) = (dict.values.expect("a dictionary has values"), self.leaf(args[1]));
                Ok(vec![self.load(&values, &[at])])
            }
            LibraryKind::IterationLength => {
                let length = self.length(args[0]);
                Ok(vec![match self.type_of(args[0]) {
                    FunctionType::Dict(_) => {
                        let before = self.leaf(args[1]);
                        self.operator("python.same_length", vec![length, before], INT64)
                    }
                    _ => length,
                }])
            }
            _ => unreachable!("callers have looked"),
        }
    }

    fn new_dict(&mut self, inst: InstId) -> Lower<Vec<InstId>> {
        let mut lists = Vec::new();
        leaf_types(self.type_of(inst), &mut lists);
        let mut leaves = Vec::new();
        for list in lists {
            let FunctionType::Array(array) = list else { unreachable!("a dictionary is made of lists") };
            let (zero, none) = (self.int(0), self.int(0));
            let zero = self.element_value(zero, &FunctionType::Int, array.element);
            leaves.push(self.filled(array, zero, vec![none])?);
        }
        Ok(leaves)
    }

    /// `d[key]`, which raises if the key is not there.
    pub(super) fn dict_value(&mut self, dict: &DictParts, key: InstId) -> Vec<InstId> {
        let key = self.key(dict, key);
        let args = vec![dict.table, dict.keys.root, key];
        let position = self.operator("python.key_position", args, INT64);
        let values = dict.values.clone().expect("inference takes a dictionary");
        vec![self.load(&values, &[position])]
    }

    /// `d[key] = value`.
    pub(super) fn set_dict_value(&mut self, dict: &DictParts, key: InstId, value: InstId) -> Lower<()> {
        let values = dict.values.clone().expect("inference takes a dictionary");
        let (number, of) = (self.leaf(value), self.type_of(value));
        let key = self.key(dict, key);
        let position = self.find_key(dict, key);
        let is_new = self.is_absent(position);
        self.choose(is_new, &[], |this, is_then| {
            match is_then {
                true => {
                    let element = this.element_value(number, of, values.array.element);
                    this.update("nd.append", vec![values.root, element]);
                    this.add_key(dict, key);
                }
                false => this.store(&values, &[position], number, of),
            }
            Ok(Vec::new())
        })?;
        Ok(())
    }

    /// `key in d`.
    pub(super) fn has_key(&mut self, dict: &DictParts, key: InstId) -> InstId {
        let key = self.key(dict, key);
        let (position, zero) = (self.find_key(dict, key), self.int(0));
        self.total("bool.less_equal", vec![zero, position], BOOLEAN)
    }

    /// `d.get(key, default)`: the value, or the default, or nothing.
    fn dict_get(&mut self, args: &[InstId], inst: InstId) -> Lower<Vec<InstId>> {
        let dict = self.dict(args[0]).expect("inference takes a dictionary");
        let values = dict.values.clone().expect("inference takes a dictionary");
        let key = self.key(&dict, args[1]);
        let position = self.find_key(&dict, key);
        let wanted = self.type_of(inst).clone();
        let loaded = values.array.loaded();
        let mut types = Vec::new();
        leaf_types(&wanted, &mut types);
        let is_absent = self.is_absent(position);
        self.choose(is_absent, &types, |this, is_then| {
            if is_then {
                return match args.get(2) {
                    Some(default) => this.leaves_as(*default, &wanted),
                    None => {
                        let (absent, zero) = (this.boolean(false), this.int(0));
                        Ok(vec![absent, this.cast(zero, &FunctionType::Int, &types[1])])
                    }
                };
            }
            let value = this.load(&values, &[position]);
            Ok(match &wanted {
                FunctionType::Optional(of) => vec![this.boolean(true), this.cast(value, &loaded, of)],
                of => vec![this.cast(value, &loaded, of)],
            })
        })
    }

    /// A key in the type of the keys.
    fn key(&mut self, dict: &DictParts, key: InstId) -> InstId {
        self.leaf_as(key, &dict.keys.array.loaded())
    }

    fn find_key(&mut self, dict: &DictParts, key: InstId) -> InstId {
        self.operator("python.find_key", vec![dict.table, dict.keys.root, key], INT64)
    }

    fn is_absent(&mut self, position: InstId) -> InstId {
        let zero = self.int(0);
        self.total("bool.less", vec![position, zero], BOOLEAN)
    }

    fn add_key(&mut self, dict: &DictParts, key: InstId) {
        self.update("nd.append", vec![dict.keys.root, key]);
        self.update("python.add_key", vec![dict.table, dict.keys.root]);
    }

    /// Two ways by a condition, and the values that they lead to; `way` is called with true for the first.
    fn choose(
        &mut self,
        condition: InstId,
        types: &[FunctionType],
        mut way: impl FnMut(&mut Self, bool) -> Lower<Vec<InstId>>,
    ) -> Lower<Vec<InstId>> {
        let depth = self.flow.block(self.block).depth;
        let [then, orelse, end] = [depth; 3].map(|depth| self.flow.add_block(depth));
        let before = self.block;
        self.close(Tail::Branch { condition, then, orelse });
        let mut ends: Vec<(BlockId, Vec<InstId>)> = Vec::new();
        for (block, is_then) in [(then, true), (orelse, false)] {
            self.flow.blocks[block.index()].predecessors = vec![before];
            self.block = block;
            let values = way(self, is_then)?;
            ends.push((self.block, values));
            self.close(Tail::Jump(end));
        }
        self.flow.blocks[end.index()].predecessors = ends.iter().map(|end| end.0).collect();
        self.block = end;
        let mut results = Vec::new();
        for (position, of) in types.iter().enumerate() {
            let qtype = self.qtype(of)?;
            let args = ends.iter().map(|end| end.1[position]).collect();
            results.push(self.flow.push(end, SsaOp::Phi, args, Span::default()));
            self.types.push(Some(qtype));
        }
        Ok(results)
    }
}
