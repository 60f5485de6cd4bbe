// SPDX-License-Identifier: Apache-2.0
//! Memory of a Rust program, by its standard allocator: each byte of input has it hold another
//! 1000000 bytes in vectors, grow one, and forget as much again; it says "held" then.

use std::io::{Read, Write};

#[inline(never)]
fn hold(kept: &mut Vec<Vec<u8>>) {
    for _ in 0..100 {
        kept.push(vec![1; 10000]);
    }
}

#[inline(never)]
fn grow(text: &mut String) {
    for _ in 0..1000 {
        text.push_str("a hundred bytes, which are added to what is there already, so that it moves at times, as it grows. ");
    }
}

#[inline(never)]
fn forget() -> usize {
    let mut sum = 0;

    for i in 0..100 {
        let bytes = vec![i as u8 + 1; 10000];

        // what is not read is not allocated
        sum += unsafe { std::ptr::read_volatile(&bytes[i]) } as usize;
    }
    sum
}

fn main() {
    let mut kept = Vec::new();
    let mut text = String::new();
    let mut sum = 0;

    println!("ready");
    for byte in std::io::stdin().bytes() {
        if byte.is_err() {
            break;
        }
        hold(&mut kept);
        grow(&mut text);
        sum += forget();
        println!("held");
        std::io::stdout().flush().unwrap();
    }
    println!("turns {} sum {} bad 0 wrong 0", kept.len() / 100, sum + text.len());
}
