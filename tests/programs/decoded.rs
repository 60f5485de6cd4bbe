// SPDX-License-Identifier: Apache-2.0

// Calls functions with types of the library for stackcam inspect, and prints each call with its arguments as JSON, one
// a line: {"name": …, "args": […]}
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex};

pub struct Point {
    x: i32,
    y: i32,
    label: String,
}

pub struct Nothing;

pub enum Shape {
    Empty,
    Circle(f64),
    Named { name: String, sides: u32 },
}

/* -- values as JSON, as inspect shows them -------------------------------------------------------------------------- */

trait Json {
    fn json(&self) -> String;
    fn key(&self) -> String {
        format!("\"{}\"", self.json())
    }
}

fn list<'a, T: Json + 'a>(all: impl Iterator<Item = &'a T>) -> String {
    format!("[{}]", all.map(|one| one.json()).collect::<Vec<_>>().join(", "))
}

fn map<'a, K: Json + 'a, V: Json + 'a>(all: impl Iterator<Item = (&'a K, &'a V)>) -> String {
    format!("{{{}}}", all.map(|(k, v)| format!("{}: {}", k.key(), v.json())).collect::<Vec<_>>().join(", "))
}

macro_rules! number {
    ($($t:ty),*) => {$(impl Json for $t {
        fn json(&self) -> String {
            self.to_string()
        }
    })*};
}
number!(i32, u32, u64, i64, bool, u8);

macro_rules! stands_for {
    ($($t:ty),*) => {$(impl<T: Json> Json for $t {
        fn json(&self) -> String {
            (**self).json()
        }
    })*};
}
stands_for!(Box<T>, Rc<T>, Arc<T>);

impl Json for f64 {
    fn json(&self) -> String {
        format!("{self:?}")
    }
}
impl Json for str {
    fn json(&self) -> String {
        let mut text = String::from("\"");
        for c in self.chars() {
            match c {
                '"' | '\\' => text.extend(['\\', c]),
                c if c < ' ' => text += &format!("\\u{:04x}", c as u32),
                c => text.push(c),
            }
        }
        text + "\""
    }
    fn key(&self) -> String {
        self.json()
    }
}
impl Json for String {
    fn json(&self) -> String {
        self.as_str().json()
    }
    fn key(&self) -> String {
        self.as_str().json()
    }
}
impl Json for &str {
    fn json(&self) -> String {
        (**self).json()
    }
    fn key(&self) -> String {
        (**self).json()
    }
}
impl Json for Rc<str> {
    fn json(&self) -> String {
        (**self).json()
    }
}
impl Json for () {
    fn json(&self) -> String {
        "[]".to_string()
    }
}
impl Json for Nothing {
    fn json(&self) -> String {
        "{}".to_string()
    }
}
impl Json for Point {
    fn json(&self) -> String {
        format!("{{\"x\": {}, \"y\": {}, \"label\": {}}}", self.x, self.y, self.label.json())
    }
}
impl Json for Shape {
    fn json(&self) -> String {
        match self {
            Shape::Empty => "\"Empty\"".to_string(),
            Shape::Circle(radius) => format!("{{\"Circle\": {}}}", radius.json()),
            Shape::Named { name, sides } => format!("{{\"Named\": {{\"name\": {}, \"sides\": {sides}}}}}", name.json()),
        }
    }
}
impl<T: Json> Json for Option<T> {
    fn json(&self) -> String {
        self.as_ref().map_or("null".to_string(), |one| one.json())
    }
}
impl<T: Json, E: Json> Json for Result<T, E> {
    fn json(&self) -> String {
        match self {
            Ok(one) => format!("{{\"Ok\": {}}}", one.json()),
            Err(one) => format!("{{\"Err\": {}}}", one.json()),
        }
    }
}
impl<T: Json> Json for [T] {
    fn json(&self) -> String {
        list(self.iter())
    }
}
impl<T: Json> Json for Vec<T> {
    fn json(&self) -> String {
        list(self.iter())
    }
}
impl<T: Json> Json for VecDeque<T> {
    fn json(&self) -> String {
        list(self.iter())
    }
}
impl<T: Json> Json for LinkedList<T> {
    fn json(&self) -> String {
        list(self.iter())
    }
}
impl<T: Json> Json for Weak<T> {
    fn json(&self) -> String {
        self.upgrade().map_or("null".to_string(), |one| one.json())
    }
}
impl<T: Json> Json for HashSet<T> {
    fn json(&self) -> String {
        list(self.iter())
    }
}
impl<T: Json> Json for BTreeSet<T> {
    fn json(&self) -> String {
        list(self.iter())
    }
}
impl<K: Json, V: Json> Json for HashMap<K, V> {
    fn json(&self) -> String {
        map(self.iter())
    }
}
impl<K: Json, V: Json> Json for BTreeMap<K, V> {
    fn json(&self) -> String {
        map(self.iter())
    }
}
impl<T: Json + Copy> Json for Cell<T> {
    fn json(&self) -> String {
        self.get().json()
    }
}
impl<T: Json> Json for RefCell<T> {
    fn json(&self) -> String {
        self.borrow().json()
    }
}
impl<T: Json> Json for Mutex<T> {
    fn json(&self) -> String {
        self.lock().unwrap().json()
    }
}
impl<A: Json, B: Json> Json for (A, B) {
    fn json(&self) -> String {
        format!("[{}, {}]", self.0.json(), self.1.json())
    }
}

/* -- what is called ------------------------------------------------------------------------------------------------- */

/* It is read, for all that the compiler knows. */
#[inline(always)]
fn read<T: ?Sized>(value: &T) {
    unsafe { std::arch::asm!("/* {0} */", in(reg) value as *const T as *const u8) };
}

macro_rules! functions {
    ($($name:ident($($arg:ident: $type:ty),*))*) => {$(
        #[inline(never)]
        pub fn $name($($arg: &$type),*) {
            $(read($arg);)*
        }
    )*};
}

functions! {
    pointers(r: Rc<Point>, a: Arc<String>, b: Box<Point>, s: Rc<str>, all: Vec<Rc<u32>>)
    texts(s: String, t: &str, v: Vec<String>)
    units(u: (), n: Nothing, o: Option<()>, v: Vec<()>, t: (i32, ()))
    choices(o: Option<String>, r: Result<u32, String>, s: Shape, p: Option<Box<Point>>)
    cells(c: Cell<u32>, r: RefCell<String>, m: Mutex<Point>, rc: Rc<RefCell<u64>>)
    weak(w: Weak<String>, gone: Weak<String>, never: Weak<u32>)
    nested(v: Vec<Vec<u32>>, m: BTreeMap<u32, Vec<u32>>, l: LinkedList<(u32, String)>, o: Vec<Option<String>>)
    rings(d: VecDeque<u32>, s: VecDeque<String>)
    hashes(m: HashMap<String, u32>, n: HashMap<u64, String>, s: HashSet<i64>)
    trees(m: BTreeMap<u32, String>, n: BTreeMap<String, u32>, s: BTreeSet<i64>)
}

macro_rules! call {
    ($name:ident($($arg:expr),*)) => {
        let all = [$($arg.json()),*];
        println!("{{\"name\": \"{}\", \"args\": [{}]}}", stringify!($name), all.join(", "));
        $name($($arg),*);
    };
}

fn name(n: u32) -> String {
    if n % 2 == 1 { format!("n{n}") } else { format!("a name of some length, number {n}") }
}

fn point(n: u32) -> Point {
    Point { x: n as i32, y: -(n as i32), label: name(n) }
}

fn call_all(n: u32) {
    let all: Vec<Rc<u32>> = (0..n).map(Rc::new).collect();
    let s: Rc<str> = Rc::from(name(n));
    call!(pointers(&Rc::new(point(n)), &Arc::new(name(n)), &Box::new(point(n + 1)), &s, &all));

    let owned: Vec<String> = (0..n).map(name).collect();
    call!(texts(&name(n), &"a \"quoted\" \\ one\n", &owned));
    call!(units(&(), &Nothing, &if n % 2 == 0 { Some(()) } else { None }, &vec![(); n as usize], &(n as i32, ())));

    let shape = match n % 3 {
        0 => Shape::Empty,
        1 => Shape::Circle(n as f64 / 4.0),
        _ => Shape::Named { name: name(n), sides: n },
    };
    let result = if n % 2 == 0 { Ok(n) } else { Err(name(n)) };
    call!(choices(&(n % 3 > 0).then(|| name(n)), &result, &shape, &(n % 4 > 0).then(|| Box::new(point(n)))));
    call!(cells(&Cell::new(n), &RefCell::new(name(n)), &Mutex::new(point(n)), &Rc::new(RefCell::new(n as u64))));

    let owned = Rc::new(name(n));
    let gone = Rc::downgrade(&Rc::new(name(n + 1)));
    call!(weak(&Rc::downgrade(&owned), &gone, &Weak::<u32>::new()));
    let lists: BTreeMap<u32, Vec<u32>> = [(n, vec![1, 2]), (n + 1, vec![])].into_iter().collect();
    let linked: LinkedList<(u32, String)> = (0..n).map(|i| (i, name(i))).collect();
    call!(nested(&vec![vec![1, n], vec![], vec![3]], &lists, &linked, &vec![None, Some(name(n))]));

    let mut ring: VecDeque<u32> = VecDeque::with_capacity(8);
    let mut names: VecDeque<String> = VecDeque::new();
    for i in 0..n + 3 {
        ring.push_back(i);
        names.push_back(name(i));
        if i < 3 {
            ring.pop_front();
            names.pop_front();
        }
    }
    if n == 7 {
        names.push_front(name(100));
        ring.push_front(100);
    }
    call!(rings(&ring, &names));

    let hashed: HashMap<String, u32> = (0..n).map(|i| (name(i), i)).collect();
    let by_number: HashMap<u64, String> = (0..n).map(|i| (i as u64, name(i))).collect();
    let numbers: HashSet<i64> = (0..n).map(|i| i as i64 * 1000).collect();
    call!(hashes(&hashed, &by_number, &numbers));

    let by_number: BTreeMap<u32, String> = (0..n).map(|i| (i, name(i))).collect();
    let by_name: BTreeMap<String, u32> = (0..n).map(|i| (name(i), i)).collect();
    let numbers: BTreeSet<i64> = (0..n).map(|i| i as i64 * 1000).collect();
    call!(trees(&by_number, &by_name, &numbers));
}

fn main() {
    for n in [0, 1, 2, 3, 4, 7, 11, 12, 16, 20, 70] {
        call_all(n);
    }
}
