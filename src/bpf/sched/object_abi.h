/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_OBJECT_ABI_H
#define BPF_SCHED_OBJECT_ABI_H

/* What object.h reads of the file that a thread waits for: sources/sched/objects.c names it. */

#include "bpf/sched/off_cpu_abi.h"

/* An object, before other records refer to it: a struct object_report behind the record. */
#define SCHED_OBJECT CAPTURE_KIND(CAPTURE_SOURCE_SCHED, 0)

/* Bytes of names: a path that is longer is cut, and says so. */
#define OBJECT_TEXT_MAX 1536
/* The longest name of a directory entry, and the byte that ends it. */
#define OBJECT_NAME_MAX 256
/* The deepest path. */
#define OBJECT_NAMES_MAX 64
/* Of a path that a system call is given, with the byte that ends it: what is longer is cut. */
#define OBJECT_GIVEN_MAX 384

/*
 * This many new objects after its report, an object that is still in use is reported again, with
 * another number: user space may forget what is twice as old.
 */
#define OBJECT_AGE_BITS 16

struct object_report {
	__u32 number; /* from 1 */
	/* as the thread that was seen first with it calls it; UINT32_MAX: not known */
	__u32 fd;
	__u64 inode;	 /* its number */
	__u64 far_inode; /* of a Unix socket: that of the other end; 0: not known */
	__u32 far_pid;	 /* of a Unix socket: the process that made the other end; 0: not known */
	__u32 device;	 /* of a path: that of its file system, as the kernel has it */
	__u16 family, type, protocol; /* of a socket */
	__u16 near_port, far_port;    /* in the order of this machine */
	__u8 near[16], far[16];	      /* addresses: of IPv4 the first four bytes */
	__u8 descriptor;	      /* enum off_cpu_descriptor */
	__u8 listens;
	__u8 is_deleted; /* no directory has it */
	__u8 is_cut;	 /* the path's first names are missing */
	__u8 far_named;	 /* the text is the address of the other end */
	__u8 given;	 /* of OFF_CPU_FD_PATH: the count of paths that the call has */
	/*
	 * Of text. A path: this many names, the last one of the path first, each ended by a zero;
	 * of a Unix socket: its address. OFF_CPU_FD_PATH: those that are given, each ended by a
	 * zero, and then the names of the directory in which the relative ones of them are.
	 */
	__u16 bytes, names;
	__u8 given_cut;	      /* bits of those that are cut */
	__u8 given_elsewhere; /* the second one is in another directory */
	__u8 operation;	      /* of an entry of io_uring: linux/io_uring.h has it, and 1; else 0 */
	__u8 in_flight;	      /* how many entries are, of which it is one; 0: it ended a wait */
	char text[OBJECT_TEXT_MAX];
};

#define OBJECT_WORDS(bytes) ((__builtin_offsetof(struct object_report, text) + (bytes) + 7) / 8)

/*
 * Of a system call with a path: which of its arguments (by its number and one; 0: none) are the
 * path and the descriptor of its directory, and those of a second one. Each is this many bits up.
 */
enum path_argument_at {
	PATH_FIRST = 0,
	PATH_FIRST_AT = 3,
	PATH_SECOND = 6,
	PATH_SECOND_AT = 9,
};

#define PATH_ARGUMENT_MASK 7

#endif
