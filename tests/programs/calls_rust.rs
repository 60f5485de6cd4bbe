// SPDX-License-Identifier: Apache-2.0
//! Calls in Rust, and panics that are caught: they pass frames as exceptions of C++ do.

use std::panic;

/// What std::hint::black_box() is in newer releases of Rust.
fn black_box<T: Copy>(value: T) -> T {
    unsafe { std::ptr::read_volatile(&value) }
}

#[inline(never)]
fn leaf(value: u64) -> u64 {
    black_box(value).wrapping_mul(31)
}

#[inline(never)]
fn sums(count: u64) -> u64 {
    let mut sum = 0u64;
    for i in 0..count {
        sum = sum.wrapping_add(leaf(i));
    }
    black_box(sum)
}

#[inline(never)]
fn digs(depth: u32) -> u32 {
    if black_box(depth) == 0 {
        panic!("at the bottom");
    }
    black_box(digs(depth - 1)) + 1
}

#[inline(never)]
fn catches(depth: u32) -> u64 {
    match panic::catch_unwind(|| digs(depth)) {
        Ok(value) => u64::from(value),
        Err(_) => sums(2),
    }
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    let mut sum = sums(10);
    for depth in 0..5 {
        sum = sum.wrapping_add(catches(depth));
    }
    println!("calls calls_rust::leaf {}", 10 + 5 * 2);
    println!("calls calls_rust::sums {}", 1 + 5);
    println!("calls calls_rust::digs {}", 1 + 2 + 3 + 4 + 5);
    println!("calls calls_rust::catches {}", 5);
    println!("checksum {sum:x}");
}
