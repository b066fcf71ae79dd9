use super::*;

const SELFTEST: Program = Program::at("selftest.cu");

#[test]
fn includes_are_flattened_with_our_lines() {
    let flat = SELFTEST.flatten().unwrap();
    assert!(flat.starts_with("#line 1 \"kernels/selftest.cu\"\n"));
    assert!(flat.contains("#line 1 \"kernels/common.cuh\"\n"));
    let back = format!(
        "#line {} \"kernels/selftest.cu\"\n",
        1 + include_str!("../kernels/selftest.cu")
            .lines()
            .position(|l| l.contains("#include"))
            .unwrap()
            + 1
    );
    assert!(flat.contains(&back));
    assert!(!flat.lines().any(|l| l.trim_start().starts_with("#include")));
}

#[test]
fn architectures_are_read_and_written() {
    assert_eq!(Arch::of_card(9, 0).to_string(), "sm_90a");
    assert_eq!(Arch::of_card(8, 6).to_string(), "sm_86");
    assert_eq!(
        "compute_80".parse::<Arch>().unwrap().to_string(),
        "compute_80"
    );
    assert_eq!("sm_120a".parse::<Arch>().unwrap(), Arch::of_card(12, 0));
    for wrong in ["90", "sm_", "sm_a", "sm_9x", "compute_90a", ""] {
        assert!(wrong.parse::<Arch>().is_err(), "{wrong}");
    }
}

#[test]
fn the_cache_gives_back_what_was_put_and_refuses_damage() {
    let folder = tempfile::tempdir().unwrap();
    let store = cache::Cache::new(folder.path());
    let binary = Binary {
        code: (0..=255).collect(),
        kernels: vec![KernelReport {
            name: "k".to_string(),
            registers: 1,
            shared_bytes: 2,
            local_bytes: 3,
        }],
        warnings: String::new(),
    };
    let options = ["--std=c++17".to_string()];
    let key = cache::Key::new("dense/k.cu", "sm_90a", "text", &options);
    assert_eq!(store.get(&key, (13, 0)), None);
    store.put(&key, (13, 0), &binary);
    assert_eq!(store.get(&key, (13, 0)), Some(binary.clone()));
    assert_eq!(store.get(&key, (12, 9)), None);
    assert_eq!(store.get_any(&key), Some(binary));
    for other in [
        cache::Key::new("dense/k.cu", "sm_90", "text", &options),
        cache::Key::new("dense/k.cu", "sm_90a", "texts", &options),
        cache::Key::new("dense/k.cu", "sm_90a", "text", &[]),
        cache::Key::new("k.cu", "sm_90a", "text", &options),
    ] {
        assert_eq!(store.get_any(&other), None, "{other:?}");
    }
    let path = folder.path().join(key.file((13, 0)));
    let whole = std::fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        assert_eq!(cache::decode(&damaged), None, "byte {at}");
        assert_eq!(cache::decode(&whole[..at]), None, "length {at}");
    }
    std::fs::write(&path, b"tamarack").unwrap();
    assert_eq!(store.get(&key, (13, 0)), None);
}

#[test]
fn a_later_card_runs_ptx() {
    let (Some(gpu), Some(compiler)) = (testing::gpu(), testing::compiler()) else {
        return;
    };
    if compiler.version().unwrap() > gpu.info().driver_version {
        // The driver need not know this NVRTC's PTX.
        return;
    }
    let binary = compiler
        .compile(&SELFTEST, "compute_80".parse().unwrap())
        .unwrap();
    let module = Module::new(gpu.context().clone(), SELFTEST.path(), binary).unwrap();
    let stream = gpu.stream().unwrap();
    let x = stream.to_device(gpu, &[1.0, 2.0]).unwrap();
    let y = stream.to_device(gpu, &[3.0, 4.0]).unwrap();
    let kernel = module.kernel("selftest_axpy").unwrap();
    // SAFETY: the arguments are those of `selftest_axpy`; the buffers outlive the copy below.
    unsafe {
        let args: [&dyn Arg; 4] = [&2_u64, &10.0_f64, &x.ptr(), &y.ptr()];
        kernel.launch(&stream, Launch::new(1, 32), &args).unwrap();
    }
    assert_eq!(stream.to_host(&y).unwrap(), [13.0, 24.0]);
}

#[test]
fn a_cached_program_that_the_driver_refuses_is_compiled_again() {
    let (Some(gpu), Some(compiler)) = (testing::gpu(), testing::compiler()) else {
        return;
    };
    let arch = gpu.info().arch;
    if arch.number < 90 {
        // This card runs the machine code below.
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let store = cache::Cache::new(folder.path());
    let version = compiler.version().unwrap();
    let older = compiler
        .compile(&SELFTEST, "sm_80".parse().unwrap())
        .unwrap();
    let (source, options) = (SELFTEST.flatten().unwrap(), compile::options(arch));
    let key = cache::Key::new(SELFTEST.path(), &arch.to_string(), &source, &options);
    store.put(&key, version, &older);
    let options = GpuOptions {
        cache: Some(folder.path().to_path_buf()),
        ..GpuOptions::default()
    };
    let module = Gpu::open_with(0, options).unwrap().load(&SELFTEST).unwrap();
    assert!(module.kernel("selftest_axpy").is_ok());
    assert_ne!(store.get(&key, version).unwrap().code, older.code);
}

#[test]
fn shared_memory_is_lent_and_lives_as_long_as_what_was_lent() {
    let Some(gpu) = crate::testing::gpu() else {
        return;
    };
    let stream = gpu.stream().unwrap();
    let mut whole = gpu.alloc_shared::<f32>(1000).unwrap();
    stream.fill_bytes(&mut whole, 0).unwrap();
    let mut part = whole.lend::<u64>(512, 100).unwrap();
    let numbers: Vec<u64> = (1..=100).collect();
    stream.upload(&numbers, &mut part).unwrap();
    let all = stream.to_host(&whole).unwrap();
    assert!(all[..128].iter().all(|&x| x == 0.0) && all[328..].iter().all(|&x| x == 0.0));
    assert_eq!(all[128].to_bits(), 1);
    assert!(whole.lend::<u8>(0, 4000).is_some() && whole.lend::<u8>(0, 4001).is_none());
    assert!(whole.lend::<u8>(256, 3745).is_none() && whole.lend::<u64>(256, usize::MAX).is_none());
    assert!(whole.lend::<u8>(8, 8).is_none(), "not aligned");
    let again = part.lend::<u8>(256, 8).unwrap();
    assert!(gpu.alloc::<u8>(512).unwrap().lend::<u8>(0, 1).is_none());
    drop((whole, part));
    assert_eq!(stream.to_host(&again).unwrap(), 33_u64.to_le_bytes());
}
