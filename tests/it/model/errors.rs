//! Recorded bad inputs: each is rejected with a place, or has a meaning that a warning explains.

use super::recorded::{difference, floats, folder, id, load};
use cembra::model::error::WarningKind;
use cembra::model::interpret;
use serde_json::Value as Json;

/// Kinds of errors by name of the case, where the name does not say the kind.
const KINDS: [(&str, &str); 56] = [
    ("SILENT_bool_value", "value"),
    ("SILENT_duplicate_offset", "duplicate-component"),
    ("SILENT_duplicate_param_key", "duplicate-parameter"),
    ("SILENT_nan_value", "value-not-finite"),
    ("SILENT_string_bounds", "bound"),
    ("SILENT_vary_yes_no_yaml11", "vary"),
    ("background_last", "background-last"),
    ("component_null", "component-form"),
    ("component_scalar", "component-form"),
    ("conv_in_energy_model", "kernel-in-energy-model"),
    ("conv_time_axis_not_increasing", "axis-not-increasing"),
    ("duplicate_model_name", "duplicate-model"),
    ("dynamics_conv_last", "kernel-last"),
    ("dynamics_cross_model_expr", "unknown-reference"),
    ("dynamics_energy_function", "wrong-package"),
    ("dynamics_on_expression_param", "attached-to-expression"),
    ("dynamics_target_missing", "target-missing"),
    ("dynamics_twice", "already-dynamic"),
    ("empty_file", "empty-file"),
    ("energy_time_function", "wrong-package"),
    ("expr_circular", "circular-expression"),
    ("expr_division_by_zero_initial", "initial-not-finite"),
    ("expr_self_reference", "circular-expression"),
    ("expr_syntax_error", "expression-syntax"),
    ("expr_unknown_parameter", "unknown-reference"),
    ("frequency_negative", "frequency"),
    ("frequency_on_single_model", "frequency-on-single"),
    ("kernel_min_zero", "kernel-width"),
    ("kernel_no_lower_bound", "kernel-width"),
    ("kernel_removed_voigtCONV", "unknown-component"),
    ("legacy_y0_param", "parameter-count"),
    ("linback_order_at_eval", "linback-order"),
    ("min_gt_max", "bounds-order"),
    ("model_empty_map", "empty-model"),
    ("model_not_found", "model-not-found"),
    ("model_null", "model-form"),
    ("profile_then_dynamics_same_par", "dynamics-and-profile"),
    ("profile_twice", "already-profiled"),
    ("profile_without_aux_axis", "no-aux-axis"),
    ("scalar_param", "parameter-form"),
    ("shirley_only_component", "background-last"),
    ("single_element_number", "single-number"),
    ("subcycles_without_frequency", "no-frequency"),
    ("three_elements", "parameter-form"),
    ("top_level_list", "file-form"),
    ("transitive_chain_time_dep", "expression-chain"),
    ("two_entries_without_frequency", "no-frequency"),
    ("unknown_component", "unknown-component"),
    ("value_not_numeric", "value"),
    ("value_outside_bounds", "outside-bounds"),
    ("vary_bad_string", "vary"),
    ("vary_int", "vary"),
    ("wrong_param_count", "parameter-count"),
    ("wrong_param_name", "unknown-parameter"),
    ("yaml_syntax", "yaml-syntax"),
    ("yaml_tab_indent", "yaml-syntax"),
];

/// Accepted by the published system and an error here: the result would be silently wrong or empty.
const NOW_ERRORS: [&str; 4] =
    ["SILENT_bool_value", "SILENT_duplicate_offset", "SILENT_nan_value", "model_empty_map"];

/// Errors of the interface, which are tested where it is; the models themselves are sound.
const OF_INTERFACES: [&str; 2] = ["schedule_2d_on_1d", "theta_wrong_length"];

/// Accepted with a warning.
fn warning(case: &str) -> Option<fn(&WarningKind) -> bool> {
    Some(match case {
        "SILENT_expr_string_constant" => |w| matches!(w, WarningKind::TruthValue { .. }),
        "SILENT_inf_bounds" | "SILENT_null_bounds" => |w| matches!(w, WarningKind::NoBound { .. }),
        "SILENT_min_eq_max" => |w| matches!(w, WarningKind::EqualBounds { .. }),
        "SILENT_param_order_permuted" => |w| matches!(w, WarningKind::ParameterOrder { .. }),
        _ => return None,
    })
}

#[test]
fn recorded_errors_have_kind_and_place() {
    let mut rejected = 0;
    for case in folder("errors") {
        let id = id(&case);
        let kind = KINDS.iter().find(|k| k.0 == id).map(|k| k.1);
        let was_error = case["outcome"] == "error" && !OF_INTERFACES.contains(&id);
        assert_eq!(kind.is_some(), was_error || NOW_ERRORS.contains(&id), "{id}");
        let Some(kind) = kind else { continue };
        let errors = load(&case).map(|loaded| loaded.warnings).expect_err(id);
        assert_eq!(errors[0].kind.code(), kind, "{id}: {}", errors[0]);
        assert!(errors[0].place.is_some(), "{id} has no place");
        rejected += 1;
    }
    assert_eq!(rejected, 56);
}

#[test]
fn recorded_oddities_are_accepted() {
    let mut accepted = 0;
    for case in folder("errors") {
        let id = id(&case);
        if case["outcome"] != "accepted" || NOW_ERRORS.contains(&id) {
            continue;
        }
        let loaded = load(&case).unwrap_or_else(|e| panic!("{id}: {}", e[0]));
        match warning(id) {
            Some(is_expected) => assert!(loaded.warnings.iter().all(|w| is_expected(&w.kind)), "{id}"),
            None => assert_eq!(loaded.warnings, [], "{id}"),
        }
        assert_eq!(loaded.warnings.is_empty(), warning(id).is_none(), "{id}");
        // With permuted parameters, the published values are those of other parameters.
        if let Some(recorded) = recorded(&case).filter(|_| id != "SILENT_param_order_permuted") {
            let spectrum = interpret::evaluate(&loaded.model, &loaded.model.theta()).expect("its own theta");
            assert_eq!(difference(&recorded, &spectrum.values, 1e-10), None, "{id}");
        }
        accepted += 1;
    }
    assert_eq!(accepted, 12);
}

/// The recorded spectrum; a few cases have none.
fn recorded(case: &Json) -> Option<Vec<f64>> {
    case.get("interpreter").or_else(|| case.get("gir")).map(floats)
}

#[test]
fn theta_of_another_length_is_an_error() {
    let cases = folder("errors");
    let case = cases.iter().find(|c| id(c) == "theta_wrong_length").expect("a recorded case");
    let model = load(case).expect("a sound model").model;
    let error = interpret::evaluate(&model, &[1.0, 2.0]).expect_err("theta is too short");
    assert_eq!(error.to_string(), "theta has 2 values; the model has 4 free parameters");
}
