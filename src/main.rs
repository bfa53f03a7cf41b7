//! Cembra CLI.
use cembra::compile::{Options, compile};
use cembra::prepare::*;
use cembra::registry::*;
use cembra::syntax::*;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let dialect = Dialect::from_name(&args[1]).unwrap();
    let e = match parse_with(&args[2], &Registry::standard(), dialect, &Limits::default()) {
        Ok(e) => e,
        Err(e) => {
            println!("syntax {e:?} {e}");
            return;
        }
    };
    let inputs: Vec<(String, cembra_vm::value::QType)> = args[3..]
        .iter()
        .map(|a| {
            let (n, t) = a.split_once(':').unwrap();
            (n.to_owned(), t.parse().unwrap())
        })
        .collect();
    let p = match Prepare::standard().checked().run(Source::new(e, inputs).dialect(dialect)) {
        Ok(p) => p,
        Err(e) => {
            println!("prepare {e}");
            return;
        }
    };
    println!("{p}\n");
    let b = compile(&p, &Options { check_slots: true, ..Options::default() }).unwrap();
    println!("{}", cembra_vm::program::dump::dump(b.program()));
    println!("frame {}", b.layout().size());
}
