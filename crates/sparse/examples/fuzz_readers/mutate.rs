//! Random numbers, and ways to break text and bytes.

/// A small generator (splitmix64), the same on every machine.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 for n = 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }
}

const WORDS: [&str; 46] = [
    "0",
    "1",
    "-1",
    "+3",
    "00007",
    "2147483648",
    "4294967295",
    "4294967294",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "1000000000000000000",
    "9223372036854775807",
    "262143",
    "300000",
    "1e5",
    "1.5D+03",
    "-2.5d-3",
    "1e400",
    "-1e-400",
    "nan",
    "NaN",
    "inf",
    "-Infinity",
    ".",
    "-",
    "+",
    "1.",
    ".5",
    "1e",
    "1.7976931348623157e308",
    "4.9e-324",
    "0x1p3",
    "1_000",
    "1,5",
    "real",
    "integer",
    "complex",
    "pattern",
    "general",
    "symmetric",
    "skew-symmetric",
    "hermitian",
    "coordinate",
    "array",
    "%",
];
const ENDS: [&str; 8] = ["\n", "\r\n", "\r", "\n\n", " \n", "\t\n", "\n%c\n", ""];

/// Breaks text: words, lines, ends of lines; sometimes bytes.
pub fn text(rng: &mut Rng, input: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(input).into_owned();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        lines.push(String::new());
    }
    let (k, l) = (rng.below(lines.len()), rng.below(lines.len()));
    match rng.below(9) {
        0..=3 => {
            let mut words: Vec<&str> = lines[k].split(' ').collect();
            let w = rng.below(words.len());
            let word = rng.pick(&WORDS);
            match rng.below(4) {
                0 => words.insert(w, word),
                1 => drop(words.remove(w)),
                2 if words.len() > 2 => words[..2].fill(word), // sizes stay square
                _ => words[w] = word,
            }
            lines[k] = words.join(" ");
        }
        4 => drop(lines.remove(k)),
        5 => lines.insert(k, lines[l].clone()),
        6 => lines.swap(k, l),
        7 => lines.truncate(k),
        _ => return bytes(rng, input),
    }
    let odd_ends = rng.one_in(8);
    let mut out = Vec::new();
    for line in &lines {
        out.extend(line.as_bytes());
        let end = if odd_ends { rng.pick(&ENDS) } else { "\n" };
        out.extend(end.as_bytes());
    }
    out
}

/// Breaks bytes: flips, insertions, removals, copies, truncation.
pub fn bytes(rng: &mut Rng, input: &[u8]) -> Vec<u8> {
    let mut out = input.to_vec();
    for _ in 0..=rng.below(4) {
        let k = rng.below(out.len());
        let m = (k + rng.below(20)).min(out.len());
        match rng.below(7) {
            0 if !out.is_empty() => out[k] ^= 1 << rng.below(8),
            1 if !out.is_empty() => out[k] = rng.next() as u8,
            2 => out.insert(k, rng.next() as u8),
            3 => drop(out.drain(k..m)),
            4 => {
                let copy = out[k..m].to_vec();
                let at = rng.below(out.len());
                out.splice(at..at, copy);
            }
            5 => out.truncate(k),
            _ => {
                // A 2-, 4- or 8-byte field of a binary format.
                let size = [2, 4, 8][rng.below(3)];
                let value = [0, 1, u64::MAX, 1 << 31, 1 << 62, rng.next()][rng.below(6)];
                let field = out.get_mut(k..k + size);
                field
                    .into_iter()
                    .for_each(|f| f.copy_from_slice(&value.to_le_bytes()[..size]));
            }
        }
    }
    out
}

/// The beginning of one input and the end of another.
pub fn splice(rng: &mut Rng, a: &[u8], b: &[u8]) -> Vec<u8> {
    let (k, l) = (rng.below(a.len()), rng.below(b.len()));
    [&a[..k], &b[l..]].concat()
}
