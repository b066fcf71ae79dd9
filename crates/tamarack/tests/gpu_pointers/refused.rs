//! What is refused, and leaves everything as it was.

use super::*;

#[test]
fn what_does_not_fit_is_an_error_and_changes_nothing() {
    let Some((mut options, gpu)) = options() else {
        return;
    };
    let stream = gpu.stream().unwrap();
    let a = model("p3d7_9");
    let (n, b) = (a.n(), right_sides(a.n(), 2));
    let values = stream.to_device(gpu, a.values()).unwrap();
    let short = values.view().slice(1..).unwrap();
    for precision in ALL {
        options.precision = precision;
        let analysis = Analysis::new(a.pattern(), &options).unwrap();
        assert!(usage(analysis.factorize_device(short)).contains("entries"));
        let mut factor = analysis.factorize(&a).unwrap();
        let mut want = b.clone();
        factor.solve(&mut want).unwrap();
        assert!(usage(factor.refactorize_device(short)).contains("entries"));
        let empty = values.view().slice(..0).unwrap();
        usage(factor.refactorize_device(empty));

        let mut x = Columns::new(gpu, &stream, &b, n, n);
        let mut flat = Columns::new(gpu, &stream, &b, 2 * n, 2 * n);
        usage(factor.solve_device(flat.view_mut()));
        usage(factor.solve_refined_device(flat.view(), x.view_mut()));
        usage(factor.solve_refined_device(x.view(), flat.view_mut()));
        let one = Columns::new(gpu, &stream, &b[..n], n, n);
        usage(factor.solve_refined_device(one.view(), x.view_mut()));
        assert!(DeviceMatrixMut::new(&mut x.buffer, n as u32, 3, n).is_err());

        factor.solve_device(x.view_mut()).unwrap();
        assert!(x.get(&stream) == want, "{precision}");
        if let Ok(other) = Gpu::open(1) {
            let there = other.stream().unwrap();
            let values = there.to_device(&other, a.values()).unwrap();
            let error = usage(factor.refactorize_device(values.view()));
            assert!(error.contains("device 1"), "{error}");
            let mut x = Columns::new(&other, &there, &b, n, n);
            usage(factor.solve_device(x.view_mut()));
        } else {
            eprintln!("skipped in part: there is one GPU");
        }
    }
    // SAFETY: an address on the host is refused.
    let view = unsafe { DeviceView::<f64>::from_raw(gpu, b.as_ptr() as u64, b.len()) };
    usage(view.map_err(Error::from));

    options.device = Device::Cpu;
    options.precision = Precision::F64;
    let analysis = Analysis::new(a.pattern(), &options).unwrap();
    assert!(analysis.gpu().is_none());
    assert!(usage(analysis.factorize_device(values.view())).contains("on the host"));
    let mut factor = analysis.factorize(&a).unwrap();
    usage(factor.refactorize_device(values.view()));
    let mut x = Columns::new(gpu, &stream, &b, n, n);
    usage(factor.solve_device(x.view_mut()));
    // SAFETY: the stream is alive.
    usage(unsafe { factor.wait_for(stream.raw_handle()) });
}

#[test]
fn what_is_not_positive_definite_is_refused_for_a_column() {
    let Some((mut options, gpu)) = options() else {
        return;
    };
    let stream = gpu.stream().unwrap();
    let a = model("el3d_6");
    let mut bad = a.clone();
    let column = a.n() / 3;
    bad.values_mut()[a.pattern().col_ptr()[column] as usize] = -2.5;
    let good_values = stream.to_device(gpu, a.values()).unwrap();
    let bad_values = stream.to_device(gpu, bad.values()).unwrap();
    let mut x = Columns::new(gpu, &stream, &right_sides(a.n(), 1), a.n(), a.n());
    for precision in ALL {
        options.precision = precision;
        let analysis = Analysis::new(a.pattern(), &options).unwrap();
        let mut factor = analysis.factorize_device(good_values.view()).unwrap();
        let error = factor.refactorize_device(bad_values.view()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotPositiveDefinite, "{error}");
        assert!(
            error.to_string().contains(&format!("column {column}")),
            "{error}"
        );
        let error = factor.solve_device(x.view_mut()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Stale, "{error}");
        let error = analysis.factorize_device(bad_values.view()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotPositiveDefinite, "{error}");
        factor.refactorize_device(good_values.view()).unwrap();
        factor.solve_device(x.view_mut()).unwrap();
    }
}

#[test]
fn what_is_on_the_host_alone_is_said() {
    let Some((mut options, gpu)) = options() else {
        return;
    };
    let stream = gpu.stream().unwrap();
    let mut a = model("p2d5_30");
    let at = a.pattern().col_ptr()[7] as usize;
    a.values_mut()[at] = -1.0;
    let b = right_sides(a.n(), 1);
    let right = Columns::new(gpu, &stream, &b, a.n(), a.n());
    let mut x = Columns::new(gpu, &stream, &b, a.n(), a.n());
    options.on_not_spd = OnNotSpd::Shift;
    for precision in ALL {
        options.precision = precision;
        let analysis = Analysis::new(a.pattern(), &options).unwrap();
        let mut factor = analysis.factorize(&a).unwrap();
        assert!(factor.shift().is_some());
        let refined = factor.solve_refined_device(right.view(), x.view_mut());
        assert!(usage(refined).contains("solve_refined"));
        factor.solve_device(x.view_mut()).unwrap();
    }
    let a = model("p2d5_30");
    options.precision = Precision::F64;
    options.refine.residual = ResidualPrecision::Quad;
    let analysis = Analysis::new(a.pattern(), &options).unwrap();
    let mut factor = analysis.factorize(&a).unwrap();
    let refined = factor.solve_refined_device(right.view(), x.view_mut());
    assert!(usage(refined).contains("solve_refined"));
}
