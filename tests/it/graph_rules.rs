//! numpy's rules of types and values, where the recorded programs do not reach.

use cembra::backend::{Flags, State, evaluate_dag};
use cembra::dag::{Array, Graph, Node, TextArray, ir, linearize, multi_clause_where, where_};
use std::slice::from_ref;

/// The value of a node that is built from placeholders with these values.
fn value(values: &[Array], build: impl Fn(&Graph, &[Node]) -> Node) -> Array {
    let graph = Graph::new();
    let inputs: Vec<Node> = values.iter().map(|_| graph.placeholder("x")).collect();
    let root = build(&graph, &inputs);
    let mut state = State::new(&graph).with_flags(Flags::default());
    for (node, value) in inputs.iter().zip(values) {
        state.set_node_value(node, value.clone()).expect("a node of the graph");
    }
    let dag = ir::compile_nodes(&linearize::forest(from_ref(&root), &[]).expect("no cycles"));
    evaluate_dag(&mut state, &dag).unwrap_or_else(|e| panic!("{e}"));
    state.get_node_value(&root).expect("it has been evaluated").clone()
}

fn pair(left: Array, right: Array, build: impl Fn(&Node, &Node) -> Node) -> Array {
    value(&[left, right], |_, nodes| build(&nodes[0], &nodes[1]))
}

fn one(operand: Array, build: impl Fn(&Node) -> Node) -> Array {
    value(&[operand], |_, nodes| build(&nodes[0]))
}

fn ints(values: &[i64]) -> Array {
    Array::vector(values)
}

fn floats(values: &[f64]) -> Array {
    Array::vector(values)
}

#[test]
fn types_are_promoted_as_numpy_promotes() {
    let bools = || Array::vector([true, false]);
    let i8s = || Array::vector([1_i8, 2]);
    let i32s = || Array::vector([1_i32, 2]);
    let i64s = || ints(&[1, 2]);
    let f32s = || Array::vector([1.0_f32, 2.0]);
    let f64s = || floats(&[1.0, 2.0]);
    let f16s = || one(bools(), |x| x.exp());
    let cases = [
        (bools(), i8s(), "int8"),
        (bools(), f16s(), "float16"),
        (i8s(), i32s(), "int32"),
        (i8s(), f16s(), "float16"),
        (i8s(), f32s(), "float32"),
        (i32s(), i64s(), "int64"),
        (i32s(), f16s(), "float64"),
        (i32s(), f32s(), "float64"),
        (i64s(), f32s(), "float64"),
        (f16s(), f32s(), "float32"),
        (f32s(), f64s(), "float64"),
        (f32s(), f32s(), "float32"),
    ];
    for (left, right, expected) in cases {
        assert_eq!(
            pair(left.clone(), right.clone(), |l, r| l + r).dtype().to_string(),
            expected,
            "{left:?} {right:?}"
        );
        assert_eq!(pair(right, left, |l, r| l.maximum(r)).dtype().to_string(), expected);
    }
    let quotient = |operand: Array| pair(operand.clone(), operand, |l, r| l / r).dtype().to_string();
    assert_eq!([bools(), i8s(), f16s(), f32s()].map(quotient), ["float64", "float64", "float16", "float32"]);
    let logarithm = |operand: Array| one(operand, |x| x.log()).dtype().to_string();
    assert_eq!([i8s(), i32s(), f32s(), f64s()].map(logarithm), ["float16", "float64", "float32", "float64"]);
}

#[test]
fn integers_wrap_and_divide_as_floats() {
    assert_eq!(pair(ints(&[i64::MAX]), ints(&[1]), |l, r| l + r), ints(&[i64::MIN]));
    assert_eq!(pair(ints(&[3]), ints(&[64]), |l, r| l.power(r)), ints(&[3_i64.wrapping_pow(64)]));
    assert_eq!(pair(ints(&[-1, 2]), ints(&[i64::MAX, 62]), |l, r| l.power(r)), ints(&[-1, 1 << 62]));
    assert_eq!(one(ints(&[i64::MIN, 5]), |x| -x), ints(&[i64::MIN, -5]));
    let quotients = pair(ints(&[1, -1, 7]), ints(&[0, 0, 2]), |l, r| l / r);
    assert_eq!(quotients, floats(&[f64::INFINITY, f64::NEG_INFINITY, 3.5]));
    // Powers of nothing read no exponent.
    let nothing = Array::new(Vec::<i64>::new(), &[0]).expect("no elements");
    assert_eq!(pair(nothing.clone(), ints(&[-1]), |l, r| l.power(r)), nothing);
}

#[test]
fn nan_compares_with_nothing() {
    let (nan, one) = (floats(&[f64::NAN, 1.0]), floats(&[f64::NAN, 1.0]));
    let holds = |build: fn(&Node, &Node) -> Node| pair(nan.clone(), one.clone(), build);
    let truth = |values: [bool; 2]| Array::vector(values);
    assert_eq!(holds(|l, r| l.equal(r)), truth([false, true]));
    assert_eq!(holds(|l, r| l.not_equal(r)), truth([true, false]));
    assert_eq!(holds(|l, r| l.less_equal(r)), truth([false, true]));
    assert_eq!(holds(|l, r| l.greater(r)), truth([false, false]));
    assert_eq!(holds(|l, r| l & r), truth([true, true]));
    assert_eq!(holds(|l, _| !l), truth([false, false]));
}

#[test]
fn texts_compare_join_and_are_chosen() {
    let (left, right) = (Array::texts(&["b", "a", ""]), Array::texts(&["b", "ab", "z"]));
    let holds = |build: fn(&Node, &Node) -> Node| pair(left.clone(), right.clone(), build);
    assert_eq!(holds(|l, r| l.equal(r)), Array::vector([true, false, false]));
    assert_eq!(holds(|l, r| l.less(r)), Array::vector([false, true, true]));
    assert_eq!(holds(|l, r| l.greater_equal(r)), Array::vector([true, false, false]));
    assert_eq!(holds(|l, _| !l), Array::vector([false, false, true]));
    let joined = holds(|l, r| l + r);
    assert_eq!(joined.dtype().to_string(), "<U3");
    let texts = |array: &Array| match array {
        Array::Text(texts) => texts.texts().map(str::to_owned).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(texts(&joined), ["bb", "aab", "z"]);
    let chosen = holds(|l, r| where_(&l.less(r), r, l));
    assert_eq!(
        (texts(&chosen), chosen.dtype().to_string()),
        (vec!["b".into(), "ab".into(), "z".into()], "<U2".into())
    );
    let wide = Array::Text(TextArray::new(&["q"], &[1, 1], 9).expect("one text"));
    let first = pair(left.clone(), wide, |l, w| multi_clause_where(&[(&l.equal("a"), w)], l));
    assert_eq!((first.shape(), first.dtype().to_string()), (&[1, 3][..], "<U9".to_owned()));
    assert_eq!(texts(&first), ["b", "q", ""]);
    let numbers = pair(left.clone(), floats(&[1e16, 0.5, -0.0]), |l, n| where_(&l.equal("a"), l, n));
    assert_eq!(
        (texts(&numbers), numbers.dtype().to_string()),
        (vec!["1e+16".into(), "a".into(), "-0.0".into()], "<U32".into())
    );
    let single = pair(Array::from(&"ab".into()), Array::from(&"".into()), |l, r| l + r);
    assert_eq!(single.dtype().to_string(), "<U2");
}

#[test]
fn clauses_are_tried_in_order() {
    let x = floats(&[-1.0, 0.5, 2.0, f64::NAN]);
    let clip = one(x, |x| {
        let (low, high, one, half) =
            (x.less(0), x.greater(0), x.graph().constant(1), x.graph().constant(0.5));
        multi_clause_where(&[(&low, &x.graph().constant(0)), (&high, &one)], &half)
    });
    assert_eq!(clip, floats(&[0.0, 1.0, 1.0, 0.5]));
}

#[test]
fn reductions_keep_or_drop_axes() {
    let matrix = || Array::new(vec![3.0, 1.0, 2.0, 6.0, 5.0, f64::NAN], &[2, 3]).expect("as many");
    let shape = |array: Array| array.shape().to_vec();
    assert_eq!(shape(one(matrix(), |x| x.project_using_sum(1))), [2, 1]);
    assert_eq!(shape(one(matrix(), |x| x.reduce_sum(1))), [2]);
    assert_eq!(shape(one(matrix(), |x| x.reduce_sum([0, 1]))), [0_usize; 0]);
    assert_eq!(shape(one(matrix(), |x| x.reduce_sum(cembra::dag::Axis::Many(vec![])))), [2, 3]);
    let row = || floats(&[3.0, 1.0, 2.0, 6.0]);
    let reduced = |build: fn(&Node) -> Node| one(row(), build);
    assert_eq!(reduced(|x| x.reduce_mean(0)), Array::from(3.0));
    assert_eq!(reduced(|x| x.reduce_median(0)), Array::from(2.5));
    assert_eq!(reduced(|x| x.reduce_min(0)), Array::from(1.0));
    assert_eq!(reduced(|x| x.reduce_max(0)), Array::from(6.0));
    assert_eq!(reduced(|x| x.reduce_prod(0)), Array::from(36.0));
    assert_eq!(reduced(|x| x.reduce_var(0)), Array::from(3.5));
    assert_eq!(reduced(|x| x.reduce_std(0)), Array::from(3.5_f64.sqrt()));
    assert_eq!(reduced(|x| x.reduce_quantile(0, 0.25)), Array::from(1.75));
    assert_eq!(reduced(|x| x.less(2).reduce_any(0)), Array::from(true));
    assert_eq!(reduced(|x| x.less(2).reduce_all(0)), Array::from(false));
    assert_eq!(reduced(|x| x.less(3).reduce_count_nonzero(0)), Array::from(2_i64));
    assert_eq!(reduced(|x| x.less(3).reduce_sum(0)), Array::from(2_i64));
    assert_eq!(reduced(|x| x.less(3).reduce_mean(0)), Array::from(0.5));
    let builds: [fn(&Node) -> Node; 4] =
        [|x| x.reduce_min(1), |x| x.reduce_max(1), |x| x.reduce_median(1), |x| x.reduce_mean(1)];
    for build in builds {
        let last = one(matrix(), build);
        let last = last.elements::<f64>().expect("floats")[[1]];
        assert!(last.is_nan(), "a NaN is never lost");
    }
    let many: Vec<f64> = (0..100).map(|n| if n % 3 == 0 { f64::NAN } else { f64::from(n % 7) }).collect();
    let middle = one(floats(&many), |x| x.reduce_median(0) + x.reduce_quantile(0, 0.5));
    assert!(middle.elements::<f64>().expect("floats")[[]].is_nan(), "NaN have no place in an order");
    let empty = || Array::new(Vec::<f64>::new(), &[0, 2]).expect("no elements");
    assert_eq!(one(empty(), |x| x.reduce_sum(0)), floats(&[0.0, 0.0]));
    assert_eq!(one(empty(), |x| x.reduce_all(0)), Array::vector([true, true]));
    assert!(
        one(empty(), |x| x.reduce_median(0)).elements::<f64>().expect("floats").iter().all(|v| v.is_nan())
    );
    assert_eq!(shape(one(empty(), |x| x.reduce_max(1))), [0]);
}

#[test]
fn long_sums_are_added_in_pairs() {
    let many: Vec<f64> = (0..100_003).map(|n| 0.1 * f64::from(n % 7)).collect();
    let exact = (0..100_003_i64).map(|n| n % 7).sum::<i64>() as f64 / 10.0;
    let sum = one(floats(&many), |x| x.reduce_sum(0));
    let sum = sum.elements::<f64>().expect("floats")[[]];
    assert!((sum - exact).abs() < 1e-10, "{sum} is not {exact}");
}
