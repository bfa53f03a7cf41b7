//! What a host may do wrong with the builder, or with a program as data: an error each, and no panic.

use crate::field::tiers::native;
use cembra::backend::{FieldPlan, FieldTier};
use cembra::field::{
    BoundTerm, DimensionId, FieldBinary, FieldBound, FieldBuilder, FieldData, FieldError, FieldId, FieldNode,
    FieldNodeId, FieldReduction, FieldRef, FieldScalarId, IndexCondition, IndexTerm, ScanDirection, TableId,
    check_program,
};
use cembra::vm::value::{ScalarType, ScalarValue};

const F64: ScalarType = ScalarType::Float64;

/// What is made is looked at by the builder.
fn let_<T>(_: T) {}

/// Fields and what a test adds to them: the first error.
fn error_of(add: impl for<'b> FnOnce(&'b FieldBuilder, DimensionId, FieldRef<'b>, FieldRef<'b>)) -> String {
    let b = FieldBuilder::new();
    let i = b.horizontal("I");
    let (u, v) = (b.input("u", &[i], F64), b.output("v", &[i], F64));
    add(&b, i, u, v);
    b.build().expect_err("an error")[0].to_string()
}

#[test]
fn numbers_that_lead_nowhere_are_errors() {
    let far = DimensionId(99);
    let nowhere = "there is no dimension `number 99`";
    assert_eq!(error_of(|b, _, _, _| let_(b.input("w", &[far], F64).id())), nowhere);
    assert_eq!(error_of(|b, _, u, v| b.store(v, &[], u.shift(far, 1))), nowhere);
    assert_eq!(error_of(|b, _, u, v| b.store(v, &[], u.broadcast(&[far]))), nowhere);
    assert_eq!(error_of(|b, _, u, v| b.store(v, &[(far, b.bound(0).to(1))], u)), nowhere);
    assert_eq!(error_of(|b, _, u, v| b.store(v, &[], u.reduce(FieldReduction::Sum, far))), nowhere);
    assert_eq!(error_of(|b, i, _, _| let_(b.table("T", i, far, 2, None))), nowhere);
    let empty: [(&str, f64); 0] = [];
    let scan = error_of(|b, _, _, v| b.scan(&[v], &[], far, ScanDirection::Forward, &empty, |_| Vec::new()));
    assert_eq!(scan, nowhere);
    assert_eq!(
        error_of(|b, _, u, v| b.store(v, &[], u.gather(TableId(7), 0))),
        "there is no table `number 7`"
    );
    let node = |node: FieldNode| error_of(|b, _, _, v| b.store(v, &[], b.node(node)));
    assert_eq!(node(FieldNode::Field(FieldId(2))), "there is no field `number 2`");
    assert_eq!(node(FieldNode::Scalar(FieldScalarId(0))), "there is no scalar `number 0`");
    assert_eq!(
        node(FieldNode::Binary(FieldBinary::Add, FieldNodeId(0), FieldNodeId(70))),
        "a value of another builder"
    );
    assert!(node(FieldNode::Carry(0, F64)).contains("does not go to `v`"));
    let scan = |carried: FieldNode| {
        error_of(|b, i, _, v| {
            b.scan(&[v], &[], i, ScanDirection::Forward, &[("s", 0.0)], |_| vec![b.node(carried)]);
        })
    };
    assert_eq!(scan(FieldNode::Carry(3, F64)), "there is no value that the scan hands on, `number 3`");
    assert_eq!(
        scan(FieldNode::Carry(0, ScalarType::Int32)),
        "what reads `s` of a scan is int32, not float64"
    );
}

#[test]
fn bounds_and_conditions_are_expressions() {
    for terms in [vec![], vec![BoundTerm::Add], vec![BoundTerm::Literal(1), BoundTerm::Literal(2)]] {
        let bound = FieldBound(terms);
        let found = error_of(|b, i, u, v| b.store(v, &[(i, bound.to(3))], u));
        assert_eq!(found, "the terms of a bound are no expression");
    }
    let scalar = FieldBound::scalar(FieldScalarId(4));
    let found = error_of(|b, i, u, v| b.store(v, &[(i, scalar.to(3))], u));
    assert_eq!(found, "there is no scalar `number 4`");
    for terms in [vec![], vec![IndexTerm::And]] {
        let found = error_of(|b, i, u, v| {
            b.store(v, &[], b.concat_where(IndexCondition { dimension: i, terms }, u, u));
        });
        assert_eq!(found, "the terms of a condition are no expression");
    }
}

#[test]
fn values_of_another_builder_are_errors() {
    let expected = "a value of another builder";
    let other = FieldBuilder::new();
    let i = other.horizontal("I");
    let foreign = other.input("w", &[i], F64);
    let b = FieldBuilder::new();
    let i = b.horizontal("I");
    let (u, v) = (b.input("u", &[i], F64), b.output("v", &[i], F64));
    b.store(v, &[], u + foreign);
    assert_eq!(b.build().expect_err("an error")[0].to_string(), expected);
    let b = FieldBuilder::new();
    b.store(foreign, &[], foreign);
    assert_eq!(b.build().expect_err("an error")[0].to_string(), expected);
}

#[test]
fn what_stands_in_the_wrong_place_is_an_error() {
    assert_eq!(
        error_of(|b, _, u, v| b.store(u, &[], v)),
        "statement 1 (`u`): `u` is an input; only outputs are written"
    );
    assert_eq!(error_of(|b, _, u, v| b.store(u * 2.0, &[], v)), "a store goes to an output");
    assert_eq!(error_of(|_, _, u, _| let_(u.bound())), "a bound is a scalar or an integer");
    assert_eq!(
        error_of(|b, _, _, _| b.store_all(&[])).replace("statement 1 (``): ", ""),
        "0 values for 0 targets"
    );
    let string = "text".into();
    let literal = error_of(|b, _, _, v| b.store(v, &[], b.literal(ScalarValue::Text(string))));
    assert!(literal.contains("a literal is not defined"), "{literal}");
    assert_eq!(error_of(|b, _, _, _| let_(b.horizontal("I"))), "`I` is declared twice");
}

#[test]
fn declarations_that_do_not_fit_are_errors() {
    let found = error_of(|b, i, _, _| let_(b.output("w", &[i], ScalarType::Int8).starting_as(1.0).id()));
    assert_eq!(found, "the first value of `w` is float64, not int8");
    let found = error_of(|_, _, _, v| let_(v.extent(&[(0, 2), (0, 3)]).id()));
    assert_eq!(found, "`v` has an origin or a shape of another number of axes");
    let found = error_of(|_, _, _, v| let_(v.extent(&[(i64::MAX, i64::MIN)]).id()));
    assert_eq!(found, "the end of a range lies before its first point");
    assert_eq!(error_of(|_, _, _, v| let_(v.fixed().id())), "a scalar is fixed");
    assert_eq!(error_of(|b, _, _, _| let_(b.scalar("k", F64).origin(&[0]).id())), "a field has an origin");
    let found = error_of(|b, _, _, _| let_(b.literal(1.0).starting_as(2.0).id()));
    assert_eq!(found, "a field or a scalar has a first value");
}

/// Bad inputs of programs that the builder makes, on each tier: before anything is written.
#[test]
fn bad_inputs_are_the_same_errors_on_every_tier() {
    type Add = for<'b> fn(&'b FieldBuilder, [DimensionId; 2], [FieldRef<'b>; 3]);
    let cases: [(Add, &str); 7] = [
        (
            |b, [i, k], [u, v, _]| b.store(v, &[(i, b.bound(0).to(5)), (k, b.bound(0).to(3))], u),
            "statement 1 (`v`): `v` is needed on I 0:5 and has 0:4",
        ),
        (
            |b, [_, k], [u, v, _]| b.store(v, &[], u.shift(k, 5)),
            "statement 1 (`v`): `u` is needed on K 5:8 and has 0:3",
        ),
        (
            |b, [_, k], [u, v, _]| b.store(v, &[], u.shift_by(&[(k, 1 << 40)])),
            "statement 1 (`v`): limit field-shift: a shift by 1099511627776 along K",
        ),
        (
            |b, _, [_, v, t]| b.store(v, &[], t * 2.0),
            "statement 1 (`v`): `t` is read on I 0:4, K 0:3, where nothing was written: give it data, or `fill`",
        ),
        (
            |b, _, [u, v, _]| b.store_all(&[(v, &[], u), (v, &[], u)]),
            "statement 1 (`v`): `v` is written twice on I 0:4, K 0:3",
        ),
        (
            |b, _, [u, v, t]| {
                b.store(t, &[], u);
                b.store(v, &[], t.cast(ScalarType::Int8).cast(F64));
            },
            "statement 2 (`v`): cannot cast 200 to int8, at I = 2, K = 0",
        ),
        // Nothing is wrong with a domain without points.
        (
            |b, [i, k], [u, v, _]| {
                b.store(v, &[(i, b.bound(2).to(2)), (k, b.bound(0).to(9))], u.shift(i, 90))
            },
            "",
        ),
    ];
    for (add, expected) in cases {
        let b = FieldBuilder::new();
        let (i, k) = (b.horizontal("I"), b.vertical("K"));
        let u = b.input("u", &[i, k], F64).extent(&[(0, 4), (0, 3)]);
        let v = b.output("v", &[i, k], F64).extent(&[(0, 4), (0, 3)]).starting_as(-7.0);
        let t = b.output("t", &[i, k], F64).extent(&[(0, 4), (0, 3)]);
        add(&b, [i, k], [u, v, t]);
        let program = b.build();
        for tier in [FieldTier::Interpreter, FieldTier::Steps, FieldTier::Jit, native()] {
            let mut data = FieldData::default();
            let cells = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 200.0, 7.0, 8.0, 9.0, 10.0, 11.0];
            let cells = cembra::field::FieldCells::Float64(cells.to_vec());
            let u = cembra::field::FieldBuffer::row_major(cells, &[0, 0], &[4, 3]).expect("twelve cells");
            data.fields.insert("u".to_owned(), u);
            let mut run = || -> Result<(), FieldError> {
                let program = program.as_ref().map_err(|errors| errors[0].clone())?;
                check_program(program).map_err(|mut errors| errors.remove(0))?;
                data.complete(program).map_err(FieldError::from)?;
                let plan = FieldPlan::new(program, &data).map_err(|mut errors| errors.remove(0))?;
                plan.on(tier.clone())?.run(&mut data)
            };
            let found = run().err().map_or_else(String::new, |error| error.to_string());
            assert_eq!(found, expected, "{tier:?}");
            if let Some(v) = data.fields.get("v") {
                assert!(v.view().cells::<f64>().all(|cell| cell == -7.0), "{tier:?}: {expected}");
            }
        }
    }
}
