//! Hash tables of dictionaries: arrays of positions that a routine has made, beside the list of keys.
//!
//! ```text
//! python.find_key(v3, v4, v1)        find_key_i64 of `tables.c`: a position, or -1
//! python.key_position(v3, v4, v1)    the same; a key that is not there raises, and its message stands in the error
//! python.add_key(v3, v4)             add_key_i64; the table may have grown
//! ```

use crate::native::c::constants::quoted;
use crate::native::c::locals::CType;
use crate::native::c::writer::Writer;
use crate::native::operation::{Operation, text_for};
use cembra_vm::builtins::nd::hash_table::{ADD_KEY, FIND_KEY, KEY_POSITION, SAME_LENGTH};
use cembra_vm::program::{Program, ValueId};
use cembra_vm::value::ScalarType;

/// The text that programs with hash tables need.
pub(super) const TABLES: &str = include_str!("tables.c");

/// The text of hash tables, if a program needs it.
pub(super) fn table_functions(program: &Program) -> &'static str {
    text_for(program, TABLES, |overload| [FIND_KEY, KEY_POSITION, ADD_KEY].contains(&&**overload.name()))
}

impl Writer<'_> {
    /// Statements of an operator on hash tables; `None` if it is none, or changes an argument.
    pub(super) fn table(&self, operation: Operation<'_>) -> Option<String> {
        let Operation { ip, overload, operands, result } = operation;
        match &**overload.name() {
            SAME_LENGTH if self.locals.array(result).is_none() => {
                let [length, before] = [0, 1].map(|position| self.locals.only(operands[position]));
                let message = quoted("RuntimeError: dictionary changed size during iteration");
                let raise = self.raise(ip, &message, &[]);
                Some(format!(
                    "{{ if (CEMBRA_RARE({length} != {before})) {{ int32_t k = CEMBRA_RAISED; {raise} }} {} = {length}; }}",
                    self.locals.only(result)
                ))
            }
            FIND_KEY => self.found(ip, operands, result, ""),
            KEY_POSITION => {
                let (key, code) = (self.locals.only(operands[2]), self.key_code(operands[1])?);
                let raise = self.raise(ip, &format!("key_error_{code}(run->error->text, {key})"), &[]);
                let missing = format!("if (CEMBRA_RARE(at < 0)) {{ k = CEMBRA_RAISED; {raise} }} ");
                self.found(ip, operands, result, &missing)
            }
            ADD_KEY => {
                let (table, code) = (self.locals.owner(result), self.key_code(operands[1])?);
                let mut inputs = self.routine.inputs.iter().map(|(_, input)| self.locals.owner(*input));
                if !self.made.contains(&table) || inputs.any(|input| input == table) {
                    return None;
                }
                Some(format!(
                    "{{ cembra_array f = {}, g = {}; int32_t k = add_key_{code}(&f, &{table}_own, &g); if (CEMBRA_RARE(k)) {{ {} }} \
                     {table} = f.data; {table}_n0 = {table}_room = f.shape[0]; {table}_s0 = 8; }}",
                    self.descriptor(result),
                    self.descriptor(operands[1]),
                    self.refused_key(ip, &[])
                ))
            }
            _ => None,
        }
    }

    /// A search, and what follows with the position as `at`.
    fn found(&self, ip: usize, operands: &[ValueId], result: ValueId, then: &str) -> Option<String> {
        let (key, code) = (self.locals.all(operands[2]).pop()?, self.key_code(operands[1])?);
        Some(format!(
            "{{ cembra_array f = {}, g = {}; int64_t at, cell; int32_t k = find_key_{code}(&f, &g, {}, &at, &cell); \
             if (CEMBRA_RARE(k)) {{ {} }} {then}{} = at; }}",
            self.descriptor(operands[0]),
            self.descriptor(operands[1]),
            key.0,
            self.refused_key(ip, std::slice::from_ref(&key)),
            self.locals.only(result)
        ))
    }

    fn refused_key(&self, ip: usize, operands: &[(String, CType)]) -> String {
        let message = format!(
            "k == CEMBRA_DOMAIN ? {} : {}",
            quoted("NaN is no key: it equals nothing"),
            quoted("a hash table does not fit its keys")
        );
        self.raise(ip, &message, operands)
    }

    fn key_code(&self, keys: ValueId) -> Option<&'static str> {
        match self.locals.array(keys)?.element() {
            ScalarType::Int64 => Some("i64"),
            ScalarType::Float64 => Some("f64"),
            _ => None,
        }
    }
}
