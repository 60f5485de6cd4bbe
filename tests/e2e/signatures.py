# SPDX-License-Identifier: Apache-2.0
"""Generates programs that call functions of many signatures with values that are known, in C, C++, Go and Rust."""

import random
import re

STRUCT_C = {  # name: members
    "Small": [("x", "int"), ("y", "short")],
    "Mixed": [("d", "double"), ("n", "long")],
    "Tiny": [("c", "signed char")],
    "Pair": [("a", "unsigned long"), ("b", "unsigned")],
    "Large": [("k", "int"), ("s", "char *"), ("f", "float"), ("v", "short[3]")],
    "Floats": [("p", "float"), ("q", "float")],
}
INTS_C = {"signed char": 8, "short": 16, "int": 32, "long": 64, "long long": 64}
SCALARS_C = [*INTS_C, *(f"unsigned {t}" for t in ("char", "short", "int", "long")), "_Bool", "double", "float",
             "enum Color", "char *", "int *"]
COLORS = {"RED": 0, "GREEN": 7, "BLUE": -3}


class Value:
    """A value of a type: how the source writes it, and how inspect must show it."""

    def __init__(self, text, shown):
        self.text, self.shown = text, shown


class MakerC:
    """C, or C++ with plain: false."""

    def __init__(self, seed, is_cpp=False):
        self.random, self.is_cpp = random.Random(seed), is_cpp

    def value(self, kind):
        r = self.random
        if kind in STRUCT_C:
            parts = [(name, self.value(t)) for name, t in STRUCT_C[kind]]
            return Value("{" + ", ".join(p.text for _, p in parts) + "}", {n: p.shown for n, p in parts})
        if kind.endswith("[3]"):
            parts = [self.value(kind[:-3]) for _ in range(3)]
            return Value("{" + ", ".join(p.text for p in parts) + "}", [p.shown for p in parts])
        if kind == "_Bool":
            b = r.random() < 0.5
            return Value(str(int(b)), b)
        if kind in ("double", "float"):
            n = r.randrange(-1000, 1000) / 8
            return Value(repr(n), n)
        if kind.startswith("enum"):
            name = r.choice(list(COLORS))
            return Value(name, name)
        if kind == "char *":
            if r.random() < 0.1:
                return Value("0", None)
            text = "".join(r.choice("abc XYZ-19") for _ in range(r.randrange(0, 40)))
            return Value(f'(char *)"{text}"', text)
        if kind == "int *":
            if r.random() < 0.2:
                return Value("0", None)
            n = r.randrange(-2**31 + 1, 2**31)
            return Value(f"at({n})", n)
        bits = {"unsigned char": 8, "unsigned short": 16, "unsigned int": 32, "unsigned": 32,
                "unsigned long": 64}.get(kind)
        if bits:
            n = r.randrange(2**bits)
            return Value(f"{n}u" + ("l" if bits == 64 else ""), n)
        bits = INTS_C[kind]
        n = r.randrange(-2**(bits - 1) + 1, 2**(bits - 1))
        return Value(f"{n}" + ("l" if bits == 64 else ""), n)

    def type(self, name):
        return f"struct {name}" if name in STRUCT_C else name

    def declare(self, kind, name):
        if kind.endswith("[3]"):
            return f"{kind[:-3]} {name}[3]"
        return f"{self.type(kind)} {name}"

    def program(self, functions, calls=1):
        r, lines, expected = self.random, ["#include <stdlib.h>"], {}
        if self.is_cpp:
            lines.append("#define _Bool bool")
        lines.append("enum Color { " + ", ".join(f"{k} = {v}" for k, v in COLORS.items()) + " };")
        for name, members in STRUCT_C.items():
            lines.append(f"struct {name} {{ " + " ".join(self.declare(t, n) + ";" for n, t in members) + " };")
        lines += ["volatile unsigned long sink;",
                  "int *at(int n);", "int *at(int n) { int *p = (int *)malloc(sizeof(n)); *p = n; return p; }",
                  "void use(const void *p, unsigned long n);",
                  "void use(const void *p, unsigned long n) { for (unsigned long i = 0; i < n; i++) "
                  "sink += ((const unsigned char *)p)[i]; }"]
        body = []
        for i in range(functions):
            kinds = [r.choice(SCALARS_C * 2 + list(STRUCT_C)) for _ in range(r.randrange(0, 9))]
            back = r.choice([*SCALARS_C, *STRUCT_C, "void"])
            name, params = f"f{i}", ", ".join(self.declare(k, f"p{n}") for n, k in enumerate(kinds)) or "void"
            values = [self.value(k) for k in kinds]
            result = None if back == "void" else self.value(back)
            lines.append(f"{self.type(back)} {name}({params});")
            lines.append(f"__attribute__((noinline)) {self.type(back)} {name}({params}) {{\n\tsink++;")
            for n, kind in enumerate(kinds):
                if r.random() < 0.5:
                    lines.append(f"\tuse(&p{n}, sizeof(p{n}));")
                else:
                    lines.append(f"\t{{ volatile {self.type(kind)} *q = (volatile {self.type(kind)} *)&p{n}; "
                                 f"sink += *(volatile char *)q; }}")
            if result:
                lines.append(f"\t{self.type(back)} r = {result.text};")
                lines.append("\treturn r;")
            lines.append("}")
            for n, (kind, value) in enumerate(zip(kinds, values)):
                body.append(f"\t{{ {self.type(kind)} v = {value.text}; a{i}_{n} = v; }}")
                lines.append(f"static {self.type(kind)} a{i}_{n};")
            body.append(f"\t{name}(" + ", ".join(f"a{i}_{n}" for n in range(len(kinds))) + ");")
            expected[name] = ([v.shown for v in values], result and [result.shown])
        lines += ["int main(void)", "{", f"\tfor (int i = 0; i < {calls}; i++) {{", *body, "\t}", "\treturn 0;", "}"]
        return "\n".join(lines) + "\n", expected


STRUCT_GO = {
    "Point": [("X", "int8"), ("Y", "int32"), ("Z", "int64")],
    "Named": [("Name", "string"), ("N", "uint16")],
    "Deep": [("P", "Point"), ("L", "[]int32"), ("F", "float64")],
    "One": [("A", "[1]uint8"), ("B", "bool")],
}
INTS_GO = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "int": 64}
UINTS_GO = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64, "uintptr": 64}
KINDS_GO = [*INTS_GO, *UINTS_GO, "bool", "string", "float64", "float32", "[]int", "[]string", "[2]int16", "[1]int32",
            *STRUCT_GO, "*Named", "*Point", "*int", "error", "any", "map[string]int32", "map[int16]Named", "map[Point]bool",
            "chan int", "*complex128", "complex64"]
HELD_GO = ["int", "string", "float64", "Point", "*Named", "bool", "uint8"]  # by values of type any


class MakerGo:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def value(self, kind):
        r = self.random
        if kind in INTS_GO:
            n = r.randrange(-2**(INTS_GO[kind] - 1), 2**(INTS_GO[kind] - 1))
            return Value(f"{kind}({n})", n)
        if kind in UINTS_GO:
            n = r.randrange(2**UINTS_GO[kind])
            return Value(f"{kind}({n})", n)
        if kind == "bool":
            b = r.random() < 0.5
            return Value(str(b).lower(), b)
        if kind == "string":
            text = "".join(r.choice("abc äß XYZ-19") for _ in range(r.randrange(0, 40)))
            return Value(f'"{text}"', text)
        if kind in ("float64", "float32"):
            n = r.randrange(-1000, 1000) / 8
            return Value(f"{kind}({n})", n)
        if kind == "error":
            if r.random() < 0.5:
                return Value("error(nil)", None)
            text = self.value("string")
            return Value(f"errors.New({text.text})", {"*errors.errorString": {"s": text.shown}})
        if kind == "any":
            if r.random() < 0.2:
                return Value("interface{}(nil)", None)
            held = r.choice(HELD_GO)
            value = self.value(held)
            if value.shown is None:  # an interface of a nil pointer holds its type
                return Value("interface{}(nil)", None)
            name = held if held.strip("*") not in STRUCT_GO else "*main.Named" if held == "*Named" else f"main.{held}"
            return Value(f"interface{{}}({value.text})", {name: value.shown})
        if kind.startswith("map["):
            key, inner = kind[4:].split("]", 1)
            entries = {}
            for _ in range(r.randrange(0, 6)):
                one = self.value(key)
                entries[one.text] = (one, self.value(inner))
            text = f"{kind}{{" + ", ".join(f"{k}: {v.text}" for k, (_, v) in entries.items()) + "}"
            if key in STRUCT_GO:  # entries have no order
                entries = dict(list(entries.items())[:1])
                text = f"{kind}{{" + ", ".join(f"{k}: {v.text}" for k, (_, v) in entries.items()) + "}"
                return Value(text, [[k.shown, v.shown] for k, v in entries.values()] or {})
            return Value(text, {str(k.shown): v.shown for k, v in entries.values()})
        if kind == "chan int":
            n = r.randrange(0, 5)
            return Value(f"make(chan int, {n})", {"len": 0, "cap": n})
        if kind == "complex64":
            return Value("complex64(1)", {"real": 1, "imag": 0})
        if kind == "*complex128":
            a, b = r.randrange(-80, 80) / 8, r.randrange(-80, 80) / 8
            return Value(f"at(complex({a}, {b}))", {"real": a, "imag": b})
        if kind[0] == "*":
            if r.random() < 0.2:
                return Value(f"({kind})(nil)", None)
            inner = self.value(kind[1:])
            return Value(f"at({inner.text})", inner.shown)
        if kind[0] == "[":
            count, inner = kind[1:].split("]", 1)
            parts = [self.value(inner) for _ in range(int(count) if count else r.randrange(0, 6))]
            return Value(kind + "{" + ", ".join(p.text for p in parts) + "}", [p.shown for p in parts])
        parts = [(name, self.value(t)) for name, t in STRUCT_GO[kind]]
        return Value(kind + "{" + ", ".join(p.text for _, p in parts) + "}", {n: p.shown for n, p in parts})

    def program(self, functions, calls=1):
        r, expected = self.random, {}
        lines = ["package main", 'import "errors"', "type any = interface{}", "var sink interface{}", "var count int",
                 'var unused = errors.New("")']
        lines += [f"type {name} struct {{ " + "; ".join(f"{n} {t}" for n, t in members) + " }"
                  for name, members in STRUCT_GO.items()]
        for kind in ("int", "Named", "Point"):
            lines.append(f"type at_{kind} = *{kind}")
        lines.append("func at[T any](v T) *T { return &v }")
        lines.append("//go:noinline\nfunc use(v ...interface{}) { sink = v }")
        body = []
        for i in range(functions):
            kinds = [r.choice(KINDS_GO) for _ in range(r.randrange(0, 8))]
            backs = [r.choice(KINDS_GO) for _ in range(r.randrange(0, 4))]
            values, results = [self.value(k) for k in kinds], [self.value(k) for k in backs]
            params = ", ".join(f"p{n} {k}" for n, k in enumerate(kinds))
            lines.append(f"//go:noinline\nfunc f{i}({params}) ({', '.join(backs)}) {{\n\tcount++")
            if r.random() < 0.5:
                lines.append("\tuse(" + ", ".join(f"p{n}" for n in range(len(kinds))) + ")")
            lines += ["\treturn " + ", ".join(v.text for v in results), "}"]
            body.append(f"\t\tf{i}(" + ", ".join(v.text for v in values) + ")")
            expected[f"main.f{i}"] = ([v.shown for v in values], [v.shown for v in results])
        lines += ["func main() {", f"\tfor i := 0; i < {calls}; i++ {{", *body, "\t}", "}"]
        return "\n".join(lines) + "\n", expected


ARGUMENTS_GO = ["int", "int8", "uint16", "string", "bool", "float64", "float32", "Point", "Named", "Deep", "Ref", "[]int",
                "[2]int16", "[1]int32", "map[string]int32", "any", "error", "uint64", "One"]  # of types
OF_TYPES_GO = ["T", "U", "[]T", "*U", "map[string]T", "[2]U", "[1]T", "Pair[T,U]", "*Pair[U,T]", "Box[T]", "Box[Pair[T,U]]"]
RECEIVERS_GO = ["struct { A T; N int16; B U }", "struct { P *T; L []U }", "[]T", "map[string]U", "int64", "float64", "string",
                "[3]T", "struct { A, B, C, D, E, F, G, H, I int; T T; u *U }", "struct { Box[T]; u *U }"]
GENERIC_GO = r"re:^main[.].*\b[gRE][0-9]+\b"  # the functions of MakerGoGeneric's programs
WAYS_GO = ["plain", "interface", "value", "expression", "embedded"]  # how a method is called


def without_types(name):
    """The name of a function of Go without the arguments of types: "main.(*R1).M"."""
    return re.sub(r"\[[^\[\]]*\]", "", name) if "[" not in re.sub(r"\[[^\[\]]*\]", "", name) else \
        without_types(re.sub(r"\[[^\[\]]*\]", "", name))


class Opaque:
    """A pointer whose type is an argument of a type: shown as an address, as all pointers are of one shape."""

    def __init__(self, target):
        self.target = target

    def __eq__(self, shown):
        return shown == self.target or (isinstance(shown, str) and re.fullmatch("0x[0-9a-f]+", shown) is not None)

    def __repr__(self):
        return f"a pointer to {self.target}"


class Expected:
    """Of calls of one function: the receiver (None: it has none), parameters with their names, and results (None: any)."""

    def __init__(self, receiver, names, values, results):
        self.receiver, self.names, self.values, self.results = receiver, names, values, results

    def pairs(self, shown):
        """What is expected and what is shown of the arguments. Parameters without a name may be missing."""
        receivers = [one for one in shown if one["name"] in ("r", ".this")]
        others = [one for one in shown if one["name"] not in ("r", ".this")]
        yield from ((self.receiver, one) for one in receivers)
        if len(others) == len(self.names):
            yield from zip(self.values, others)
        else:
            yield from ((self.values[self.names.index(one["name"])], one) for one in others)


class MakerGoGeneric(MakerGo):
    """
    Generic functions, methods and closures, called directly, through interfaces, as values and embedded, and functions with
    parameters without a name. What is expected is by the function's name without types, an Expected.
    """

    def value(self, kind):
        if kind == "Ref":
            value = self.value("Named")
            return Value(f"at({value.text})", Opaque(value.shown))
        if kind.startswith(("Pair[", "Box[")):
            first, second = {"Pair": "A", "Box": "V"}[kind.split("[")[0]], "B"
            parts, depth = [""], 0
            for c in kind[kind.index("[") + 1:-1]:
                depth += (c == "[") - (c == "]")
                if c == "," and not depth:
                    parts.append("")
                else:
                    parts[-1] += c
            values = dict(zip((first, second), map(self.value, parts)))
            return Value(f"{kind}{{" + ", ".join(v.text for v in values.values()) + "}", {n: v.shown for n, v in values.items()})
        return super().value(kind)

    def kinds(self, most):
        r = self.random
        return [r.choice(OF_TYPES_GO if r.random() < 0.6 else KINDS_GO) for _ in range(r.randrange(0, most))]

    def concrete(self, kind, types):
        return re.sub(r"\b[TU]\b", lambda match: types[match.group()], kind)

    def body(self, names, values):
        """Statements that keep, move or ignore the parameters, and the return."""
        r, lines = self.random, ["count++"]
        for name in names:
            chance = r.random()
            if chance < 0.3:
                lines.append(f"use({name})")
            elif chance < 0.45:  # it is moved to the heap
                lines.append(f"sink = &{name}")
            elif chance < 0.55:
                lines.append(f"defer use({name})")
        return "\n\t".join([*lines, "return " + ", ".join(values)])

    def signature(self, types, most):
        """Kinds, names and values of parameters and results, as the source has them."""
        r, kinds, backs = self.random, self.kinds(most), self.kinds(3)
        names = ["_" if r.random() < 0.12 else f"p{n}" for n in range(len(kinds))]
        params = ", ".join(f"{name} {kind}" for name, kind in zip(names, kinds))
        values = [self.value(self.concrete(kind, types)) for kind in kinds]
        # what a generic function returns, it has got from elsewhere
        results = [self.value(self.concrete(kind, types)) for kind in backs]
        return params, backs, names, values, results

    def function(self, i, lines, body, expected):
        r, types = self.random, {name: self.random.choice(ARGUMENTS_GO) for name in "TU"}
        params, backs, names, values, results = self.signature(types, 7)
        made = "[" + types["T"] + ", " + types["U"] + "]"
        named = [name for name in names if name != "_"]
        shown = [value.shown for value in values]
        has_closure = r.random() < 0.3
        for n, (kind, value) in enumerate(zip(backs, results)):
            lines.append(f"var back{i}_{n} interface{{}} = box{{&[]{self.concrete(kind, types)}{{{value.text}}}[0]}}")
        returned = [f"*back{i}_{n}.(box).p.(*{kind})" for n, kind in enumerate(backs)]
        if has_closure:
            inner, _, inner_names, inner_values, _ = self.signature(types, 5)
            text = self.body([n for n in inner_names if n != "_"], [])
            lines.append(f"//go:noinline\nfunc g{i}[T, U any]({params}) func({inner}) {{\n\tvar t T\n\treturn func({inner}) {{ use(t); "
                         + text.replace("\n\t", "; ") + " }\n}")
            body.append(f"g{i}{made}(" + ", ".join(v.text for v in values) + ")(" + ", ".join(v.text for v in inner_values) + ")")
            expected[f"main.g{i}"] = Expected(None, names, shown, None)
            expected[f"main.g{i}.func1"] = Expected(None, inner_names, [value.shown for value in inner_values], [])
            return
        inlined = r.random() < 0.2  # somewhere; also called
        text = self.body([] if inlined else named, returned)
        lines.append(("" if inlined else "//go:noinline\n") + f"func g{i}[T, U any]({params}) ({', '.join(backs)}) {{\n\t{text}\n}}")
        call = "(" + ", ".join(v.text for v in values) + ")"
        if inlined or r.random() < 0.3:
            body.append(f"{{ f := g{i}{made}; if count < 0 {{ f = nil }}; f{call} }}")
        if not inlined:
            body.append(f"g{i}{made}{call}")
        expected[f"main.g{i}"] = Expected(None, names, shown, [v.shown for v in results])

    def method(self, i, lines, body, expected):
        r, types = self.random, {name: self.random.choice(ARGUMENTS_GO) for name in "TU"}
        kind, is_pointer, way = r.choice(RECEIVERS_GO), r.random() < 0.5, r.choice(WAYS_GO)
        params, backs, names, values, results = self.signature(types, 6)
        made = f"R{i}[" + types["T"] + ", " + types["U"] + "]"
        if kind.startswith("struct { A T"):
            a, n, b = self.value(types["T"]), self.value("int16"), self.value(types["U"])
            made_of, shown = f"{{{a.text}, {n.text}, {b.text}}}", {"A": a.shown, "N": n.shown, "B": b.shown}
        elif kind.startswith("struct { P"):
            p, inner = self.value("*" + types["T"]), self.value("[]" + types["U"])
            made_of, shown = f"{{{p.text}, {inner.text}}}", {"P": p.shown, "L": inner.shown}
        elif kind.startswith("struct { A, B"):
            numbers, t = [r.randrange(-99, 99) for _ in "ABCDEFGHI"], self.value(types["T"])
            made_of = "{" + ", ".join(map(str, numbers)) + f", {t.text}, nil}}"
            shown = {**dict(zip("ABCDEFGHI", numbers)), "T": t.shown, "u": None}
        elif kind.startswith("struct { Box"):
            t = self.value(f"Box[{types['T']}]")
            made_of, shown = f"{{{t.text}, nil}}", {"Box": t.shown, "u": None}
        else:
            one = self.value(self.concrete(kind, types))
            made_of, shown = f"({one.text})", one.shown
        receiver = "*" if is_pointer else ""
        for n, (back, value) in enumerate(zip(backs, results)):
            lines.append(f"var mback{i}_{n} interface{{}} = box{{&[]{self.concrete(back, types)}{{{value.text}}}[0]}}")
        text = self.body([n for n in ["r", *names] if n != "_"],
                         [f"*mback{i}_{n}.(box).p.(*{back})" for n, back in enumerate(backs)])
        lines.append(f"type R{i}[T, U any] {kind}")
        lines.append(f"type E{i}[T, U any] struct {{ K int; R{i}[T, U] }}")
        lines.append(f"type I{i}[T, U any] interface {{ M({params}) ({', '.join(backs)}) }}")
        lines.append(f"//go:noinline\nfunc (r {receiver}R{i}[T, U]) M({params}) ({', '.join(backs)}) {{\n\t{text}\n}}")
        call = "(" + ", ".join(v.text for v in values) + ")"
        of = "[" + types["T"] + ", " + types["U"] + "]"
        body.append(f"{{ r := {made}{made_of}; " + {
            "plain": f"r.M{call}", "value": f"f := r.M; if count < 0 {{ f = nil }}; f{call}",
            "expression": f"f := ({receiver}{made}).M; if count < 0 {{ f = nil }}; f({'&' * is_pointer}r{', ' * bool(values)}{call[1:]}",
            "interface": f"var x I{i}{of} = {'&' * is_pointer}r; if count < 0 {{ x = nil }}; x.M{call}",
            "embedded": f"e := E{i}{of}{{7, r}}; var x I{i}{of} = &e; if count < 0 {{ x = nil }}; x.M{call}"}[way] + " }")
        values, results = [v.shown for v in values], [v.shown for v in results]
        for name in (f"main.R{i}.M", f"main.(*R{i}).M", f"main.R{i}.M-fm", f"main.(*R{i}).M-fm"):
            expected[name] = Expected(shown, names, values, results)
        for name in (f"main.(*E{i}).M", f"main.E{i}.M"):
            expected[name] = Expected({"K": 7, f"R{i}": shown}, names, values, results)

    def program(self, functions, calls=1):
        r, expected, body = self.random, {}, []
        lines = ["package main", 'import "errors"', "type any = interface{}", "type box struct { p interface{} }",
                 "var sink interface{}", "var count int", 'var unused = errors.New("")',
                 "type Ref = *Named", "type Pair[A, B any] struct { A A; B B }", "type Box[V any] struct { V V }"]
        lines += [f"type {name} struct {{ " + "; ".join(f"{n} {t}" for n, t in members) + " }"
                  for name, members in STRUCT_GO.items()]
        lines.append("func at[T any](v T) *T { return &v }")
        lines.append("//go:noinline\nfunc use(v ...interface{}) { sink = v }")
        for i in range(functions):
            (self.method if r.random() < 0.5 else self.function)(i, lines, body, expected)
        lines += ["func main() {", f"\tfor i := 0; i < {calls}; i++ {{", *(f"\t\t{one}" for one in body), "\t}", "}"]
        return "\n".join(lines) + "\n", expected


STRUCT_RUST = {
    "Point": [("x", "i8"), ("y", "i32"), ("z", "i64")],
    "Named": [("name", "String"), ("n", "u16")],
    "Deep": [("p", "Point"), ("l", "Vec<i32>"), ("f", "f64")],
    "Few": [("a", "u8"), ("b", "bool"), ("c", "u8")],
    "Two": [("h", "u32"), ("l", "u32")],
    "Mixed": [("d", "f64"), ("k", "u32")],
    "Odd": [("a", "u32"), ("b", "u16"), ("c", "u8"), ("d", "i32")],
    "Floats": [("p", "f32"), ("q", "f32")],
}
TUPLE_RUST = {"Wrap": ["u32"], "Both": ["i16", "String"]}
ENUM_RUST = {  # name: variants with their parts
    "Shape": {"Unit": None, "One": ["u16"], "Pair": ["i32", "u8"], "Line": {"n": "String", "k": "i64"}, "Far": ["Box<Point>"]},
    "Small": {"No": None, "A": ["u32"], "B": ["u32"]},
    "Sides": {"L": ["u32"], "R": ["i32"]},
    "Uneven": {"L": ["u8"], "R": ["u64"]},
}
COLORS_RUST = ["Red", "Green", "Blue"]
INTS_RUST = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "isize": 64, "u8": 8, "u16": 16, "u32": 32, "u64": 64, "usize": 64}
KINDS_RUST = [*INTS_RUST, "bool", "char", "f32", "f64", "&'static str", "String", "&'static [i32]", "Vec<i32>", "Vec<String>",
              "Vec<Point>", "[i16; 2]", "[u8; 3]", "(u8, f64)", "(i32, u32)", "Color", "Box<Named>", "Box<i64>",
              "&'static Point", "Option<u32>", "Option<u8>", "Option<f64>", "Option<&'static str>", "Option<String>",
              "Option<Box<i64>>", "Option<&'static Point>", "Option<bool>", "Option<Option<bool>>", "Option<Point>",
              "Option<Shape>", "Option<char>", "Option<Two>", "Result<u64, String>", "Result<u32, u32>", "Result<i32, u32>",
              "Result<(), String>", "Result<(), u8>", "Result<String, Shape>", "Result<Vec<i32>, Color>", "Result<u8, f64>",
              "Option<(u32, u32)>", "Box<[u16]>", "()", *STRUCT_RUST, *TUPLE_RUST, *ENUM_RUST]


class MakerRust:
    """What inspect shows of Rust: enumerations as serde writes them, an option as its value or null."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def parts(self, kind):
        """The type arguments of a generic type."""
        text, depth, parts = kind[kind.index("<") + 1:-1], 0, [""]
        for c in text:
            depth += (c in "<(") - (c in ">)")
            if c == "," and not depth:
                parts.append("")
            else:
                parts[-1] += c
        return [part.strip() for part in parts]

    def fields(self, name, fields):
        """Of a structure or a variant: how it is made, and shown."""
        if fields is None:
            return Value(name, name.split("::")[-1])
        if isinstance(fields, dict):
            values = {k: self.value(t) for k, t in fields.items()}
            return Value(f"{name} {{ " + ", ".join(f"{k}: {v.text}" for k, v in values.items()) + " }",
                         {k: v.shown for k, v in values.items()})
        values = [self.value(t) for t in fields]
        return Value(f"{name}(" + ", ".join(v.text for v in values) + ")", [v.shown for v in values])

    def variant(self, path, name, fields):
        made = self.fields(f"{path}::{name}", fields)
        if fields is None:
            return made
        return Value(made.text, {name: made.shown[0] if isinstance(made.shown, list) and len(made.shown) == 1 else made.shown})

    def value(self, kind):
        r = self.random
        if kind in INTS_RUST:
            bits = INTS_RUST[kind]
            n = r.randrange(2**bits) if kind[0] == "u" else r.randrange(-2**(bits - 1) + 1, 2**(bits - 1))
            return Value(f"{n}{kind}", n)
        if kind == "()":
            return Value("()", [])
        if kind == "bool":
            b = r.random() < 0.5
            return Value(str(b).lower(), b)
        if kind == "char":
            c = r.choice("azZ0ß—")
            return Value(f"'{c}'", ord(c))
        if kind in ("f32", "f64"):
            n = r.randrange(-1000, 1000) / 8
            return Value(f"({n}{kind})", n)
        if kind in ("&'static str", "String"):
            text = "".join(r.choice("abc äß XYZ-19") for _ in range(r.randrange(0, 40)))
            return Value(f'"{text}"' + ("" if kind[0] == "&" else ".to_string()"), text)
        if kind == "Color":
            name = r.choice(COLORS_RUST)
            return Value(f"Color::{name}", name)
        if kind in STRUCT_RUST:
            return self.fields(kind, dict(STRUCT_RUST[kind]))
        if kind in TUPLE_RUST:
            return self.fields(kind, TUPLE_RUST[kind])
        if kind in ENUM_RUST:
            name = r.choice(list(ENUM_RUST[kind]))
            return self.variant(kind, name, ENUM_RUST[kind][name])
        if kind.startswith("Option<"):
            inner = self.parts(kind)[0]
            if r.random() < 0.3:
                return Value(f"(None::<{inner}>)", None)
            value = self.value(inner)
            return Value(f"Some({value.text})", {"Some": value.shown} if inner.startswith("Option<") else value.shown)
        if kind.startswith("Result<"):
            good, bad = self.parts(kind)
            name, inner = ("Ok", good) if r.random() < 0.5 else ("Err", bad)
            value = self.value(inner)
            return Value(f"(Result::<{good}, {bad}>::{name}({value.text}))", {name: value.shown})
        if kind.startswith(("Vec<", "&'static [", "Box<[")):
            inner = kind[kind.index("[") + 1:kind.index("]")] if "[" in kind else self.parts(kind)[0]
            values = [self.value(inner) for _ in range(r.randrange(0, 6))]
            text, shown = "vec![" + ", ".join(v.text for v in values) + "]", [v.shown for v in values]
            if not values:
                text = f"Vec::<{inner}>::new()"
            return Value(f"keep({text})" if kind[0] == "&" else f"{text}.into_boxed_slice()" if kind[0] == "B" else text, shown)
        if kind.startswith("Box<"):
            value = self.value(self.parts(kind)[0])
            return Value(f"Box::new({value.text})", value.shown)
        if kind.startswith("&'static "):
            value = self.value(kind[9:])
            return Value(f"leak({value.text})", value.shown)
        values = [self.value(t.strip()) for t in kind[1:-1].split(",")] if kind[0] == "(" else \
            [self.value(kind[1:kind.index(";")]) for _ in range(int(kind[kind.index(";") + 1:-1]))]
        return Value(kind[0] + ", ".join(v.text for v in values) + (")" if kind[0] == "(" else "]"), [v.shown for v in values])

    def declarations(self):
        for name, members in STRUCT_RUST.items():
            yield f"pub struct {name} {{ " + ", ".join(f"pub {n}: {t}" for n, t in members) + " }"
        for name, parts in TUPLE_RUST.items():
            yield f"pub struct {name}(" + ", ".join(f"pub {t}" for t in parts) + ");"
        for name, variants in ENUM_RUST.items():
            yield f"pub enum {name} {{ " + ", ".join(
                n + ("" if fields is None else "(" + ", ".join(fields) + ")" if isinstance(fields, list) else
                     " { " + ", ".join(f"{k}: {t}" for k, t in fields.items()) + " }")
                for n, fields in variants.items()) + " }"
        yield "pub enum Color { " + ", ".join(COLORS_RUST) + " }"

    def program(self, functions):
        r, expected = self.random, {}
        lines = ["#![allow(warnings)]", *self.declarations(),
                 "#[inline(never)] fn any<T>(t: T) -> T { let r = unsafe { std::ptr::read_volatile(&t) }; std::mem::forget(t); r }",
                 "fn keep<T>(v: Vec<T>) -> &'static [T] { Box::leak(v.into_boxed_slice()) }",
                 "fn leak<T>(t: T) -> &'static T { Box::leak(Box::new(t)) }"]
        body = []
        for i in range(functions):
            kinds = [r.choice(KINDS_RUST[:-14] if r.random() < 0.6 else KINDS_RUST) for _ in range(r.randrange(0, 6))]
            kinds = [kind for kind in kinds if kind != "()"]
            back = r.choice(KINDS_RUST)
            values, result = [self.value(kind) for kind in kinds], self.value(back)
            params = ", ".join(f"p{n}: {kind}" for n, kind in enumerate(kinds))
            lines.append(f"#[inline(never)] pub fn f{i}({params}) -> {back} {{")
            lines += [f"\tany(&p{n} as *const _ as usize);" if r.random() < 0.5 else f"\tany(p{n});" for n in range(len(kinds))]
            lines += [f"\tany({result.text})", "}"]
            body.append(f"\tany(f{i}(" + ", ".join(f"any({v.text})" for v in values) + "));")
            expected[f"many::f{i}"] = ([v.shown for v in values], None if back == "()" else [result.shown])
        return "\n".join([*lines, "fn main() {", *body, "}"]) + "\n", expected
