//! What a closure may not be: every way to give a [`Family`](crate::operator::Family) a closure refuses one that has to
//! stay on its thread, as kernels run on any.
//!
//! ```compile_fail,E0277
//! # use cembra_vm::operator::Family;
//! # let here = std::marker::PhantomData::<*const ()>;
//! Family::new("host.f", &["x"], "x").unary(move |x: i64| { let _here = here; x });
//! ```
//!
//! ```compile_fail,E0277
//! # use cembra_vm::operator::Family;
//! # let here = std::marker::PhantomData::<*const ()>;
//! Family::new("host.f", &["x"], "x").unary_rows(move |x: f64| { let _here = here; x }, |_, _| {});
//! ```
//!
//! ```compile_fail,E0277
//! # use cembra_vm::operator::Family;
//! # let here = std::marker::PhantomData::<*const ()>;
//! Family::new("host.f", &["x"], "x").unary_rows(|x: f64| x, move |_, _| { let _here = here; });
//! ```
//!
//! ```compile_fail,E0277
//! # use cembra_vm::operator::Family;
//! # let here = std::marker::PhantomData::<*const ()>;
//! Family::new("host.f", &["x", "y"], "x").binary_rows(move |x: f64, _| { let _here = here; x }, |_, _, _| {});
//! ```
//!
//! ```compile_fail,E0277
//! # use cembra_vm::operator::Family;
//! # let here = std::marker::PhantomData::<*const ()>;
//! Family::new("host.f", &["x", "y"], "x").binary_rows(|x: f64, _| x, move |_, _, _| { let _here = here; });
//! ```
//!
//! ```compile_fail,E0277
//! # use cembra_vm::operator::Family;
//! # let here = std::marker::PhantomData::<*const ()>;
//! Family::new("host.f", &["x", "y"], "x").binary(move |x: i64, _: i64| { let _here = here; x });
//! ```
//!
//! ```compile_fail,E0277
//! # use cembra_vm::operator::Family;
//! # let here = std::marker::PhantomData::<*const ()>;
//! Family::new("host.f", &["x", "y"], "x").hot_binary(move |x: i64, _: i64| { let _here = here; x });
//! ```
//!
//! ```compile_fail,E0277
//! # use cembra_vm::operator::Family;
//! # let here = std::marker::PhantomData::<*const ()>;
//! Family::new("host.f", &["x", "y"], "x").predicate(move |x: i64, y: i64| { let _here = here; x < y });
//! ```
//!
//! ```compile_fail,E0277
//! # use cembra_vm::operator::Family;
//! # let here = std::marker::PhantomData::<*const ()>;
//! Family::new("host.f", &["x", "y", "z"], "x").ternary(move |x: i64, _: i64, _: i64| { let _here = here; x });
//! ```
//!
//! ```compile_fail,E0277
//! # use cembra_vm::operator::Family;
//! # let here = std::marker::PhantomData::<*const ()>;
//! Family::new("host.f", &["x"], "x").exact_unary(move |x: i64| { let _here = here; x });
//! ```
//!
//! ```compile_fail,E0277
//! # use cembra_vm::operator::Family;
//! # let here = std::marker::PhantomData::<*const ()>;
//! Family::new("host.f", &["x", "y"], "x").exact_binary(move |x: i64, _: i64| { let _here = here; x });
//! ```
//!
//! ```compile_fail,E0277
//! # use cembra_vm::operator::Family;
//! # let here = std::marker::PhantomData::<*const ()>;
//! Family::new("host.f", &["x", "y", "z"], "x").exact_ternary(move |x: i64, _: i64, _: i64| { let _here = here; x });
//! ```
//!
//! ```compile_fail,E0277
//! # use cembra_vm::operator::Family;
//! # let here = std::marker::PhantomData::<*const ()>;
//! Family::new("host.f", &["a", "b", "c", "d"], "a")
//!     .exact_quaternary(move |a: i64, _: i64, _: i64, _: i64| { let _here = here; a });
//! ```
//!
//! ```compile_fail,E0277
//! # use cembra_vm::operator::Family;
//! # let here = std::marker::PhantomData::<*const ()>;
//! Family::new("host.f", &["x"], "x").function1(move |x: i64| { let _here = here; x });
//! ```
//!
//! ```compile_fail,E0277
//! # use cembra_vm::operator::Family;
//! # let here = std::marker::PhantomData::<*const ()>;
//! Family::new("host.f", &["x", "y"], "x").function2(move |x: i64, _: i64| { let _here = here; x });
//! ```
//!
//! ```compile_fail,E0277
//! # use cembra_vm::operator::Family;
//! # let here = std::marker::PhantomData::<*const ()>;
//! Family::new("host.f", &["x", "y", "z"], "x").function3(move |x: i64, _: i64, _: i64| { let _here = here; x });
//! ```
//!
//! ```compile_fail,E0277
//! # use cembra_vm::operator::Family;
//! # let here = std::marker::PhantomData::<*const ()>;
//! # let int = cembra_vm::value::qtype::INT64;
//! Family::new("host.f", &["x"], "x").general(&[int.clone()], int, move |_| { let _here = here; Ok(()) });
//! ```
//!
//! ```compile_fail,E0277
//! # use cembra_vm::operator::Family;
//! # let here = std::marker::PhantomData::<*const ()>;
//! # let int = cembra_vm::value::qtype::INT64;
//! Family::new("host.f", &["x"], "x").exact_general(&[int.clone()], int, move |_| { let _here = here; Ok(()) });
//! ```
//!
//! ```compile_fail,E0277
//! # use cembra_vm::operator::Family;
//! # let here = std::marker::PhantomData::<*const ()>;
//! Family::new("host.f", &["x"], "x").on_demand(move |_, _| { let _here = here; None });
//! ```
//!
//! ```compile_fail,E0277
//! # use cembra_vm::operator::Family;
//! # let here = std::marker::PhantomData::<*const ()>;
//! # let int = cembra_vm::value::qtype::INT64;
//! Family::new("host.f", &["x"], "x").make_general([int.clone()], int, move |_| { let _here = here; Ok(()) });
//! ```
//!
//! ```compile_fail,E0277
//! # use cembra_vm::operator::Family;
//! # let here = std::marker::PhantomData::<*const ()>;
//! Family::new("host.f", &["x", "y"], "x").hot_binary(move |x: f64, y: f64| { let _here = here; x + y });
//! ```
//!
//! Nor is there a loop over rows of UNIT, which have no cells:
//!
//! ```compile_fail,E0277
//! # use cembra_vm::operator::Family;
//! Family::new("host.f", &["x"], "x").unary_rows::<()>(|x| x, |_, _| {});
//! ```
//!
//! ```compile_fail,E0277
//! # use cembra_vm::operator::Family;
//! Family::new("host.f", &["x", "y"], "x").binary_rows::<()>(|x, _| x, |_, _, _| {});
//! ```
