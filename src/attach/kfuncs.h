/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_KFUNCS_H
#define ATTACH_KFUNCS_H

#include <stddef.h>

/*
 * Handles functions of the kernel that the probes call (kfuncs). They change between kernels.
 * libbpf refuses all programs if the prototype of one differs from the probes' declaration, even if
 * no loaded program calls it (1.1.2: bpf_object__resolve_ksym_func_btf_id()). If the kernel lacks
 * one, libbpf searches all modules, which needs CAP_SYS_ADMIN, and refuses all programs without it.
 */
struct btf;

/* How a kernel's function compares with the probes' declaration. */
enum kfunc_state {
	KFUNC_MISSING,	/* the kernel has no function of that name */
	KFUNC_CHANGED,	/* its prototype differs: no program can call it */
	KFUNC_POINTERS, /* only the targets of pointers differ: see kfuncs_fit() */
	KFUNC_SAME,
};

/* kernel: types of the running kernel; own: types of the probes, which declare the function. */
enum kfunc_state kfunc_state(const struct btf *kernel, const struct btf *own, const char *name);

/*
 * Changes an object file of probes (size bytes, with the types own) so that libbpf accepts it on a
 * kernel:
 *
 *	- where a parameter points to nothing that has a name on one side, and to a structure on the
 *	  other, it becomes what the kernel has
 *	- a function that differs otherwise, or that is missing, is hidden: libbpf does not look for
 *	  it, and its address is 0, which the probes have to ask for before they call
 *
 * *fitted: the changed copy, which the caller frees; null: no change is needed. Returns 0, -ENOMEM,
 * or -EINVAL: the bytes are not an object file of BPF programs.
 */
int kfuncs_fit(const void *object, size_t size, const struct btf *kernel, const struct btf *own,
	       void **fitted);

#endif
