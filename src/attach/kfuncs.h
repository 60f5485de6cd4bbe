/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_KFUNCS_H
#define ATTACH_KFUNCS_H

#include <stddef.h>

/*
 * Functions of the kernel that the probes call (kfuncs). The kernel changes them as it likes, and
 * libbpf refuses all programs if one of them has another prototype than the probes declare, also if
 * no program that is loaded calls it (1.1.2: bpf_object__resolve_ksym_func_btf_id()). It looks in
 * all modules for one that the kernel lacks, which needs CAP_SYS_ADMIN, and refuses all without.
 */
struct btf;

/* What a kernel's function is to the probes. */
enum kfunc_state {
	KFUNC_MISSING,	/* the kernel has none of that name */
	KFUNC_CHANGED,	/* it has another prototype: no program can call it */
	KFUNC_POINTERS, /* it has, but for what pointers lead to: kfuncs_fit() */
	KFUNC_SAME,
};

/* kernel: the types of the running kernel; own: those of the probes, which declare the function. */
enum kfunc_state kfunc_state(const struct btf *kernel, const struct btf *own, const char *name);

/*
 * Makes an object of probes, of `size` bytes and with the types `own`, into one that libbpf accepts
 * on a kernel:
 *
 *	- where a parameter points to nothing that has a name on one side, and to a structure on the
 *	  other, it becomes what the kernel has
 *	- a function that differs otherwise, or that is missing, is hidden: libbpf does not look for
 *	  it, and its address is 0, which the probes have to ask for before they call
 *
 * *fitted: the changed copy, which the caller frees; null: nothing has to be changed. Returns 0,
 * -ENOMEM, or -EINVAL: the bytes are no object of BPF programs.
 */
int kfuncs_fit(const void *object, size_t size, const struct btf *kernel, const struct btf *own,
	       void **fitted);

#endif
