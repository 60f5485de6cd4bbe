// SPDX-License-Identifier: Apache-2.0

// Prints its variables, as an object of JSON, on lines that stackcam inspect shows: shadowed ones, those of closures, of
// matches and of loops.

pub struct Order {
    id: u32,
    name: String,
    lines: Vec<u32>,
}

#[inline(never)]
pub fn sum(order: &Order, extra: u32, limit: Option<u32>) -> u32 {
    let mut total = 0;
    for (i, line) in order.lines.iter().enumerate() {
        let more = line * extra;
        println!("{{\"place\": \"loop\", \"i\": {}, \"more\": {}, \"extra\": {}}}", i, more, extra); // loop
        total += more;
    }
    let total = u64::from(total) + 5_000_000_000;
    println!("{{\"place\": \"shadow\", \"total\": {}, \"extra\": {}}}", total, extra); // shadow
    if let Some(most) = limit {
        println!("{{\"place\": \"some\", \"most\": {}}}", most); // some
    }
    (total % 1000) as u32
}

fn main() {
    let rounds: u32 = std::env::args().nth(1).unwrap().parse().unwrap();
    let mut all = 0;

    for id in 0..rounds {
        let order = Order { id, name: format!("order {}", id), lines: vec![id, id + 1, id + 2] };
        all += sum(&order, id * 10, if id % 2 == 1 { Some(id) } else { None });
        all += order.id + order.name.len() as u32;
    }
    if all == 1 {
        std::process::exit(1);
    }
}
