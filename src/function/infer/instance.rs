//! Instances: a function of the module for types of its arguments.

use crate::function::build::BuiltFunction;
use crate::function::op::FunctionId;
use crate::function::types::FunctionType;
use crate::ssa::InstId;
use hashbrown::HashMap;
use std::sync::Arc;

/// Number of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstanceId(pub u32);

/// A function for types of its arguments.
#[derive(Clone, Debug)]
pub struct Instance {
    /// The function of the module.
    pub id: FunctionId,
    /// Types of the arguments.
    pub args: Vec<FunctionType>,
    /// The function in SSA.
    pub function: Arc<BuiltFunction>,
    /// The same before operands that may be None are tested: the stage `ussa`.
    pub untyped: Arc<BuiltFunction>,
    /// Types of the values, by instruction.
    pub types: Vec<Option<FunctionType>>,
    /// Type of the result.
    pub result: Option<FunctionType>,
    /// What each call calls, by instruction.
    pub calls: HashMap<InstId, InstanceId>,
    pub(super) callers: Vec<InstanceId>,
    /// By block, whether types lead to it; while types are looked for.
    pub(super) reached: Vec<bool>,
}

impl Instance {
    /// An instance that was typed before.
    pub(crate) fn new(
        id: FunctionId,
        args: Vec<FunctionType>,
        function: Arc<BuiltFunction>,
        types: Vec<Option<FunctionType>>,
        result: Option<FunctionType>,
        calls: HashMap<InstId, InstanceId>,
    ) -> Instance {
        let untyped = function.clone();
        Instance {
            id,
            args,
            function,
            untyped,
            types,
            result,
            calls,
            callers: Vec::new(),
            reached: Vec::new(),
        }
    }

    /// Type of a value.
    ///
    /// # Panics
    /// If it has none; [`infer`](crate::function::infer::infer) has checked those that are read.
    pub fn type_of(&self, value: InstId) -> &FunctionType {
        self.types[value.index()].as_ref().expect("every value that is read has a type")
    }
}
