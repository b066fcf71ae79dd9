//! Model problems are positive definite: dense Cholesky says so.

use tamarack_sparse::models::{Model, families};
use tamarack_testkit::{dense_cholesky, dense_full};

#[test]
fn model_problems_are_positive_definite() {
    for family in families() {
        for size in [2, 3, 4] {
            let model: Model = format!("{}_{size}", family.name).parse().unwrap();
            let a = model.generate::<f64>().unwrap();
            assert_eq!(
                dense_cholesky(a.n(), &mut dense_full(&a)),
                Ok(()),
                "{model}"
            );
        }
    }
    for name in [
        "rgg_200",
        "circuit_200",
        "lpnorm_120",
        "shell_6x5",
        "el3d_3x2x4",
        "p3d7_3x5x7",
    ] {
        let model: Model = name.parse().unwrap();
        let a = model.generate::<f64>().unwrap();
        assert_eq!(
            dense_cholesky(a.n(), &mut dense_full(&a)),
            Ok(()),
            "{model}"
        );
    }
}
