// SPDX-License-Identifier: Apache-2.0
/*
 * For LD_PRELOAD: a kernel that refuses programs, and maps, whose names begin with one of REFUSED
 * (words that commas separate; 15 characters at most, as the kernel has it), with a verifier's log;
 * all but the first ones, as many as ACCEPTED.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

/* The C library's own, which is not to be asked for by its name here. */
static long call(long number, const long *a)
{
	register long r10 __asm__("r10") = a[3];
	register long r8 __asm__("r8") = a[4];
	register long r9 __asm__("r9") = a[5];
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
}

static bool is_refused(const char *name)
{
	static atomic_int seen;
	const char *word = getenv("REFUSED"), *accepted = getenv("ACCEPTED");

	for (; word && *word; word += strcspn(word, ","), word += *word == ',')
		if (!strncmp(name, word, strcspn(word, ",")))
			return atomic_fetch_add(&seen, 1) >= (accepted ? atoi(accepted) : 0);
	return false;
}

long syscall(long number, ...)
{
	long a[6];
	va_list arguments;
	const union bpf_attr *attr;

	va_start(arguments, number);
	for (size_t i = 0; i < 6; i++)
		a[i] = va_arg(arguments, long);
	va_end(arguments);
	attr = (const union bpf_attr *)a[1];
	if (number == SYS_bpf && a[0] == BPF_PROG_LOAD && is_refused(attr->prog_name)) {
		if (attr->log_level && attr->log_size)
			snprintf((char *)(uintptr_t)attr->log_buf, attr->log_size,
				 "0: R1=ctx() R10=fp0\nthe test says no\nprocessed 1 insns\n");
		errno = EINVAL;
		return -1;
	}
	if (number == SYS_bpf && a[0] == BPF_MAP_CREATE && is_refused(attr->map_name)) {
		errno = EINVAL;
		return -1;
	}
	return call(number, a);
}
