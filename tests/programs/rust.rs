// SPDX-License-Identifier: Apache-2.0
//! What Rust programs have that others do not: mangled names of two kinds, generics, trait objects,
//! closures, panics that are caught, and async functions on an executor of our own. Spends its time
//! like this, and ends by itself after the seconds that its first argument says:
//!
//!     70 %  f70    20 %  f20    10 %  f10
//!
//! With a second argument it does one thing only: "deep", "panics", "async" or "shapes".

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};
use std::{env, panic, process, ptr, thread};

/// About a millisecond on a 3 GHz core.
const MILLISECOND: u64 = 3_000_000;

/// What std::hint::black_box() is in newer releases of Rust.
fn black_box<T: Copy>(value: T) -> T {
    unsafe { ptr::read_volatile(&value) }
}

/// An iteration takes one clock cycle; the same code at the same alignment wherever it is used.
#[inline(always)]
fn spin(turns: u64) -> u64 {
    unsafe {
        std::arch::asm!(
            ".p2align 6",
            "2:",
            "dec {turns}",
            "jnz 2b",
            turns = inout(reg) turns => _,
        );
    }
    turns
}

#[inline(never)]
fn f70(unit: u64) -> u64 {
    black_box(spin(7 * unit))
}

#[inline(never)]
fn f20(unit: u64) -> u64 {
    black_box(spin(2 * unit))
}

#[inline(never)]
fn f10(unit: u64) -> u64 {
    black_box(spin(unit))
}

/// A tenth of a round, of which none is as long as the one before: they don't fall in step with the sampling.
fn next_unit() -> u64 {
    static SEED: AtomicU64 = AtomicU64::new(1);
    let seed = SEED
        .load(Ordering::Relaxed)
        .wrapping_mul(6364136223846793005)
        .wrapping_add(1442695040888963407);
    SEED.store(seed, Ordering::Relaxed);
    MILLISECOND / 10 + (seed >> 33) % (MILLISECOND / 10)
}

#[inline(never)]
fn split() -> u64 {
    let unit = next_unit();
    f70(unit) ^ f20(unit) ^ f10(unit)
}

#[inline(never)]
fn dig(depth: u32) -> u64 {
    if black_box(depth) == 0 {
        return black_box(spin(MILLISECOND));
    }
    black_box(dig(depth - 1)) + 1
}

/// What runs while a panic unwinds.
struct Guard<'a>(&'a AtomicU64);

impl Drop for Guard<'_> {
    #[inline(never)]
    fn drop(&mut self) {
        self.0.fetch_add(spin(MILLISECOND / 10), Ordering::Relaxed);
    }
}

#[inline(never)]
fn panics(depth: u32, drops: &AtomicU64) -> u64 {
    let _guard = Guard(drops);
    if black_box(depth) == 0 {
        panic!("at the bottom");
    }
    black_box(panics(depth - 1, drops)) + 1
}

#[inline(never)]
fn catches() -> u64 {
    let drops = AtomicU64::new(0);
    let caught = panic::catch_unwind(panic::AssertUnwindSafe(|| panics(10, &drops)));
    drops.load(Ordering::Relaxed) ^ caught.unwrap_or(0) ^ f10(MILLISECOND / 10)
}

mod shapes {
    use super::{black_box, spin, MILLISECOND};

    pub trait Shape {
        fn area(&self) -> u64;
        /// Not overridden: its code is the trait's.
        #[inline(never)]
        fn doubled(&self) -> u64 {
            2 * self.area()
        }
    }

    pub struct Square(pub u64);
    pub struct Pair<A, B>(pub A, pub B);

    impl Shape for Square {
        #[inline(never)]
        fn area(&self) -> u64 {
            black_box(spin(MILLISECOND / 10)) ^ self.0
        }
    }

    impl<A: Shape, B: Shape> Shape for Pair<A, B> {
        #[inline(never)]
        fn area(&self) -> u64 {
            black_box(self.0.area()) + black_box(self.1.doubled())
        }
    }

    impl<A, B> Pair<A, B> {
        #[inline(never)]
        pub fn visit<F: Fn(&A) -> u64>(&self, visitor: F) -> u64 {
            black_box(visitor(&self.0)) + 1
        }
    }
}

#[inline(never)]
fn all_shapes() -> u64 {
    use shapes::{Pair, Shape, Square};

    let objects: Vec<Box<dyn Shape>> = vec![
        Box::new(Square(3)),
        Box::new(Pair(Square(1), Pair(Square(2), Square(3)))),
    ];
    let boxed: Box<dyn Fn(u64) -> u64> = Box::new(|x| black_box(spin(MILLISECOND / 10)) ^ x);
    let sum: u64 = objects.iter().map(|object| object.doubled()).sum();
    let pair = Pair(Square(4), 5u8);

    sum + boxed(black_box(1)) + pair.visit(|square| square.area())
}

/// Is not ready the first time, so that whoever awaits it is polled again.
struct Once(bool);

impl Future for Once {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

struct Unparks(thread::Thread);

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

type Boxed = Pin<Box<dyn Future<Output = u64>>>;

/// Whoever awaits the result calls its poll(), which is not a part of the caller's then.
#[inline(never)]
fn boxed<F: Future<Output = u64> + 'static>(future: F) -> Boxed {
    Box::pin(future)
}

async fn innermost(value: u64) -> u64 {
    Once(false).await;
    black_box(spin(MILLISECOND)) ^ value
}

async fn middle(value: u64) -> u64 {
    let block = async move { boxed(innermost(value)).await + 1 };
    boxed(block).await + 1
}

async fn outer(depth: u32) -> u64 {
    if depth == 0 {
        boxed(middle(1)).await
    } else {
        again(depth - 1).await + 1
    }
}

/// Recursion needs a box: the size of a future is known when it is compiled.
fn again(depth: u32) -> Boxed {
    boxed(outer(depth))
}

#[inline(never)]
fn block_on(mut future: Boxed) -> u64 {
    let waker = Waker::from(Arc::new(Unparks(thread::current())));
    let mut context = Context::from_waker(&waker);

    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

fn main() {
    let arguments: Vec<String> = env::args().collect();
    let seconds: f64 = arguments.get(1).and_then(|s| s.parse().ok()).unwrap_or(2.0);
    let end = Instant::now() + Duration::from_secs_f64(seconds.clamp(0.0, 120.0));
    let work: fn() -> u64 = match arguments.get(2).map(String::as_str) {
        None => split,
        Some("deep") => || dig(500),
        Some("panics") => catches,
        Some("async") => || block_on(again(3)),
        Some("shapes") => all_shapes,
        Some(_) => process::exit(2),
    };
    let mut sum = 0u64;

    panic::set_hook(Box::new(|_| {}));
    println!("ready");
    let worker = thread::spawn(move || {
        while Instant::now() < end {
            sum ^= work();
        }
        sum
    });
    println!("{}", worker.join().unwrap_or(0));
}
