// SPDX-License-Identifier: Apache-2.0
//! Threads that wait for locks of which it is known who holds them: as locks.c, for Rust's std. Prints
//! KIND WAITER HOLDER for each; HOLDER 0: it is no lock.

use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, RwLock};
use std::time::Duration;
use std::{fs, thread};

const HELD: Duration = Duration::from_millis(20);

fn number() -> u32 {
	let own = fs::read_link("/proc/thread-self").unwrap();
	own.file_name().unwrap().to_str().unwrap().parse().unwrap()
}

/// Until a thread is in futex(2), and for a while.
fn while_waiting(waiter: u32) {
	let path = format!("/proc/self/task/{waiter}/syscall");
	while !fs::read_to_string(&path).unwrap_or_default().starts_with("202 ") {
		thread::yield_now();
	}
	thread::sleep(HELD);
}

/// hold: takes the lock, says so, and keeps it while the waiter waits.
pub fn plant<H, W>(kind: &str, is_lock: bool, hold: H, wait: W)
where
	H: FnOnce(&dyn Fn()) + Send + 'static,
	W: FnOnce() + Send + 'static,
{
	let (told, tell): (Sender<u32>, Receiver<u32>) = channel();
	let (is_held, held): (Sender<()>, Receiver<()>) = channel();
	let holder = thread::Builder::new().name(format!("hold-{kind}")).spawn(move || {
		hold(&|| {
			is_held.send(()).unwrap();
			while_waiting(tell.recv().unwrap());
		});
		number()
	});
	let waiter = thread::Builder::new().name(format!("wait-{kind}")).spawn(move || {
		held.recv().unwrap();
		told.send(number()).unwrap();
		wait();
		number()
	});
	let holder = holder.unwrap().join().unwrap();
	let waiter = waiter.unwrap().join().unwrap();
	println!("{kind} {waiter} {}", if is_lock { holder } else { 0 });
}

fn main() {
	let mutex = Arc::new(Mutex::new(0));
	let other = mutex.clone();
	plant(
		"mutex",
		true,
		move |held| {
			let _guard = mutex.lock().unwrap();
			held();
		},
		move || drop(other.lock().unwrap()),
	);
	let rwlock = Arc::new(RwLock::new(0));
	let other = rwlock.clone();
	plant(
		"rwlock",
		true,
		move |held| {
			let _guard = rwlock.write().unwrap();
			held();
		},
		move || drop(other.read().unwrap()),
	);
	let pair = Arc::new((Mutex::new(false), Condvar::new()));
	let other = pair.clone();
	plant(
		"condition",
		false,
		move |held| {
			held();
			*pair.0.lock().unwrap() = true;
			pair.1.notify_all();
		},
		move || {
			let mut happened = other.0.lock().unwrap();
			while !*happened {
				happened = other.1.wait(happened).unwrap();
			}
		},
	);
}
