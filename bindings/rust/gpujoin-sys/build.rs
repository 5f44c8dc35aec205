//! Tells the linker where libgpujoin is: `GPUJOIN_LIB_DIR`, else pkg-config.

use std::env;

fn main() {
    println!("cargo:rerun-if-env-changed=GPUJOIN_LIB_DIR");
    println!("cargo:rerun-if-changed=build.rs");
    // With `dlopen` nothing is linked, and documentation is built where there is no library.
    if env::var_os("CARGO_FEATURE_DLOPEN").is_some() || env::var_os("DOCS_RS").is_some() {
        return;
    }
    if let Some(folder) = env::var_os("GPUJOIN_LIB_DIR") {
        let folder = folder.to_string_lossy();
        println!("cargo:rustc-link-search=native={folder}");
        println!("cargo:rustc-link-lib=dylib=gpujoin");
        println!("cargo:lib_dir={folder}");
        return;
    }
    let wanted = concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));
    if let Err(error) = pkg_config::Config::new().atleast_version(wanted).probe("gpujoin") {
        eprintln!(
            "libgpujoin was not found. Set GPUJOIN_LIB_DIR to the folder of libgpujoin.so, or \
             PKG_CONFIG_PATH to that of gpujoin.pc, or take the feature \"dlopen\", which needs it \
             when the program runs.\n\n{error}"
        );
        std::process::exit(1);
    }
}
