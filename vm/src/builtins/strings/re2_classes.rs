//! Classes of characters in patterns: ranges, names of POSIX and of Unicode, as parts of the engine's brackets.

use regex_automata::util::syntax;
use std::fmt::Write;

/// Writes the characters of a range; there are none among surrogates. Outside of brackets, a class of nothing stands for none.
pub fn push_range(out: &mut String, low: u32, high: u32, is_outside: bool) {
    const SURROGATES: std::ops::RangeInclusive<u32> = 0xd800..=0xdfff;
    let low = if SURROGATES.contains(&low) { 0xe000 } else { low };
    let high = if SURROGATES.contains(&high) { 0xd7ff } else { high };
    if low > high {
        out.push_str(if is_outside { NOTHING } else { "" });
        return;
    }
    let mut push = |code: u32| match char::from_u32(code) {
        Some(c) if c.is_ascii_alphanumeric() || !c.is_ascii() => out.push(c),
        _ => {
            let _ = write!(out, "\\x{{{code:X}}}");
        }
    };
    push(low);
    if high > low {
        out.push('-');
        let _ = write!(out, "\\x{{{high:X}}}");
    }
}

/// A class without characters.
pub const NOTHING: &str = "[^\\x{0}-\\x{10FFFF}]";

/// The classes of POSIX by their names, as parts of brackets.
pub const POSIX: [(&str, &str); 14] = [
    ("alnum", "0-9A-Za-z"),
    ("alpha", "A-Za-z"),
    ("ascii", "\\x{0}-\\x{7F}"),
    ("blank", "\\t\\x{20}"),
    ("cntrl", "\\x{0}-\\x{1F}\\x{7F}"),
    ("digit", "0-9"),
    ("graph", "!-~"),
    ("lower", "a-z"),
    ("print", "\\x{20}-~"),
    ("punct", "!-/:-@\\[-`\\{-~"),
    ("space", "\\t-\\r\\x{20}"),
    ("upper", "A-Z"),
    ("word", "0-9A-Za-z_"),
    ("xdigit", "0-9A-Fa-f"),
];

/// The general categories that RE2 names.
const CATEGORIES: &str =
    " Cc Cf Co L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs ";

/// A category or a script of Unicode by the name that RE2 has for it.
pub fn unicode_name(name: &str) -> Option<String> {
    match name {
        "Any" => Some("\\x{0}-\\x{10FFFF}".to_owned()),
        // Surrogates are no characters, and RE2 does not count codes without a character.
        "C" => Some("\\p{Cc}\\p{Cf}\\p{Co}".to_owned()),
        "Cs" => Some(NOTHING.to_owned()),
        _ if name.len() <= 2 && CATEGORIES.contains(&format!(" {name} ")) => Some(format!("\\p{{{name}}}")),
        _ if name.len() > 2 => {
            let class = format!("\\p{{sc={name}}}");
            // The engine knows more spellings.
            let is_spelled = name.split('_').all(|word| word.starts_with(|c: char| c.is_ascii_uppercase()));
            (is_spelled && syntax::parse(&class).is_ok()).then_some(class)
        }
        _ => None,
    }
}
