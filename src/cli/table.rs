//! Tables: columns side by side, numbers to the right.

use unicode_width::UnicodeWidthStr;

/// How the cells of a column stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Texts.
    Left,
    /// Numbers.
    Right,
}

/// A column: how its cells stand, and the cells with the heading first.
pub type TableColumn = (Align, Vec<String>);

/// The table, a line each row. Cells have no line ends.
pub fn table(columns: &[TableColumn]) -> String {
    let width = |cells: &[String]| cells.iter().map(|cell| cell.width()).max().unwrap_or(0);
    let widths: Vec<usize> = columns.iter().map(|(_, cells)| width(cells)).collect();
    let mut text = String::new();
    for row in 0..columns.first().map_or(0, |(_, cells)| cells.len()) {
        let cells =
            columns.iter().zip(&widths).map(|((align, cells), width)| aligned(*align, &cells[row], *width));
        let line = cells.collect::<Vec<_>>().join("  ");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn aligned(align: Align, cell: &str, width: usize) -> String {
    let spaces = " ".repeat(width - cell.width());
    match align {
        Align::Left => format!("{cell}{spaces}"),
        Align::Right => format!("{spaces}{cell}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stand_under_their_heading() {
        let column = |align, cells: &[&str]| (align, cells.iter().map(|c| (*c).to_owned()).collect());
        let columns = [column(Align::Left, &["name", "木", "b"]), column(Align::Right, &["n", "10", "2"])];
        assert_eq!(table(&columns), "name   n\n木    10\nb      2\n");
    }
}
