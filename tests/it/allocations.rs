//! After warm-up a run allocates nothing: counted by an allocator around the runs.

use crate::field::tiers::native;
use crate::support::{bind, parse};
use allocation_counter::measure;
use cembra::backend::{FieldPlan, Plan};
use cembra::compile::Options;
use cembra::dag::{Array, Graph, Scalar, ir, linearize, where_};
use cembra::field::{FieldBuffer, FieldCells, FieldData, TableEntries, parse_field_program};
use cembra::function::{FunctionModule, FunctionOptions, FunctionType, compile_function};
use cembra::host::{Accessors, ExecutorOptions, Listener, ModelExecutor};
use cembra::prepare::{Prepare, Source};
use cembra::registry::Dialect;
use cembra::vm::machine::{NdViewMut, Room, RunOptions};
use cembra::vm::value::{
    ArrayClass, ArrayType, Budget, NdType, NdView, QType, ScalarType, ScalarValue, Value,
};

/// Runs before the count: buffers of texts grow to their size, and regions of many rows are compiled.
const WARM_UP: usize = 400;
const RUNS: usize = 100;

/// An expression with literals for its inputs; several sets of inputs are run in turn.
fn check(text: &str, inputs: &[&[(&str, &str)]]) {
    let sets: Vec<Vec<(&str, Value)>> =
        inputs.iter().map(|set| set.iter().map(|(name, v)| (*name, literal(v))).collect()).collect();
    let types: Vec<(&str, QType)> = sets[0].iter().map(|(name, v)| (*name, v.qtype())).collect();
    for overriding in [false, true] {
        let options = Options { allow_overriding_input_slots: overriding, ..Options::default() };
        let source = Source::new(parse(text, Dialect::Cembra), types.clone());
        let bound = bind(source, &Prepare::standard(), options);
        let mut frame = bound.new_frame().expect("memory");
        let mut run = || {
            for set in &sets {
                for (name, value) in set {
                    let slot = bound.input_slot(name).expect("an input");
                    frame.write(slot, value).expect("the input's type");
                }
                bound.execute(&mut frame).unwrap_or_else(|e| panic!("{text}: {e}"));
            }
        };
        (0..WARM_UP).for_each(|_| run());
        let counted = measure(|| (0..RUNS).for_each(|_| run()));
        assert_eq!(counted.count_total, 0, "{text}, overriding {overriding}");
    }
}

#[test]
fn numbers_allocate_nothing() {
    check(
        "(-b + math.sqrt(b*b - 4.0*a*c)) / (2.0*a)",
        &[&[("a", "float64(1)"), ("b", "float64(-3)"), ("c", "float64(2)")]],
    );
    check(
        "core.where(x < 3, x // y, x % y) | 0",
        &[&[("x", "int64(1)"), ("y", "7")], &[("x", "int64(9)"), ("y", "7")]],
    );
    check(
        "core.get_nth(core.make_tuple(x, core.make_tuple(x, y)), 1)",
        &[&[("x", "float64(1)"), ("y", "unit")]],
    );
    check("seq.reduce(math.add, seq.range(n), int64(0))", &[&[("n", "int64(10)")], &[("n", "int64(3)")]]);
}

#[test]
fn arrays_keep_their_buffers() {
    let (x, y) = ("dense_array(FLOAT64, 1, missing, 3)", "dense_array(FLOAT64, 0.5, 2, missing)");
    let (long, other) = ("dense_array(FLOAT64, 1, 2, 3, 4, 5)", "dense_array(FLOAT64, missing, 2, 3, 4, 5)");
    let inputs = [&[("x", x), ("y", y)][..], &[("x", long), ("y", other)]];
    check("(x * y + 1.0) & (x > 0)", &inputs);
    check("math.sum(x * y) / math.max(x)", &inputs);
    check("core.where(x > y, x, y | 0.0)", &inputs);
}

/// Rows lent for a call: in place, laid out by blocks, and copied for an operator on whole arrays.
#[test]
fn lent_rows_allocate_nothing() {
    let array = QType::Array(ArrayType { class: ArrayClass::Dense, element: ScalarType::Float64 });
    for text in ["x * 2.5 + y", "(x & (y > 4.0)) - math.sum(x)", "x / math.max(y)"] {
        let leaves = [("x", array.clone()), ("y", array.clone())];
        let source = Source::new(parse(text, Dialect::Cembra), leaves);
        let bound = bind(source, &Prepare::standard(), Options::default());
        let (x, y) = (bound.input_slot("x").expect("an input"), bound.input_slot("y").expect("an input"));
        let table: Vec<f64> = (0..3_000).map(f64::from).collect();
        let bitmap = [0b0111_0110; 200];
        let mut frame = bound.new_frame().expect("memory");
        let mut run = || {
            let strided = NdView::strided(&table, 2, 3, 900).expect("inside");
            let masked = NdView::of(&table[..900]).with_validity(&bitmap, 5).expect("inside");
            let call = bound.call(&mut frame).input(x, &strided).expect("its type");
            let outputs = call.input(y, &masked).expect("its type").run().expect("no row raises");
            assert_eq!(outputs.rows(bound.output_slot()).expect("an array").len(), 900);
        };
        (0..WARM_UP).for_each(|_| run());
        let counted = measure(|| (0..RUNS).for_each(|_| run()));
        assert_eq!(counted.count_total, 0, "{text}");
    }
}

#[test]
fn nd_arrays_keep_their_buffers() {
    let x = "ndarray(NDARRAY_FLOAT64_NN, 2, 3, 1, 2, 3, 4, 5, 6)";
    let y = "ndarray(NDARRAY_FLOAT64_1N, 1, 3, 1, 2, 3)";
    let tall = "ndarray(NDARRAY_FLOAT64_NN, 4, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)";
    let inputs = [&[("x", x), ("y", y)][..], &[("x", tall), ("y", y)]];
    check("nd.where(bool.less(x, y), x * 2.0, math.sqrt(y))", &inputs);
    check("nd.sum(x * y, 0) / nd.max(x, 0)", &inputs);
    check(
        "x + nd.transpose(nd.transpose(nd.cumsum(x - nd.mean(x, 1, keep=true), 1))) + nd.quantile(x * y, 0.5)",
        &inputs,
    );
    check("nd.concatenate(0, nd.take(x, 1, 0), nd.median(nd.reshape(x, 3, -1), 1), nd.squeeze(y))", &inputs);
}

#[test]
fn lent_nd_arrays_allocate_nothing() {
    let axes = |axes| QType::NdArray(NdType::from_name(axes).expect("a type"));
    let leaves = [
        ("x", axes("NDARRAY_FLOAT64_NN")),
        ("y", axes("NDARRAY_FLOAT64_N1")),
        ("s", QType::Scalar(ScalarType::Float64)),
    ];
    let expr = parse("math.exp(x * s) + y", Dialect::Cembra);
    let bound = bind(Source::new(expr, leaves), &Prepare::standard(), Options::default());
    let table: Vec<f64> = (0..60_000).map(|i| f64::from(i) / 60_000.0).collect();
    let x = NdView::from_slice(&table, &[200, 300]).expect("fits").select_axes([1, 0]);
    let y = NdView::from_slice(&table[..300], &[300, 1]).expect("fits");
    let slot = |name| bound.input_slot(name).expect("an input");
    let mut frame = bound.new_frame().expect("memory");
    let mut run = |scale: f64| {
        let call = bound.call(&mut frame).value(slot("s"), &Value::from(scale)).expect("its type");
        let call = call.input(slot("x"), &x).expect("its type").input(slot("y"), &y).expect("its type");
        let outputs = call.run().expect("no error");
        assert_eq!(outputs.elements(bound.output_slot()).expect("an array").shape(), [300, 200]);
    };
    (0..WARM_UP).for_each(|i| run(i as f64));
    assert_eq!(measure(|| (0..RUNS).for_each(|i| run(i as f64))).count_total, 0);
    let mut target = vec![0.0; 60_000];
    let mut run_into = |scale: f64| {
        let call = bound.call(&mut frame).value(slot("s"), &Value::from(scale)).expect("its type");
        let call = call.input(slot("x"), &x).expect("its type").input(slot("y"), &y).expect("its type");
        call.run_into(&mut [Room::new(bound.output_slot(), &mut target)]).expect("no error");
        assert_eq!(target[0], 1.0 + table[0]);
    };
    (0..WARM_UP).for_each(|i| run_into(i as f64));
    assert_eq!(measure(|| (0..RUNS).for_each(|i| run_into(i as f64))).count_total, 0);
}

/// Graphs of arrays, of single values and of texts.
#[test]
fn calls_of_plans_allocate_nothing() {
    let graph = Graph::new();
    let (x, y, word) = (graph.placeholder("x"), graph.placeholder("y"), graph.placeholder("word"));
    let chosen = where_(&word.equal("good"), &x * &y + 1, x.exp());
    let roots = [chosen.reduce_sum(0), x.greater(&y), chosen];
    let dag = ir::compile_nodes(&linearize::forest(&roots, &[]).expect("no cycles"));
    let column = |values: &[f64]| Array::new(values.to_vec(), &[values.len(), 1]).expect("as many places");
    let words = |words: &[&str]| Array::texts(words);
    let text = |text: &str| Array::from(&Scalar::from(text));
    for sets in [
        [
            (column(&[1.0, 2.0, 3.0]), words(&["good", "bad"])),
            (column(&[4.0, 5.0]), words(&["fair", "good"])),
        ],
        [(column(&[1.0, 2.0]), text("good")), (column(&[0.5, 7.0]), text("evil"))],
    ] {
        let mut plan = Plan::new(&dag);
        let half = Array::from(0.5);
        let mut run = || {
            for (x_value, text) in &sets {
                let given = [(&x, x_value), (&y, &half), (&word, text)];
                let results = plan.call(&given).expect("it evaluates");
                assert_eq!(results.view::<bool>(&roots[1]).map(|view| view.len()), Some(x_value.len()));
            }
        };
        (0..WARM_UP).for_each(|_| run());
        assert_eq!(measure(|| (0..RUNS).for_each(|_| run())).count_total, 0, "{dag}");
        assert_eq!(plan.compilations(), 1);
    }
}

#[test]
fn texts_keep_their_buffers() {
    let long = format!("'{}'", "wide ".repeat(200));
    check(
        "strings.upper(strings.join(s, ', ', t))",
        &[&[("s", "'short'"), ("t", "'x'")], &[("s", &long), ("t", &long)]],
    );
    check("strings.count(s, t)", &[&[("s", &long), ("t", "'wide w'")]]);
    check("strings.replace(strings.strip(s, t), t, ', ')", &[&[("s", &long), ("t", "' '")]]);
    check("strings.format('{a} of {b}', a=n, b=s)", &[&[("n", "7"), ("s", "'many words and more of them'")]]);
    check("strings.contains_regex(s, 'w(i|o)de  ')", &[&[("s", &long)]]);
    check("strings.extract_regex(s, '(?:wide ){7}(.*)')", &[&[("s", &long)], &[("s", "'short'")]]);
    check("strings.replace_all_regex(s, '(w\\\\w+) ', '<\\\\1>')", &[&[("s", &long)], &[("s", "'short'")]]);
    check(
        "core.where(m, s, strings.lower(t))",
        &[&[("m", "present"), ("s", &long), ("t", "'T'")], &[("m", "missing"), ("s", "'S'"), ("t", &long)]],
    );
}

#[test]
fn rows_of_texts_keep_their_buffers() {
    let array = |one: &str, count: usize| format!("dense_array(TEXT, {})", vec![one; count].join(", "));
    let (few, many) = (array("'Zoë', missing, ' a b '", 2), array("'x', 'many words', 'O'", 70));
    let sets: &[&[(&str, &str)]] = &[&[("s", &few), ("t", &few)], &[("s", &many), ("t", &many)]];
    for text in [
        "strings.length(s)",
        "strings.upper(s)",
        "strings.strip(strings.join(s, ', ', t), t)",
        "strings.replace(strings.substr(s, 1, 4), 'a', t)",
        "core.where(strings.contains(s, 'a') & (s != 'x'), s, t)",
        "strings.find(s, 'b') | strings.count(t, 'o')",
        "strings.format('{a} of {b}', a=strings.length(s), b=s)",
        "strings.as_text(strings.length(s))",
        "array.select(s, s == t)",
        "strings.extract_regex(s, '([a-z]+)') | strings.replace_all_regex(t, 'o|(x)', '-\\\\1')",
        "core.get_first(strings.split(s, ' '))",
    ] {
        check(text, sets);
    }
}

fn literal(text: &str) -> Value {
    let literal = parse(text, Dialect::Cembra);
    literal.graph().value(literal.root()).unwrap_or_else(|| panic!("{text} is no literal")).clone()
}

struct Row {
    x: f64,
    name: String,
}

#[test]
fn pooled_calls_allocate_nothing() {
    let loader = Accessors::new().with("x", |r: &Row| r.x).with_text("name", |r: &Row| r.name.as_str());
    let row = Row { x: 2.0, name: "Pinus cembra".into() };
    let expr = parse("x * x + core.to_float64(strings.length(name))", Dialect::Cembra);
    let executor = ModelExecutor::<Row, f64>::compile(&expr, &loader).expect("valid");
    let mut local = executor.local().expect("memory");
    let mut run = || {
        assert_eq!(executor.execute(&row).expect("no error"), 16.0);
        assert_eq!(local.execute(&row).expect("no error"), 16.0);
    };
    (0..WARM_UP).for_each(|_| run());
    assert_eq!(measure(|| (0..RUNS).for_each(|_| run())).count_total, 0);
}

#[test]
fn listening_fuel_and_errors_allocate_nothing_in_the_machine() {
    let loader = Accessors::new().with("x", |x: &f64| *x);
    let expr = parse("annotation.export(x * x, 'square') + 1.0", Dialect::Cembra);
    let listener = Listener::new().on("square", |sum: &mut f64, square: f64| *sum += square);
    let executor = ModelExecutor::<f64, f64, f64>::compile_with(
        &expr,
        &loader,
        Some(&listener),
        ExecutorOptions { budget: Budget::new().instructions(100), ..ExecutorOptions::default() },
    );
    let executor = executor.expect("valid");
    let mut sum = 0.0;
    let mut run = || assert_eq!(executor.execute_into(&3.0, &mut sum).expect("no error"), 10.0);
    (0..WARM_UP).for_each(|_| run());
    assert_eq!(measure(|| (0..RUNS).for_each(|_| run())).count_total, 0);
    assert_eq!(sum, 9.0 * (WARM_UP + RUNS) as f64);

    let source = Source::new(parse("x // y", Dialect::Cembra), [("x", "INT64"), ("y", "INT64")].map(typed));
    let bound = bind(source, &Prepare::standard(), Options::default());
    let mut frame = bound.new_frame().expect("memory");
    let (x, y) = (bound.input::<i64>("x").expect("x"), bound.input::<i64>("y").expect("y"));
    let mut run = |divisor: i64| {
        frame.set(x, 7);
        frame.set(y, divisor);
        bound.execute_with(&mut frame, RunOptions::new().fuel(10)).is_ok()
    };
    assert!(run(2) && !run(0));
    assert_eq!(measure(|| assert!((0..RUNS).all(|_| run(3)))).count_total, 0);
}

fn typed((name, qtype): (&'static str, &str)) -> (&'static str, QType) {
    (name, qtype.parse().expect("a type"))
}

/// Functions with loops, calls and a list, on memory that the host lends to be written.
#[test]
fn functions_in_place_allocate_nothing() {
    let source = "
def add(a, i, x):
    if i < 0:
        return add(a, -i, x)
    a[i] += x
    return a[i]
def f(a, n):
    s = 0.0
    l = [0.5]
    for k in range(n):
        for i in range(1, len(a) - 1):
            a[i] = 0.5 * (a[i - 1] + a[i + 1])
        s += add(a, -k, 1.5)
        if k < 4:
            l.append(s)
    return s + len(l)
";
    let module = FunctionModule::parse(source).expect("it is a module");
    let array =
        FunctionType::of_qtype(&QType::NdArray(NdType::from_name("NDARRAY_FLOAT64_N").expect("a type")));
    let types = [array.expect("an argument"), FunctionType::Int];
    let function = compile_function(&module, "f", &types, &FunctionOptions::default()).expect("it compiles");
    let bound = function.bound();
    let slot = |name| bound.input_slot(name).expect("an input");
    let mut frame = bound.new_frame().expect("memory");
    let mut values: Vec<f64> = (0..40).map(f64::from).collect();
    let mut run = || {
        let mut view = NdViewMut::from_slice(&mut values, &[40]).expect("fits");
        let call = bound.call(&mut frame).value(slot("n"), &Value::from(9i64)).expect("its type");
        let outputs = call.update(slot("a"), &mut view).expect("its type").run().expect("no error");
        outputs.read(bound.output_slot()).expect("a number")
    };
    (0..WARM_UP).for_each(|_| drop(run()));
    let counted = measure(|| (0..RUNS).for_each(|_| drop(run())));
    assert_eq!(counted.count_total, 0);
    assert!(values[1] > 30.0, "the memory of the host is written: {values:?}");
}

/// Steps of a field program: boxes with halos, intermediates that are kept, points taken by lists, a scan.
#[test]
fn steps_of_field_programs_allocate_nothing() {
    let program = parse_field_program(
        "horizontal I, J, Cell\nvertical K\ntable C2I: Cell -> I width 2\ninput u[I, J], e[I], d[I, K]\n\
         scalar k\noutput v[I, J], w[I, J], s[Cell], p[I, K]\n\
         lap = -4.0*u + u[I-1] + u[I+1] + u[J-1] + u[J+1]\n\
         v[I=1:39, J=1:39] = u + k*lap\n\
         w[I=2:38, J=2:38] = lap[I-1] + lap[I+1] + lap[J-1] + lap[J+1]\n\
         s = neighbor_sum(e[C2I], C2I)\n\
         p = scan(K forward; a = 0.0; 0.5*a + d)\n",
    );
    let program = program.unwrap_or_else(|errors| panic!("{}", errors[0]));
    let numbers = |count: usize| FieldCells::Float64((0..count).map(|at| at as f64).collect());
    let mut data = FieldData::default();
    let mut field = |name: &str, buffer: FieldBuffer| data.fields.insert(name.to_owned(), buffer);
    for name in ["u", "v", "w"] {
        field(name, FieldBuffer::row_major(numbers(1600), &[0, 0], &[40, 40]).expect("cells"));
    }
    field("e", FieldBuffer::row_major(numbers(40), &[0], &[40]).expect("cells"));
    field("s", FieldBuffer::row_major(numbers(50), &[0], &[50]).expect("cells"));
    for name in ["d", "p"] {
        field(name, FieldBuffer::strided(numbers(400), &[0, 0], &[40, 10], &[1, 40], 0).expect("cells"));
    }
    let rows = (0..100).map(|at| at * 7 % 40).collect();
    data.tables.insert("C2I".to_owned(), TableEntries::new(rows, 2).expect("rows of two"));
    data.scalars.insert("k".to_owned(), ScalarValue::Float64(0.1));
    let mut plan = FieldPlan::new(&program, &data).unwrap_or_else(|errors| panic!("{}", errors[0]));
    let mut step = || plan.run(&mut data).expect("values");
    (0..20 * WARM_UP).for_each(|_| step());
    assert_eq!(measure(|| (0..10_000).for_each(|_| step())).count_total, 0);
    let mut plan = plan.on(native()).expect("memory");
    assert_eq!(plan.interpreted(), []);
    let mut step = || plan.run(&mut data).expect("values");
    (0..WARM_UP).for_each(|_| step());
    assert_eq!(measure(|| (0..1000).for_each(|_| step())).count_total, 0, "native code");
}
