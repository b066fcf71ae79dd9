//! What a cubin says of its kernels. NVRTC's log would say it too, but not when NVRTC takes the code
//! from a cache of its own.
//!
//! A cubin is an ELF file. Its section `.nv.info` is a list of attributes: a format byte, a tag byte and
//! a 16-bit length or value; of those with a payload, tag 0x2f gives a function's registers and 0x12 an
//! entry's stack, each as the function's symbol and a number. The size of `.nv.shared.NAME` is the static
//! shared memory of the entry NAME, with what the system reserves for itself.

use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, SectionHeader, Sym};

/// What one kernel takes of a multiprocessor, as its machine code says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelReport {
    /// The kernel's name.
    pub name: String,
    /// Registers per thread.
    pub registers: u32,
    /// Statically declared shared memory per block.
    pub shared_bytes: u32,
    /// Local memory per thread: registers that did not fit, and arrays indexed at run time. It is device
    /// memory: a defect in a hot kernel.
    pub local_bytes: u32,
}

/// Format byte of attributes with a payload.
const WITH_PAYLOAD: u8 = 4;
/// Tag of the registers of a function.
const REGISTERS: u8 = 0x2f;
/// Tag of the stack of an entry, functions that it calls included.
const STACK: u8 = 0x12;
/// Static shared memory that the system keeps for itself on compute capability 9.0 and newer.
const RESERVED_BYTES: u64 = 1024;

/// The kernels of a cubin, sorted by name; none if it is not one.
pub(crate) fn kernels_of(cubin: &[u8]) -> Vec<KernelReport> {
    read(cubin).unwrap_or_default()
}

fn read(cubin: &[u8]) -> Option<Vec<KernelReport>> {
    let end = LittleEndian;
    let header = FileHeader64::<LittleEndian>::parse(cubin).ok()?;
    let sections = header.sections(end, cubin).ok()?;
    let symbols = sections.symbols(end, cubin, object::elf::SHT_SYMTAB).ok()?;
    let (_, info) = sections.section_by_name(end, b".nv.info")?;
    let info = info.data(end, cubin).ok()?;
    let name_of = |symbol: u32| -> Option<String> {
        let symbol = symbols.symbol(object::SymbolIndex(symbol as usize)).ok()?;
        let name = symbol.name(end, symbols.strings()).ok()?;
        Some(String::from_utf8_lossy(name).into_owned())
    };
    let attributes = attributes(info);
    let mut kernels = Vec::new();
    // Entries, and no other functions, have a stack size.
    for &(_, symbol, stack) in attributes.iter().filter(|a| a.0 == STACK) {
        let name = name_of(symbol)?;
        let registers = attributes
            .iter()
            .find(|a| (a.0, a.1) == (REGISTERS, symbol))
            .map_or(0, |a| a.2);
        let shared = sections
            .section_by_name(end, format!(".nv.shared.{name}").as_bytes())
            .map_or(0, |(_, section)| section.sh_size(end));
        let reserved = sections
            .section_by_name(end, b".nv.shared.reserved.0")
            .map_or(0, |_| RESERVED_BYTES);
        kernels.push(KernelReport {
            name,
            registers,
            shared_bytes: u32::try_from(shared.saturating_sub(reserved)).unwrap_or(u32::MAX),
            local_bytes: stack,
        });
    }
    kernels.sort_by(|a, b| a.name.cmp(&b.name));
    Some(kernels)
}

/// Tag, symbol and number of the attributes that have those.
fn attributes(mut info: &[u8]) -> Vec<(u8, u32, u32)> {
    let mut found = Vec::new();
    while let [format, tag, low, high, rest @ ..] = info {
        let length = match *format {
            WITH_PAYLOAD => usize::from(u16::from_le_bytes([*low, *high])),
            _ => 0,
        };
        let Some((payload, after)) = rest.split_at_checked(length) else {
            break;
        };
        if let Ok(words) = <[u8; 8]>::try_from(payload) {
            let [a, b, c, d, e, f, g, h] = words;
            let (symbol, number) = (
                u32::from_le_bytes([a, b, c, d]),
                u32::from_le_bytes([e, f, g, h]),
            );
            found.push((*tag, symbol, number));
        }
        info = after;
    }
    found
}
