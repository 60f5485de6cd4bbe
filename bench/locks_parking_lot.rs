// SPDX-License-Identifier: Apache-2.0
//! As tests/programs/locks_rust.rs, for the locks of parking_lot.

#[allow(dead_code)]
#[path = "../tests/programs/locks_rust.rs"]
mod locks;

use parking_lot::{Condvar, Mutex, RwLock};
use std::sync::Arc;

fn main() {
	let mutex = Arc::new(Mutex::new(0));
	let other = mutex.clone();
	locks::plant(
		"mutex",
		true,
		move |held| {
			let _guard = mutex.lock();
			held();
		},
		move || drop(other.lock()),
	);
	let rwlock = Arc::new(RwLock::new(0));
	let other = rwlock.clone();
	locks::plant(
		"rwlock",
		true,
		move |held| {
			let _guard = rwlock.write();
			held();
		},
		move || drop(other.read()),
	);
	let pair = Arc::new((Mutex::new(false), Condvar::new()));
	let other = pair.clone();
	locks::plant(
		"condition",
		false,
		move |held| {
			held();
			*pair.0.lock() = true;
			pair.1.notify_all();
		},
		move || {
			let mut happened = other.0.lock();
			while !*happened {
				other.1.wait(&mut happened);
			}
		},
	);
}
