// SPDX-License-Identifier: Apache-2.0
//! leaky_rust cycle|forget: see bench/leaks.

use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;
use std::time::Duration;

struct Node {
    other: RefCell<Option<Rc<Node>>>,
    bytes: [u8; 1000],
}

#[inline(never)]
fn planted_cycle() {
    for _ in 0..30 {
        let one = Rc::new(Node { other: RefCell::new(None), bytes: [1; 1000] });
        let two = Rc::new(Node { other: RefCell::new(Some(one.clone())), bytes: [2; 1000] });
        black_box(one.bytes[0] + two.bytes[1]);
        *one.other.borrow_mut() = Some(two);
    }
}

#[inline(never)]
fn planted_forget() {
    for _ in 0..60 {
        std::mem::forget(black_box(vec![1u8; 1000]));
    }
}

#[inline(never)]
fn cache_at_start() -> Vec<Vec<u8>> {
    (0..30000).map(|_| vec![1u8; 1000]).collect()
}

#[inline(never)]
fn window(slots: &mut [Vec<Vec<u8>>], step: usize) {
    slots[step % 100] = (0..50).map(|_| vec![1u8; 10000]).collect();
}

#[inline(never)]
fn churn() {
    for i in 0..500 {
        black_box(vec![1u8; 100 + i * 7]);
    }
}

fn main() {
    let which = std::env::args().nth(1).unwrap_or_default();
    let cache = cache_at_start();
    let mut slots = vec![Vec::new(); 100];
    for step in 0..600 {
        churn();
        window(&mut slots, step);
        if which == "cycle" {
            planted_cycle();
        } else {
            planted_forget();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    // what is held is held to the end
    std::mem::forget(black_box(cache));
    std::process::exit(0);
}
