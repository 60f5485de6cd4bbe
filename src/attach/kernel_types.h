/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_KERNEL_TYPES_H
#define ATTACH_KERNEL_TYPES_H

/*
 * The types (BTF) of the running kernel, read once, and a file with only those that the probes use.
 * To relocate a program, libbpf searches all 120,000 types for each of 50 names; with the few types
 * of that file this takes a tenth of the time.
 */
struct btf;
struct probes;
struct kernel_types;

/* Never fails: without types, programs are relocated in libbpf's usual way. */
struct kernel_types *kernel_types_new(void);
void kernel_types_free(struct kernel_types *types);

/* All types of the kernel, owned by types; null: not readable, or forgotten. */
const struct btf *kernel_types_all(const struct kernel_types *types);

/* The types that the probes declare, which the caller frees; null: no memory. */
struct btf *kernel_types_of_probes(void);

/* Frees everything except the file. */
void kernel_types_forget(struct kernel_types *types);

/* Our programs are not opened any more: frees some MB. */
void kernel_types_opened(struct kernel_types *types);

/*
 * Opens our programs, to be relocated with that file, and chooses the way to read kernel memory
 * that this kernel accepts. types may be null. Returns null and sets errno on failure.
 */
struct probes *kernel_types_open(const struct kernel_types *types);

#endif
