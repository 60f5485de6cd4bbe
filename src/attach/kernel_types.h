/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_KERNEL_TYPES_H
#define ATTACH_KERNEL_TYPES_H

/*
 * The types of the running kernel, read once, and those of them that the probes know, in a file of
 * their own. To fit a program to the kernel, libbpf searches all types for each name that any of
 * our programs knows, of 120,000 types for each of 50 names: with the few in that file, this takes
 * a tenth of the time.
 */
struct btf;
struct probes;
struct kernel_types;

/* Never fails: what cannot be had is null or is as it would be without this. */
struct kernel_types *kernel_types_new(void);
void kernel_types_free(struct kernel_types *types);

/* All of them; null: they cannot be read, or were forgotten. They stay the types'. */
const struct btf *kernel_types_all(const struct kernel_types *types);

/* The probes' own types, for the caller to free; null: there is no memory. */
struct btf *kernel_types_of_probes(void);

/* Lets go of all but the file. */
void kernel_types_forget(struct kernel_types *types);

/*
 * Opens our programs, which will be fitted by that file, and read the kernel's memory as it allows;
 * null: errno. types may be null.
 */
struct probes *kernel_types_open(const struct kernel_types *types);

#endif
