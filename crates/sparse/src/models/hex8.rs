//! Stiffness of the 8-node brick: unit cube, trilinear displacements, 2 × 2 × 2 Gauss points.

/// Corners of the element in {0, 1}³, in the order of its nodes.
pub(super) const CORNERS: [[usize; 3]; 8] = [
    [0, 0, 0],
    [1, 0, 0],
    [1, 1, 0],
    [0, 1, 0],
    [0, 0, 1],
    [1, 0, 1],
    [1, 1, 1],
    [0, 1, 1],
];

/// `Σ Bᵀ D B / 8` over the Gauss points, for Young's modulus 1 and Poisson's ratio `nu`; unknown
/// `3·node + direction`.
///
/// The order of all sums is part of the definition: entries `(i, j)` and `(j, i)` may differ in the
/// last bit, and callers say which of them they take.
pub(super) fn stiffness(nu: f64) -> [[f64; 24]; 24] {
    let material = isotropic(nu);
    let gauss = 1.0 / 3f64.sqrt();
    let sign = |corner: usize, axis: usize| 2.0 * CORNERS[corner][axis] as f64 - 1.0;
    let mut k = [[0.0; 24]; 24];
    for point in 0..8 {
        let at = [0, 1, 2].map(|axis| sign(point, axis) * gauss);
        let mut b = [[0.0; 24]; 6]; // strain: xx, yy, zz, xy, yz, zx
        for node in 0..8 {
            // 2 ∂N/∂ξ: the cube has edge 1, the reference cube edge 2.
            let shape = |axis: usize| 1.0 + sign(node, axis) * at[axis];
            let slope = |axis: usize, u: usize, v: usize| {
                2.0 * sign(node, axis) * shape(u) * shape(v) / 8.0
            };
            let [dx, dy, dz] = [slope(0, 1, 2), slope(1, 0, 2), slope(2, 0, 1)];
            let [u, v, w] = [3 * node, 3 * node + 1, 3 * node + 2];
            b[0][u] = dx;
            b[1][v] = dy;
            b[2][w] = dz;
            (b[3][u], b[3][v]) = (dy, dx);
            (b[4][v], b[4][w]) = (dz, dy);
            (b[5][u], b[5][w]) = (dz, dx);
        }
        for (i, row) in k.iter_mut().enumerate() {
            for (j, entry) in row.iter_mut().enumerate() {
                let mut sum = 0.0;
                for p in 0..6 {
                    for q in 0..6 {
                        sum += b[p][i] * material[p][q] * b[q][j];
                    }
                }
                *entry += sum / 8.0;
            }
        }
    }
    k
}

/// Hooke's law in 3D for Young's modulus 1.
fn isotropic(nu: f64) -> [[f64; 6]; 6] {
    let scale = 1.0 / ((1.0 + nu) * (1.0 - 2.0 * nu));
    let mut d = [[0.0; 6]; 6];
    for i in 0..3 {
        for (j, entry) in d[i][..3].iter_mut().enumerate() {
            *entry = scale * if i == j { 1.0 - nu } else { nu };
        }
        d[i + 3][i + 3] = scale * (1.0 - 2.0 * nu) / 2.0;
    }
    d
}
