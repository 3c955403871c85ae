//! Has the linker pack relocations, where the machine that builds can run the result.
//!
//! A program that is loaded at any address has one relocation for each pointer in its tables: 24 bytes each,
//! read at every start. Packed (DT_RELR) they take a bit or two. The C library must know the form (glibc
//! 2.36, or an older one with the change taken over), and says so by a version name; a library that does not
//! know it would refuse the program. So the one that this script itself runs with is asked, and only if the
//! program is for this kind of machine. Linkers that do not know the option ignore it.

use std::{env, fs};

/// The version name by which a C library says that it reads packed relocations.
const KNOWS_PACKED: &[u8] = b"GLIBC_ABI_DT_RELR";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("TARGET") == env::var_os("HOST") && library_reads_packed().unwrap_or(false) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Whether the C library of this process knows packed relocations; none when there is none, as on other
/// systems.
fn library_reads_packed() -> Option<bool> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let path = maps
        .lines()
        .filter_map(|line| line.get(line.find('/')?..))
        .find(|path| path.ends_with("/libc.so.6"))?;
    let library = fs::read(path).ok()?;
    Some(library.windows(KNOWS_PACKED.len()).any(|bytes| bytes == KNOWS_PACKED))
}
