//! What the header promises of threads, as types.

#![allow(missing_docs)]

use gpujoin::*;

fn is_shared<T: Send + Sync + 'static>() {}

#[test]
fn objects_are_send_and_sync() {
    is_shared::<Context>();
    is_shared::<Relation>();
    is_shared::<Join>();
    is_shared::<Expr>();
    is_shared::<Plan>();
    is_shared::<JoinResult>();
    is_shared::<Build>();
    is_shared::<Operation>();
    is_shared::<Probe>();
    is_shared::<KeyFilter>();
    is_shared::<Error>();
}
