//! Field programs for `fields.py`: answers each line with a line.
//!
//! ```text
//! open NAME SIZE FILE TIER   ok      binds a workload of so many points along a side on a tier, `interpreter` or `native`,
//!                                    runs it once, and writes the cells of its result to a file
//! run TIMES                  nanoseconds of the processor that so many runs took
//! time NAME SIZE TIMES       the same of the interpreter, without a file
//! ```

use cembra::backend::{FieldPlan, FieldTier};
use cembra::field::{FieldBuffer, FieldCells, FieldData, FieldProgram, TableEntries, parse_field_program};
use cembra::native::NativeCache;
use cembra::native::cache::default_root;
use cembra::vm::value::ScalarValue;
use cpu_time::ProcessTime;
use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, Write};

type Outcome<T> = Result<T, Box<dyn Error>>;

const PLANE: &str = "horizontal I, J\ninput u[I, J]\noutput out[I, J]\nscalar n: int32\n";
const LAP: &str = "lap = -4.0*u + u[I-1] + u[I+1] + u[J-1] + u[J+1]\n";

/// The program of a workload, and the name of its result.
fn text(name: &str) -> Outcome<(String, &'static str)> {
    let inner = |halo: u32, value: &str| format!("out[I={halo}:n-{halo}, J={halo}:n-{halo}] = {value}\n");
    Ok(match name {
        "laplacian" => (format!("{PLANE}{LAP}{}", inner(1, "lap")), "out"),
        "gradient" => (format!("{PLANE}{}", inner(1, "u[I+1] - u")), "out"),
        "shifted" => (format!("{PLANE}{}", inner(1, "u[I+1]")), "out"),
        "limited" => (
            format!(
                "{PLANE}input w[I, J]\nscalar k, m\n{LAP}flux = where(lap > m, m, where(lap < -m, -m, lap))\n{}",
                inner(1, "where(w > 0.5, u + k*flux, u)")
            ),
            "out",
        ),
        "bilaplacian" => (
            format!("{PLANE}{LAP}{}", inner(2, "-4.0*lap + lap[I-1] + lap[I+1] + lap[J-1] + lap[J+1]")),
            "out",
        ),
        "horizontal_diffusion" => (
            format!(
                "{PLANE}scalar k\n{LAP}dx = lap[I+1] - lap\nfx = where(dx*(u[I+1] - u) > 0.0, 0.0, dx)\n\
                 dy = lap[J+1] - lap\nfy = where(dy*(u[J+1] - u) > 0.0, 0.0, dy)\n{}",
                inner(2, "u - k*(fx - fx[I-1] + fy - fy[J-1])")
            ),
            "out",
        ),
        "tridiagonal" => (
            "horizontal I\nvertical K\ninput a[I, K], b[I, K], c[I, K], d[I, K]\n\
             output cp[I, K], dp[I, K], x[I, K]\n\
             cp, dp = scan(K forward; c0 = 0.0, d0 = 0.0; pivot = b - a*c0; c/pivot, (d - a*d0)/pivot)\n\
             x = scan(K backward; above = 0.0; dp - cp*above)\n"
                .to_owned(),
            "x",
        ),
        "edge_sum" => (
            "horizontal Edge, Cell\ntable C2E: Cell -> Edge width 3\ninput e[Edge]\noutput out[Cell]\n\
             out = neighbor_sum(e[C2E], C2E)\n"
                .to_owned(),
            "out",
        ),
        _ => return Err(format!("no workload `{name}`").into()),
    })
}

/// Numbers between 0 and 1, as `fields.py` makes them.
fn numbers(seed: usize, count: usize) -> Vec<f64> {
    (0..count).map(|at| ((at * 7919 + seed * 104_729) % 1009) as f64 / 1009.0).collect()
}

/// Levels as planes, one behind the other.
fn planes(cells: Vec<f64>, columns: usize, levels: usize) -> Outcome<FieldBuffer> {
    let strides = [1, columns as isize];
    Ok(FieldBuffer::strided(FieldCells::Float64(cells), &[0, 0], &[columns, levels], &strides, 0)?)
}

fn data(name: &str, size: usize, program: &FieldProgram) -> Outcome<FieldData> {
    let mut data = FieldData::default();
    let cells = size * size;
    let mut field = |name: &str, buffer: FieldBuffer| data.fields.insert(name.to_owned(), buffer);
    match name {
        "tridiagonal" => {
            let (levels, columns) = (64, cells / 64);
            for (seed, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
                let mut values = numbers(seed, cells);
                if name == "b" {
                    values.iter_mut().for_each(|value| *value += 4.0);
                }
                field(name, planes(values, columns, levels)?);
            }
            for name in ["cp", "dp", "x"] {
                field(name, planes(vec![0.0; cells], columns, levels)?);
            }
        }
        "edge_sum" => {
            let edges = cells * 3 / 2;
            let e = FieldCells::Float64(numbers(0, edges));
            field("e", FieldBuffer::row_major(e, &[0], &[edges])?);
            let entry = |at: usize| ((at / 2 + at * 7919 % 61) % edges) as i64;
            data.tables.insert("C2E".to_owned(), TableEntries::new((0..3 * cells).map(entry).collect(), 3)?);
            let out = FieldCells::Float64(vec![0.0; cells]);
            data.fields.insert("out".to_owned(), FieldBuffer::row_major(out, &[0], &[cells])?);
        }
        _ => {
            for (seed, name) in ["u", "w"].into_iter().enumerate() {
                let buffer = FieldBuffer::row_major(
                    FieldCells::Float64(numbers(seed, cells)),
                    &[0, 0],
                    &[size, size],
                )?;
                field(name, buffer);
            }
        }
    }
    data.scalars.insert("n".to_owned(), ScalarValue::Int32(size as i32));
    data.scalars.insert("k".to_owned(), ScalarValue::Float64(0.1));
    data.scalars.insert("m".to_owned(), ScalarValue::Float64(0.75));
    data.complete(program)?;
    Ok(data)
}

fn tier(name: &str) -> Outcome<FieldTier> {
    match name {
        "interpreter" => Ok(FieldTier::Interpreter),
        "native" => Ok(FieldTier::Native(NativeCache::new(default_root()?, None)?)),
        _ => Err(format!("no tier `{name}`").into()),
    }
}

fn open(name: &str, size: &str, on: &str) -> Outcome<(FieldPlan, FieldData, &'static str)> {
    let (text, result) = text(name)?;
    let program = parse_field_program(&text).map_err(|mut errors| errors.remove(0))?;
    let mut data = data(name, size.parse()?, &program)?;
    let plan = FieldPlan::new(&program, &data).map_err(|mut errors| errors.remove(0))?;
    let mut plan = plan.on(tier(on)?)?;
    if let Some(stage) = plan.interpreted().first() {
        return Err(stage.reason.clone().into());
    }
    plan.run(&mut data)?;
    Ok((plan, data, result))
}

fn run(plan: &mut FieldPlan, data: &mut FieldData, times: &str) -> Outcome<String> {
    let start = ProcessTime::now();
    for _ in 0..times.parse()? {
        plan.run(black_box(data))?;
    }
    Ok(start.elapsed().as_nanos().to_string())
}

fn main() -> Outcome<()> {
    let mut opened = None;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let answer = match line.split(' ').collect::<Vec<_>>()[..] {
            ["open", name, size, file, on] => {
                let (plan, data, result) = open(name, size, on)?;
                let cells = data.fields[result].cells();
                let FieldCells::Float64(cells) = cells else {
                    return Err("a result of other elements".into());
                };
                let bytes: Vec<u8> = cells.iter().flat_map(|cell| cell.to_le_bytes()).collect();
                std::fs::write(file, bytes)?;
                opened = Some((plan, data));
                "ok".to_owned()
            }
            ["run", times] => {
                let (plan, data) = opened.as_mut().ok_or("nothing is open")?;
                run(plan, data, times)?
            }
            ["time", name, size, times] => {
                let (mut plan, mut data, _) = open(name, size, "interpreter")?;
                run(&mut plan, &mut data, times)?
            }
            _ => return Err(format!("no such line: {line}").into()),
        };
        println!("{answer}");
        std::io::stdout().flush()?;
    }
    Ok(())
}
