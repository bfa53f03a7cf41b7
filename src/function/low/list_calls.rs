//! Methods of lists: elements that change their places.
//!
//! ```text
//! insert(p, x)    append x;  a[k] = a[k - 1] from the end down to p;  a[p] = x
//! pop(p)          a[k] = a[k + 1] from p on;  the last element goes
//! ```

use super::views::ArrayPart;
use super::{Lower, Lowering};
use crate::function::library::ListMethod;
use crate::function::types::{ArrayOf, FunctionType};
use crate::python::CompareOp;
use crate::ssa::InstId;
use cembra_vm::value::qtype::{BOOLEAN, INT64};

impl Lowering<'_> {
    /// A method of a list, which comes first.
    pub(super) fn list_method(&mut self, method: ListMethod, args: &[InstId]) -> Lower<Vec<InstId>> {
        if let ListMethod::Index | ListMethod::Count = method {
            let part = self.part(args[0]).expect("inference takes a list");
            return Ok(vec![match method {
                ListMethod::Count => self.count_of(&part, args[1])?,
                _ => self.place_of(&part, args[1], "the value is not in the list")?,
            }]);
        }
        let part = self.written_part(args[0])?;
        match method {
            ListMethod::PopAt => {
                let (place, length) = (self.leaf_as(args[1], &FunctionType::Int), self.axis_length(&part, 0));
                let place = self.operator("python.index", vec![place, length], INT64);
                let value = self.load(&part, &[place]);
                self.remove_at(&part, place)?;
                return Ok(vec![value]);
            }
            ListMethod::Insert => self.insert(&part, args[1], args[2])?,
            ListMethod::Remove => {
                let place = self.place_of(&part, args[1], "list.remove(x): x not in list")?;
                self.remove_at(&part, place)?;
            }
            ListMethod::Reverse => self.reverse(&part)?,
            ListMethod::Clear => {
                let length = self.axis_length(&part, 0);
                self.fold(length, None, &mut |this, _, _| {
                    this.update("nd.remove_last", vec![part.root]);
                    Ok(None)
                })?;
            }
            ListMethod::Sort if part.array.is_list => self.update("nd.sort", vec![part.root]),
            ListMethod::Sort => self.sort(&part)?,
            ListMethod::Fill => {
                let (of, value) = (self.type_of(args[1]), self.leaf(args[1]));
                self.for_each_element(&part, &mut |this, part, indices| {
                    this.store(part, indices, value, of);
                    Ok(())
                })?;
            }
            ListMethod::Index | ListMethod::Count => unreachable!("they change nothing"),
        }
        Ok(Vec::new())
    }

    /// Whether an element equals a value.
    fn is_element(&mut self, part: &ArrayPart, number: InstId, value: InstId) -> InstId {
        let (element, of) = (self.load(part, &[number]), part.array.loaded());
        let (wanted, value) = (self.type_of(value), self.leaf(value));
        self.compare_numbers(CompareOp::Equal, (element, &of), (value, wanted))
    }

    fn count_of(&mut self, part: &ArrayPart, value: InstId) -> Lower<InstId> {
        let (length, zero) = (self.axis_length(part, 0), self.int(0));
        let count = self.fold(length, Some((zero, INT64)), &mut |this, number, count| {
            let equal = this.is_element(part, number, value);
            let one = this.cast(equal, &FunctionType::Bool, &FunctionType::Int);
            let count = count.expect("a fold has a value");
            Ok(Some(this.total("math.add", vec![count, one], INT64)))
        })?;
        Ok(count.expect("a fold has a value"))
    }

    /// The place of the first element that equals a value; raises ValueError if there is none.
    fn place_of(&mut self, part: &ArrayPart, value: InstId, message: &str) -> Lower<InstId> {
        let (length, none) = (self.axis_length(part, 0), self.int(-1));
        let found = self.fold(length, Some((none, INT64)), &mut |this, number, found| {
            let (equal, zero) = (this.is_element(part, number, value), this.int(0));
            let found = found.expect("a fold has a value");
            let is_first = this.total("bool.less", vec![found, zero], BOOLEAN);
            let is_it = this.and(equal, is_first);
            Ok(Some(this.select(is_it, number, found, INT64)))
        })?;
        let (found, zero) = (found.expect("a fold has a value"), self.int(0));
        let is_absent = self.total("bool.less", vec![found, zero], BOOLEAN);
        self.fail_if(is_absent, message.to_owned());
        Ok(found)
    }

    /// Takes the element at a place out; those behind it move up.
    fn remove_at(&mut self, part: &ArrayPart, place: InstId) -> Lower<()> {
        let (length, one, minus) = (self.axis_length(part, 0), self.int(1), self.int(-1));
        let last = self.total("math.add", vec![length, minus], INT64);
        let behind = self.total("math.subtract", vec![last, place], INT64);
        self.fold(behind, None, &mut |this, number, _| {
            let to = this.total("math.add", vec![place, number], INT64);
            let from = this.total("math.add", vec![to, one], INT64);
            this.copy_element(part, from, to);
            Ok(None)
        })?;
        self.update("nd.remove_last", vec![part.root]);
        Ok(())
    }

    fn insert(&mut self, part: &ArrayPart, place: InstId, value: InstId) -> Lower<()> {
        let (length, one) = (self.axis_length(part, 0), self.int(1));
        let place = self.leaf_as(place, &FunctionType::Int);
        // A place outside is the nearest one inside, as a bound of a slice is.
        let place = self.total("python.slice_bound", vec![place, length, one], INT64);
        let of = self.type_of(value);
        let value = self.leaf(value);
        let value = self.element_value(value, of, part.array.element);
        self.update("nd.append", vec![part.root, value]);
        let behind = self.total("math.subtract", vec![length, place], INT64);
        self.fold(behind, None, &mut |this, number, _| {
            let to = this.total("math.subtract", vec![length, number], INT64);
            let from = this.total("math.subtract", vec![to, one], INT64);
            this.copy_element(part, from, to);
            Ok(None)
        })?;
        self.update("nd.set", vec![part.root, value, place]);
        Ok(())
    }

    fn reverse(&mut self, part: &ArrayPart) -> Lower<()> {
        let (length, one) = (self.axis_length(part, 0), self.int(1));
        let half = self.total("python.wrapping_shift_right", vec![length, one], INT64);
        let last = self.total("math.subtract", vec![length, one], INT64);
        let of = part.array.loaded();
        self.fold(half, None, &mut |this, number, _| {
            let other = this.total("math.subtract", vec![last, number], INT64);
            let [x, y] = [number, other].map(|place| this.load(part, &[place]));
            this.store(part, &[number], y, &of);
            this.store(part, &[other], x, &of);
            Ok(None)
        })?;
        Ok(())
    }

    /// Puts the elements of a part with one axis in order, in an array of their own, of the type of loaded elements.
    fn sort(&mut self, part: &ArrayPart) -> Lower<()> {
        let loaded = part.array.loaded();
        let element = loaded.element().expect("elements are numbers");
        let own = ArrayOf::array(element, 1);
        let own = ArrayPart::whole(self.copied(part, own)?, own);
        self.update("nd.sort", vec![own.root]);
        self.for_each_element(part, &mut |this, part, indices| {
            let value = this.load(&own, indices);
            this.store(part, indices, value, &loaded);
            Ok(())
        })
    }

    fn copy_element(&mut self, part: &ArrayPart, from: InstId, to: InstId) {
        let value = self.load(part, &[from]);
        self.store(part, &[to], value, &part.array.loaded());
    }
}
