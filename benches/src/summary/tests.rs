use super::*;

fn record(solver: &str, refactor: f64, solve: f64) -> Record {
    Record {
        solver: solver.into(),
        matrix: "m".into(),
        threads: 1,
        n: 1,
        order_secs: 0.0,
        symbolic_secs: 0.0,
        first_secs: 1.0,
        first_again_secs: vec![refactor],
        refactor_secs: vec![refactor],
        solve_1_secs: vec![solve],
        solve_16_secs: vec![solve],
        nnz_l_millions: 2.0,
        gflop: 5.0,
        whole_secs: vec![],
        again_secs: vec![],
        stored_millions: 1.0,
        peak_bytes: 16e6,
        backward_error: 0.0,
        backward_error_16: 0.0,
        order: "METIS's".into(),
    }
}

fn page(baseline: &str) -> Page {
    Page {
        baseline: baseline.into(),
        limits: vec![Limits {
            threads: 1,
            gemm_gflops: 10.0,
            read_gbs: 8.0,
        }],
        records: vec![
            record(OURS, 1.0, 1.0),
            record("a", 2.0, 4.0),
            record("b", 4.0, 2.0),
        ],
        ..Page::default()
    }
}

#[test]
fn the_best_peer_of_each_phase_is_the_base() {
    let text = page(BEST).text();
    assert!(
        text.contains("| m | 1.000 | 2.000 | a | 0.50 | 5.000 | 0.5000 |"),
        "{text}"
    );
    assert!(
        text.contains("| m | 1.000 | 2.000 | b | 0.50 | 0.03200 | 250.0 |"),
        "{text}"
    );
    assert!(text.contains("| 8.000 |\n"), "bytes per entry: {text}");
    assert!(!text.contains("repeated in one process"));
}

#[test]
fn a_solver_can_be_the_base() {
    let text = page("b").text();
    assert!(text.contains("| m | 1.000 | 4.000 | b | 0.25 |"), "{text}");
}

#[test]
fn what_did_not_run_is_said() {
    let mut page = page(BEST);
    page.skipped.insert("mumps: no driver built".into());
    assert!(page.text().contains("- mumps: no driver built"));
}

#[test]
fn wrong_answers_are_left_out_of_ratios_and_said() {
    for (one, many) in [(2e-10, 0.0), (0.0, f64::NAN), (f64::NAN, 0.0)] {
        let mut page = page(BEST);
        page.records.push(record("a", 0.001, 0.001)); // a later turn, right and fast
        page.records[1].backward_error = one;
        page.records[1].backward_error_16 = many;
        let text = page.text();
        assert!(text.contains("| m | 1.000 | 4.000 | b | 0.25 |"), "{text}");
        assert!(!text.contains("| m | a |"), "{text}");
        assert!(text.contains("\n- m, a, 1 thread(s): wrong answers"));
        assert!(!page.is_empty());
    }
    let mut page = page(BEST);
    page.records[0].backward_error = f64::NAN;
    let text = page.text();
    assert!(!text.contains("### refactorize"), "no ratios: {text}");
    assert!(text.contains("- m, tamarack, 1 thread(s): wrong answers"));
    page.records.truncate(1);
    assert!(page.is_empty());
}

#[test]
fn every_matrix_has_its_orders() {
    let mut page = page(BEST);
    page.records[1].order = "its own METIS".into();
    let text = page.text();
    assert!(text.contains("| m | METIS's | b, tamarack |\n| m | its own METIS | a |"));
}

#[test]
fn warnings_are_on_the_page() {
    let mut page = page(BEST);
    page.warnings.push("the load was 3".into());
    assert!(page.text().contains("**Warning:** the load was 3.\n"));
}

#[test]
fn numbers_have_four_digits() {
    assert_eq!(digits(0.0123456), "0.01235");
    assert_eq!(digits(1234.56), "1235");
    assert_eq!(digits(5.0), "5.000");
}
