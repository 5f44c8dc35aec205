//! Libraries that are opened at run time.

#![allow(missing_docs)]
#![cfg(feature = "dlopen")]

use std::ptr;

use gpujoin_sys::*;

/// One test, because the library stays open.
#[test]
fn calls_answer_before_and_after_the_library_is_there() {
    // SAFETY: nothing is there to take the pointers; the file is no library, or is ours.
    unsafe {
        assert_eq!(gpujoin_version_number(), 0);
        let mut context = ptr::null_mut();
        let create = |context| gpujoin_context_create(ptr::null(), context, ptr::null_mut());
        assert_eq!(create(&mut context), GPUJOIN_ERROR_UNSUPPORTED);
        gpujoin_context_destroy(context);

        let error = load_from("/nowhere/libgpujoin.so").unwrap_err();
        assert!(error.to_string().contains("/nowhere/libgpujoin.so"), "{error}");
        let error = load_from("libc.so.6").unwrap_err();
        assert!(error.to_string().contains("version number 0"), "{error}");

        load().unwrap();
        load_from("/nowhere/libgpujoin.so").unwrap(); // the one that is open stays
        assert_eq!(create(&mut context), GPUJOIN_OK);
        gpujoin_context_destroy(context);
    }
}
