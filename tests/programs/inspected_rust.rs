// SPDX-License-Identifier: Apache-2.0

// Calls a function for stackcam inspect: an enumeration with values, options, lists, and a result that is an error.
#![allow(dead_code)]

pub enum State {
    Open,
    Paid(u32),
    Sent { to: String, weight: f64 },
    Lost(i16, bool),
}

pub struct Line {
    text: &'static str,
    count: Option<u32>,
}

pub struct Order {
    id: u32,
    state: State,
    lines: Vec<Line>,
    password: String,
}

#[inline(never)]
pub fn handle(order: &Order, limit: Option<u32>) -> Result<u32, String> {
    match &order.state {
        State::Sent { to, weight } if to.len() as f64 > *weight => Err("too late".to_string()),
        State::Lost(n, good) if !good => Err(n.to_string()),
        _ => Ok(order.id + limit.unwrap_or(0)),
    }
}

fn main() {
    let rounds: u32 = std::env::args().nth(1).unwrap().parse().unwrap();

    for id in 0..rounds {
        let state = match id % 4 {
            0 => State::Open,
            1 => State::Paid(id),
            2 => State::Sent { to: "town".to_string(), weight: 2.5 },
            _ => State::Lost(id as i16, true),
        };
        let lines = vec![Line { text: "one", count: None }, Line { text: "two", count: Some(id) }];
        let order = Order { id, state, lines, password: "hidden".to_string() };

        if let Err(words) = handle(&order, if id % 2 == 1 { Some(id) } else { None }) {
            println!("{words}");
        }
    }
    println!("done");
}
