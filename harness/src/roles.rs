//! The roles that this binary can play, and the moment before `main` in which it takes one.
//!
//! Adding a role is one line here. How a role is chosen and started is told in [`crate::host::role`].
use crate::host::{
    keeper,
    role::{self, Role, before_main},
};

const ROLES: &[Role] = &[
    Role {
        name: keeper::ROLE,
        run: keeper::run,
    },
    #[cfg(feature = "ldk")]
    Role {
        name: "boltwright-ldk",
        run: boltwright_ldk::run,
    },
];

fn take_a_role() {
    role::dispatch(ROLES);
}

before_main!(take_a_role);
