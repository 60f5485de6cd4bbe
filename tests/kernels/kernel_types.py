#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""
Whether the probes fit kernels that do not run here: kernel_types.py PROBES SOURCES KERNEL…

PROBES is the object of all probes (probes.bpf.o), SOURCES the folder of their source, KERNEL a vmlinuz or its BTF. Of each
kernel this reads

  - members: is each there that a program reads, or does the same function ask whether members of that struct are there?
    Can libbpf fit the size of the load? (bpf_core_calc_relo() of libbpf: a load of another size has to be of unsigned
    numbers; what bpf_probe_read_kernel() reads must not be larger than the member)
  - functions (kfuncs): do they have the prototype that the probes declare, and an address?
  - tracepoints: do they have the arguments that the programs name, at their places?
  - maps: is a value of task storage, or one per CPU, larger than the kernel gives?

Prints a line for each that does not fit; exits with 1 then.
"""

import bisect
import collections
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from btf import Elf, Types, essential, kernel_btf, read_ext

# Since Linux 6.19 two pages, with the kernel's own words; percpu: PCPU_MIN_UNIT_SIZE.
SLAB_MAX, PERCPU_MAX = 8192, 32768
TASK_STORAGE, PERCPU = {29}, {5, 6, 10}

# Where another function asks.
GUARDED = {
    # uring_of_work(): not looked at without cq_wait_nr; uring_is_known()
    ("uring_way_step", "io_kiocb.nr_tw"),
    # only with what io_async_msghdr has since then
    ("requests_uring_find", "io_async_rw.iter"),
    ("requests_uring_message", "iov_iter.__iov"),
}

# Tracepoints that older kernels lack; the source that has the program asks for them (doctor).
OPTIONAL = {"sock_recv_length", "sock_send_length", "sched_exit_tp", "block_io_start"}

COMPOSITE, NUMBERS = ("STRUCT", "UNION"), ("ENUM", "ENUM64")


class Relocation:
    """One of CO-RE: what an instruction has of the kernel's types."""

    def __init__(self, own, section, offset, type_id, access, kind, function, line):
        self.section, self.offset, self.kind, self.function, self.line = section, offset, kind, function, line
        self.root, self.steps, self.leaf, self.bits = own.strip(type_id), [], None, 0
        index = [int(word) for word in access.split(":")]
        if kind.startswith("ENUM"):
            self.steps = [("value", essential(self.root["values"][index[0]]["name"]), None)]
            return
        if kind.startswith("TYPE"):
            return
        if index[0]:
            self.steps.append(("index", index[0], None))
        at = self.root["id"]
        for i in index[1:]:
            here = own.strip(at)
            if here["kind"] in COMPOSITE:
                member = here["members"][i]
                at = member["type_id"]
                if own.has_name(member):
                    self.steps.append(("member", member["name"], at))
                self.bits = member.get("bitfield_size", 0)
            else:
                at = here["type_id"]
                self.steps.append(("index", i, at))
        self.leaf = at

    def struct(self):
        return essential(self.root["name"])

    def name(self):
        return self.struct() + "".join(f"[{what}]" if kind == "index" else f".{what}"
                                       for kind, what, _ in self.steps)


def find_member(kernel, struct, name):
    for member in struct["members"]:
        if member["name"] == name:
            return member["type_id"], member.get("bitfield_size", 0)
        inner = kernel.strip(member["type_id"])
        if not kernel.has_name(member) and inner["kind"] in COMPOSITE:
            found = find_member(kernel, inner, name)
            if found:
                return found
    return None


def compatible(own, ours, kernel, theirs):
    """As bpf_core_fields_are_compat()."""
    one, other = own.strip(ours), kernel.strip(theirs)
    kinds = one["kind"], other["kind"]
    if all(kind in COMPOSITE for kind in kinds):
        return True
    if kinds[0] != kinds[1] and not all(kind in NUMBERS for kind in kinds):
        return False
    if kinds[0] == "ARRAY":
        return compatible(own, one["type_id"], kernel, other["type_id"])
    if kinds[0] in (*NUMBERS, "FWD") and own.has_name(one) and kernel.has_name(other):
        return essential(one["name"]) == essential(other["name"])
    return kinds[0] in ("PTR", "INT", "FLOAT", *NUMBERS, "FWD")


def follow(own, kernel, relocation, at):
    """The type of the member, starting at one of the kernel's; a string: why there is none."""
    bits = 0
    for number, (kind, what, ours) in enumerate(relocation.steps):
        here = kernel.strip(at)
        if kind == "member":
            found = find_member(kernel, here, what) if here["kind"] in COMPOSITE else None
            if not found:
                return f"no member {what} in {kernel.show(at)}"
            if not compatible(own, ours, kernel, found[0]):
                return f"member {what} is {kernel.show(found[0])}, not {own.show(ours)}"
            at, bits = found
        elif number or ours:
            if here["kind"] != "ARRAY" or here["nr_elems"] and what >= here["nr_elems"]:
                return f"no element {what} of {kernel.show(at)}"
            at = here["type_id"]
    return at, bits


def resolve(own, kernel, relocation):
    kind = relocation.root["kind"]
    roots = [type_ for type_ in kernel.named(relocation.struct())
             if type_["kind"] == kind or {type_["kind"], kind} <= set(NUMBERS)]
    if not roots:
        return f"no type {relocation.struct()}"
    if relocation.kind.startswith("TYPE"):
        return roots[0]["id"], 0
    if relocation.kind.startswith("ENUM"):
        there = any(essential(value["name"]) == relocation.steps[0][1] for root in roots for value in root["values"])
        return (roots[0]["id"], 0) if there else f"no value {relocation.steps[0][1]}"
    answers = [follow(own, kernel, relocation, root["id"]) for root in roots]
    return next((answer for answer in answers if not isinstance(answer, str)), answers[0])


def size_fault(own, kernel, elf, relocation, theirs, bits):
    """Why the load of a member cannot be fitted; None: it can."""
    ours, there = own.strip(relocation.leaf), kernel.strip(theirs)
    if bits or relocation.bits or ours["kind"] not in ("INT", "PTR", *NUMBERS):
        return None
    sizes = own.size(ours["id"]), kernel.size(there["id"])
    if sizes[0] == sizes[1]:
        return None
    is_load = elf.sections[relocation.section][relocation.offset] & 7 in (1, 2, 3)
    unsigned = all(type_["kind"] == "INT" and type_["encoding"] != "SIGNED" for type_ in (ours, there))
    if is_load and not unsigned or not is_load and sizes[0] > sizes[1]:
        return f"{sizes[0]} bytes are read of {sizes[1]}: {kernel.show(theirs)}"
    return None


def members(own, elf, relocations, kernel):
    asked, faults = set(), {}
    answers = [(relocation, resolve(own, kernel, relocation)) for relocation in relocations]
    for relocation, _ in answers:
        if relocation.kind.endswith("EXISTS"):
            asked.add((relocation.function, relocation.struct()))
    for relocation, answer in answers:
        key = relocation.function, relocation.name()
        if relocation.kind.endswith("EXISTS"):
            continue
        if isinstance(answer, str):
            if (relocation.function, relocation.struct()) not in asked and key not in GUARDED:
                faults[key] = f"{relocation.line}: {relocation.function}(): {relocation.name()}: {answer}"
        elif relocation.kind == "FIELD_BYTE_OFFSET":
            fault = size_fault(own, kernel, elf, relocation, *answer)
            if fault:
                faults[key] = f"{relocation.line}: {relocation.function}(): {relocation.name()}: {fault}"
    return sorted(faults.values())


def functions_of(types, name):
    return [type_ for type_ in types.named(name) if type_["kind"] == "FUNC"]


def functions(own, kernel):
    for mine in own.types:
        if mine["kind"] != "FUNC" or mine.get("linkage") != "extern":
            continue
        name = mine["name"]
        theirs = functions_of(kernel, name)
        # its last parameter is the kernel's, and it has no address: to the probes it is missing (src/attach/kfuncs.c)
        called = name.removesuffix("_impl")
        if called != name and functions_of(kernel, called):
            theirs = []
        for type_ in theirs:
            counts = [len(types.types[t["type_id"]]["params"]) for types, t in ((own, mine), (kernel, type_))]
            if counts[0] != counts[1]:
                yield f"{name}() has {counts[1]} parameters, not {counts[0]}"


def kind_of(types, type_id):
    """What an argument is, so far as a program depends on it."""
    type_ = types.strip(type_id)
    if type_["kind"] != "PTR":
        return "number"
    target = types.strip(type_["type_id"])
    return target["name"] if target["kind"] in COMPOSITE else "pointer"


def programs(sources):
    """Tracepoint, program and the kinds of its arguments, as the source has them."""
    for file in sorted(Path(sources).rglob("*.bpf.c")):
        text = file.read_text(encoding="utf-8")
        for name, program, words in re.findall(r'SEC\("tp_btf/(\w+)"\)\nint BPF_PROG\((\w+)((?:, [^)]*)?)\)', text):
            arguments = []
            for word in filter(None, (part.strip() for part in words.split(","))):
                struct = re.match(r"(?:const )?struct (\w+) \*", word)
                arguments.append(essential(struct[1]) if struct else "pointer" if "*" in word else "number")
            yield name, f"{file.name}: {program}()", arguments


def tracepoints(kernel, wanted):
    for name, program, arguments in wanted:
        there = [type_ for type_ in kernel.named(f"btf_trace_{name}") if type_["kind"] == "TYPEDEF"]
        if not there:
            if name not in OPTIONAL:
                yield f"{program}: no tracepoint {name}"
            continue
        prototype = kernel.strip(kernel.strip(there[0]["id"])["type_id"])
        kinds = [kind_of(kernel, parameter["type_id"]) for parameter in prototype["params"][1:]]
        # registers are the kernel's interface, under a name of ours
        known = ["pt_regs" if kind == "probe_regs" else kind for kind in arguments]
        if known != kinds[:len(known)]:
            yield f"{program}: {name} has arguments ({', '.join(kinds)}), not ({', '.join(known)})"


def maps(own, kernel):
    element = next((t for t in kernel.named("bpf_local_storage_elem") if t["kind"] == "STRUCT"), None)
    for name, type_, value in own.maps():
        head = element["size"] if element else 128
        if type_ in TASK_STORAGE and value + head > SLAB_MAX:
            yield f"{name}: a value of {value} bytes in task storage"
        if type_ in PERCPU and (value + 7) // 8 * 8 > PERCPU_MAX:
            yield f"{name}: a value of {value} bytes per CPU"


def relocations_of(own, elf):
    functions_at, lines_at = collections.defaultdict(list), collections.defaultdict(list)
    text, functions_, lines, core = read_ext(elf)
    for section, offset, type_id in functions_:
        functions_at[section].append((offset, own.types[type_id]["name"]))
    for section, offset, file, _, line in lines:
        lines_at[section].append((offset, f"{Path(text(file)).name}:{line >> 10}"))
    for table in (*functions_at.values(), *lines_at.values()):
        table.sort()

    def at(table, offset):
        return table[bisect.bisect_right(table, (offset, "\uffff")) - 1][1]

    return [Relocation(own, section, offset, type_id, access, kind, at(functions_at[section], offset),
                       at(lines_at[section], offset)) for section, offset, type_id, access, kind in core]


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__.strip())
    probes, sources, *kernels = sys.argv[1:]
    own, elf, wanted = Types(probes), Elf(Path(probes).read_bytes()), list(programs(sources))
    relocations = relocations_of(own, elf)
    if not relocations or not wanted:
        sys.exit(f"{probes}: no relocations, or {sources}: no programs at tracepoints")
    faults = 0
    for path in kernels:
        with tempfile.NamedTemporaryFile() as file:
            try:
                file.write(kernel_btf(path))
            except (OSError, ValueError, subprocess.CalledProcessError) as error:
                sys.exit(f"{path}: {error}")
            file.flush()
            kernel = Types(file.name)
        for fault in (*members(own, elf, relocations, kernel), *functions(own, kernel),
                      *tracepoints(kernel, wanted), *maps(own, kernel)):
            print(f"{Path(path).name}: {fault}")
            faults += 1
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
