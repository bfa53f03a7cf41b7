//! Values written back into the text of model files, with everything else as it was.
//!
//! ```text
//! A: [20.0, True, 5.0, 25.0]   # the main line
//!     ^^^^ only this changes
//! ```
//!
//! A text is only given if reading it again makes a model with exactly these values. It is not where one
//! line of the file stands for several parameters, as dynamics that are used twice do.

use crate::model::place::Place;
use crate::model::tree::Model;

/// The texts of the files, one after the other, with other initial values of theta; nothing if the
/// texts cannot say that.
///
/// `read` makes a model of the new text, in the way in which the old one was made.
pub fn with_values(
    files: &[(&str, &str)],
    model: &Model,
    theta: &[f64],
    read: impl Fn(&str) -> Option<Model>,
) -> Option<String> {
    let mut texts: Vec<String> = files.iter().map(|(_, text)| (*text).to_owned()).collect();
    let mut edits: Vec<(&Place, f64)> =
        model.free().into_iter().map(|id| &model.parameter(id).place).zip(theta.iter().copied()).collect();
    // From the end, so that places that are still to come do not move.
    edits.sort_by(|a, b| b.0.cmp(a.0));
    for (place, value) in edits {
        let file = files.iter().position(|(name, _)| **name == *place.file)?;
        replace(&mut texts[file], place, value)?;
    }
    let text = joined(&texts);
    let again = read(&text)?;
    let same = again.theta_names() == model.theta_names() && again.theta() == theta;
    same.then_some(text)
}

fn joined(texts: &[String]) -> String {
    let mut all = String::new();
    for text in texts {
        all.push_str(text);
        if !text.ends_with('\n') {
            all.push('\n');
        }
    }
    all
}

/// Replaces the first item of the list behind a key.
fn replace(text: &mut String, place: &Place, value: f64) -> Option<()> {
    let line = text.split_inclusive('\n').take(place.line - 1).map(str::len).sum::<usize>();
    let key = line + text[line..].char_indices().nth(place.column - 1)?.0;
    let open = key + text[key..].find(['[', '-', '\n'])?;
    if !text[open..].starts_with('[') {
        return None;
    }
    let inside = &text[open + 1..];
    let start = open + 1 + (inside.len() - inside.trim_start().len());
    let end = start + text[start..].find([',', ']', '\n'])?;
    let end = start + text[start..end].trim_end().len();
    text.replace_range(start..end, &format!("{value:?}"));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::load;

    fn read_again(text: &str) -> Option<Model> {
        load::read([("saved.yaml", text)]).ok().map(|loaded| loaded.model)
    }

    const TEXT: &str = "
cembra: {energy: {from: 80, to: 92, points: 4}, model: m}
m:
  Offset:
    y0: [2.0, True, 0.0, 5.0]   # the floor
  Gauss:
    A: [ 20 , True, 0.0, 60.0]
    x0: [84.0, False]
    SD: [1.0, True, 0.1, 4.0]
";

    #[test]
    fn only_values_change() {
        let model = read_again(TEXT).expect("a model");
        let theta = [1.5, 17.25, 0.5];
        let text = with_values(&[("saved.yaml", TEXT)], &model, &theta, read_again).expect("a text");
        let expected =
            TEXT.replace("[2.0,", "[1.5,").replace("20 ,", "17.25 ,").replace("[1.0, True", "[0.5, True");
        assert_eq!(text, expected);
        assert_eq!(read_again(&text).expect("a model").theta(), theta);
    }

    #[test]
    fn a_text_that_cannot_say_it_is_not_given() {
        let block = TEXT.replace("[2.0, True, 0.0, 5.0]", "\n      - 2.0\n      - True");
        let model = read_again(&block).expect("a model");
        assert_eq!(with_values(&[("saved.yaml", &block)], &model, &[1.0, 2.0, 3.0], read_again), None);
        let twice = "
cembra: {energy: [1, 2, 3], time: [0, 1, 2], model: m, dynamics: [{target: Offset_y0, models: [d]}, {target: Gauss_01_A, models: [d]}]}
m:
  Offset: {y0: [2.0, False]}
  Gauss: {A: [20.0, False], x0: [2.0, False], SD: [1.0, False]}
d:
  linFun: {m: [1.0, True], t0: [0, False]}
";
        let model = read_again(twice).expect("a model");
        assert_eq!(model.theta().len(), 2);
        assert_eq!(with_values(&[("saved.yaml", twice)], &model, &[1.0, 2.0], read_again), None);
        assert!(with_values(&[("saved.yaml", twice)], &model, &[3.0, 3.0], read_again).is_some());
    }
}
