//! How fast a device is: six figures, measured once.
//!
//! They predict seconds, and decide between host and device where that is left open. Nothing else depends on
//! them: the same places, stages and tiles, and so the same bits, whatever was measured.

use std::time::Instant;

use tamarack_gpu::dense::{Front, FrontShape, Fronts, Placed, Product, Products, Real, Tile};
use tamarack_gpu::{DeviceViewMut, Gpu, GpuError, Stream};

/// Rates of a device, each of one piece of work that is the same everywhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceRates {
    /// Operations per second of a symmetric update of order 4096 by 512 columns in double precision, `n² k` of them.
    pub f64_flops_per_sec: f64,
    /// The same in single precision.
    pub f32_flops_per_sec: f64,
    /// Bytes read and written per second by a copy within the device.
    pub copy_bytes_per_sec: f64,
    /// A front of order 1024, by its 16 diagonal tiles: a chain in which each waits for the one before.
    pub tile_secs: f64,
    /// A recorded graph of 20 launches that do next to nothing, on the host's clock until it is done.
    pub graph_secs: f64,
    /// Bytes per second from pinned memory of the host.
    pub upload_bytes_per_sec: f64,
}

impl Default for DeviceRates {
    fn default() -> Self {
        Self::H100
    }
}

/// First line of a text; the number changes with what is measured.
const HEAD: &str = "tamarack device rates 1";
/// What they are kept under.
const NAME: &str = "rates";
/// Runs of each piece on the device's clock, of which the median counts.
const RUNS: usize = 5;
/// Runs on the host's clock, of which the least counts.
const HOST_RUNS: usize = 20;

/// Order and columns of the symmetric update.
const ORDER: u32 = 4096;
const INNER: u32 = 512;
/// Order of the front, and its tiles.
const FRONT: u32 = 1024;
const TILES: f64 = 16.0;
/// Launches of the graph.
const LAUNCHES: usize = 20;
/// Doubles of an upload: 32 MiB.
const UPLOAD: usize = 1 << 22;
/// Doubles that are copied: 128 MiB, beyond any cache.
const COPY: usize = 1 << 24;

impl DeviceRates {
    /// About those of an H100 SXM in a host with PCIe 5.
    pub const H100: Self = Self {
        f64_flops_per_sec: 4.5e13,
        f32_flops_per_sec: 7.4e13,
        copy_bytes_per_sec: 2.6e12,
        tile_secs: 1.45e-5,
        graph_secs: 2.8e-5,
        upload_bytes_per_sec: 4.2e10,
    };

    /// What was measured on such a device with such a driver before, if it was kept.
    #[must_use]
    pub fn kept(gpu: &Gpu) -> Option<Self> {
        Self::from_text(&gpu.kept(NAME)?)
    }

    /// What was kept, or else what is measured now, and kept where the device has a folder for that.
    ///
    /// # Errors
    /// As [`measure`](Self::measure).
    pub fn of(gpu: &Gpu) -> Result<Self, GpuError> {
        if let Some(rates) = Self::kept(gpu) {
            return Ok(rates);
        }
        let rates = Self::measure(gpu)?;
        gpu.keep(NAME, &rates.to_text());
        Ok(rates)
    }

    /// Measures a device: about 0.1 s where the programs of `dense/` are loaded, and 300 MB of its memory. Who else
    /// uses it at the same time is measured along.
    ///
    /// # Errors
    /// There is no memory, or the device fails, or a clock stands still.
    pub fn measure(gpu: &Gpu) -> Result<Self, GpuError> {
        let stream = gpu.stream()?;
        let (f64_flops_per_sec, copy_bytes_per_sec) = {
            let mut arena = gpu.alloc::<f64>(2 * COPY)?;
            stream.fill_bytes(&mut arena, SMALL)?;
            let copy = median_secs(gpu, &stream, || {
                let (from, to) = arena.view_mut().split_at(COPY)?;
                stream.copy(from.view(), to)
            })?;
            let flops = update_rate(gpu, &stream, arena.view_mut())?;
            (flops, (2 * COPY * size_of::<f64>()) as f64 / copy)
        };
        let f32_flops_per_sec = {
            let mut arena = gpu.alloc::<f32>(update_len())?;
            stream.fill_bytes(&mut arena, SMALL)?;
            update_rate(gpu, &stream, arena.view_mut())?
        };
        let rates = Self {
            f64_flops_per_sec,
            f32_flops_per_sec,
            copy_bytes_per_sec,
            tile_secs: front_secs(gpu, &stream)? / TILES,
            graph_secs: graph_secs(gpu, &stream)?,
            upload_bytes_per_sec: upload_rate(gpu, &stream)?,
        };
        if rates.is_sound() {
            return Ok(rates);
        }
        Err(GpuError::Shape {
            what: "seconds of a measurement",
            got: 0,
            have: 1,
        })
    }

    fn fields(&mut self) -> [(&'static str, &mut f64); 6] {
        [
            ("f64_flops_per_sec", &mut self.f64_flops_per_sec),
            ("f32_flops_per_sec", &mut self.f32_flops_per_sec),
            ("copy_bytes_per_sec", &mut self.copy_bytes_per_sec),
            ("tile_secs", &mut self.tile_secs),
            ("graph_secs", &mut self.graph_secs),
            ("upload_bytes_per_sec", &mut self.upload_bytes_per_sec),
        ]
    }

    /// Whether seconds can be predicted by them.
    fn is_sound(mut self) -> bool {
        let sound = |value: f64| value > 1e-12 && value < 1e20;
        self.fields().iter().all(|(_, value)| sound(**value))
    }

    /// As text, one figure a line; [`from_text`](Self::from_text) gives the same bits.
    #[must_use]
    pub fn to_text(mut self) -> String {
        let lines = self
            .fields()
            .map(|(name, value)| format!("{name} {value:e}\n"));
        format!("{HEAD}\n{}", lines.concat())
    }

    /// From text; `None` for anything else than [`to_text`](Self::to_text) writes of possible rates.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let mut lines = text.strip_suffix('\n')?.split('\n');
        if lines.next() != Some(HEAD) {
            return None;
        }
        let mut rates = Self::H100;
        for (name, value) in rates.fields() {
            let (found, number) = lines.next()?.split_once(' ')?;
            if found != name {
                return None;
            }
            *value = number.parse().ok()?;
        }
        (lines.next().is_none() && rates.is_sound()).then_some(rates)
    }
}

/// A byte of which small positive numbers of both precisions consist.
const SMALL: u8 = 0x3C;

/// Numbers that a symmetric update needs.
fn update_len() -> usize {
    let (order, inner) = (ORDER as usize, INNER as usize);
    order * (inner + order)
}

/// Median of seconds on the device, after one run that does not count.
fn median_secs(
    gpu: &Gpu,
    stream: &Stream,
    mut work: impl FnMut() -> Result<(), GpuError>,
) -> Result<f64, GpuError> {
    let (start, end) = (gpu.timing_event()?, gpu.timing_event()?);
    work()?;
    let mut secs = [0.0; RUNS];
    for secs in &mut secs {
        stream.record(&start)?;
        work()?;
        stream.record(&end)?;
        end.synchronize()?;
        *secs = end.secs_since(&start)?;
    }
    Ok(median(secs))
}

fn median(mut secs: [f64; RUNS]) -> f64 {
    secs.sort_unstable_by(f64::total_cmp);
    secs[RUNS / 2]
}

/// Operations per second of a symmetric update.
fn update_rate<T: Real>(
    gpu: &Gpu,
    stream: &Stream,
    mut arena: DeviceViewMut<'_, T>,
) -> Result<f64, GpuError> {
    let rows = Placed::plain(0, ORDER);
    let result = Placed::plain(u64::from(ORDER) * u64::from(INNER), ORDER);
    let product = Product::syrk(rows, result, ORDER, INNER, 1.0);
    let list = Products::<T>::new(gpu, stream, &[product], None)?;
    let secs = median_secs(gpu, stream, || list.launch(stream, arena.reborrow()))?;
    Ok(f64::from(ORDER).powi(2) * f64::from(INNER) / secs)
}

/// Seconds of one front, the identity, which is its own factor and so stays as it is.
fn front_secs(gpu: &Gpu, stream: &Stream) -> Result<f64, GpuError> {
    let shape = FrontShape::of::<f64>(FRONT, 0)?;
    let panel = Placed::packed(0, shape.panel_height);
    let end = shape.panel_len + shape.update_len;
    let mut identity = vec![0.0; (end + Fronts::inverse_len(FRONT)) as usize];
    for j in 0..FRONT {
        if let Some(diagonal) = identity.get_mut(panel.index(j, j) as usize) {
            *diagonal = 1.0;
        }
    }
    let mut arena = stream.to_device(gpu, &identity)?;
    let front = Front {
        pivots: FRONT,
        updates: 0,
        panel: 0,
        update: shape.panel_len,
        inverse: end,
        fresh: true,
    };
    let mut list = Fronts::<f64>::new(gpu, stream, &[front], Tile::T64)?;
    median_secs(gpu, stream, || list.launch(stream, &mut arena))
}

/// Seconds of a graph without work.
fn graph_secs(gpu: &Gpu, stream: &Stream) -> Result<f64, GpuError> {
    let mut word = gpu.alloc::<u64>(1)?;
    let mut graph = stream.capture(|| -> Result<(), GpuError> {
        (0..LAUNCHES).try_for_each(|_| stream.fill_bytes(&mut word, 0))
    })?;
    host_secs(stream, || {
        // SAFETY: the word is alive until the wait that follows.
        unsafe { graph.replay(stream) }
    })
}

/// Bytes per second from pinned memory.
fn upload_rate(gpu: &Gpu, stream: &Stream) -> Result<f64, GpuError> {
    let mut pinned = gpu.pinned::<f64>(UPLOAD)?;
    let mut to = gpu.alloc::<f64>(UPLOAD)?;
    let secs = host_secs(stream, || {
        // SAFETY: nothing writes the memory before the wait that follows.
        unsafe { pinned.upload_async(stream, .., &mut to) }
    })?;
    Ok((UPLOAD * size_of::<f64>()) as f64 / secs)
}

/// Least of seconds on the host's clock until the stream is done, after one run that does not count: what disturbs
/// the host only adds to them.
fn host_secs(
    stream: &Stream,
    mut work: impl FnMut() -> Result<(), GpuError>,
) -> Result<f64, GpuError> {
    work()?;
    stream.synchronize()?;
    let mut least = f64::INFINITY;
    for _ in 0..HOST_RUNS {
        let start = Instant::now();
        work()?;
        stream.synchronize()?;
        least = least.min(start.elapsed().as_secs_f64());
    }
    Ok(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_give_the_same_rates() {
        let mut rates = DeviceRates::H100;
        for (k, (_, value)) in rates.fields().into_iter().enumerate() {
            *value *= 1.0 + (k as f64 + 1.0) / 7.0;
        }
        assert_eq!(DeviceRates::from_text(&rates.to_text()), Some(rates));
    }

    #[test]
    fn other_texts_are_measured_again() {
        let rates = DeviceRates {
            tile_secs: 1.5e-5,
            ..DeviceRates::H100
        };
        let text = rates.to_text();
        let bad = [
            String::new(),
            "\n".to_owned(),
            text.replace("rates 1", "rates 2"),
            text.replace("tile_secs", "tiles_secs"),
            text.replace("tile_secs 1.5e-5", "tile_secs -1.5e-5"),
            text.replace("tile_secs 1.5e-5", "tile_secs 0"),
            text.replace("tile_secs 1.5e-5", "tile_secs NaN"),
            text.replace("tile_secs 1.5e-5", "tile_secs inf"),
            text.replace("tile_secs 1.5e-5", "tile_secs"),
            text.replace("tile_secs 1.5e-5\n", ""),
            text.replace('\n', " "),
            format!("{text}one more 1\n"),
            "{\"rates\": 1}\n".to_owned(),
        ];
        for bad in bad {
            assert_ne!(bad, text, "the test shows nothing");
            assert_eq!(DeviceRates::from_text(&bad), None, "{bad}");
        }
        for end in 0..text.len() {
            assert_eq!(DeviceRates::from_text(&text[..end]), None, "{end}");
        }
    }

    #[test]
    fn a_device_is_measured_in_a_moment() {
        let Some(gpu) = tamarack_gpu::testing::gpu() else {
            return;
        };
        for (_, loaded) in gpu.load_under("dense/") {
            loaded.unwrap();
        }
        let start = Instant::now();
        let rates = DeviceRates::measure(gpu).unwrap();
        let secs = start.elapsed().as_secs_f64();
        eprintln!("in {secs:.3} s:\n{}", rates.to_text());
        assert!(secs < 2.0, "{secs}"); // 0.3 where nobody else uses it
        let of_any_card = |value: f64, least: f64, most: f64| value > least && value < most;
        assert!(
            of_any_card(rates.f64_flops_per_sec, 1e10, 1e15),
            "{rates:?}"
        );
        assert!(
            of_any_card(rates.f32_flops_per_sec, 1e11, 1e16),
            "{rates:?}"
        );
        assert!(
            of_any_card(rates.copy_bytes_per_sec, 1e10, 1e14),
            "{rates:?}"
        );
        assert!(of_any_card(rates.tile_secs, 1e-6, 1e-3), "{rates:?}");
        assert!(of_any_card(rates.graph_secs, 1e-6, 1e-2), "{rates:?}");
        assert!(
            of_any_card(rates.upload_bytes_per_sec, 1e8, 1e12),
            "{rates:?}"
        );
        let kept = DeviceRates::of(gpu).unwrap();
        assert_eq!(DeviceRates::kept(gpu), Some(kept));
    }
}
