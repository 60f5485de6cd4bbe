/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_LOCK_ABI_H
#define BPF_SCHED_LOCK_ABI_H

/*
 * What lock.h reads when a thread begins to wait in futex(2), and file_lock.h when one has to wait
 * for the lock of a file. They decide nothing: which of these waits are for a lock, and whose,
 * sources/sched/lock.c says.
 */

#include <linux/types.h>

/* This many words of 32 bits from the futex word on: those of glibc's locks that name a thread. */
#define LOCK_WORDS 8

/* What of a futex's operation says what it does (linux/futex.h). */
#define LOCK_FUTEX_COMMAND     0x7f
#define LOCK_FUTEX_PRIVATE     0x80
#define LOCK_FUTEX_WAIT	       0
#define LOCK_FUTEX_LOCK_PI     6
#define LOCK_FUTEX_WAIT_BITSET 9
#define LOCK_FUTEX_LOCK_PI2    13

/* The word of a lock with an owner: its thread, and that others wait. */
#define LOCK_FUTEX_WAITERS 0x80000000u
#define LOCK_FUTEX_TID	   0x3fffffffu

/* Whether it may wait for a lock. */
static inline int lock_futex_waits(__u32 operation)
{
	__u32 command = operation & LOCK_FUTEX_COMMAND;

	return command == LOCK_FUTEX_WAIT || command == LOCK_FUTEX_WAIT_BITSET ||
	       command == LOCK_FUTEX_LOCK_PI || command == LOCK_FUTEX_LOCK_PI2;
}

/* Of a lock of a file: by whom it is held. */
enum lock_of_file {
	LOCK_OF_NO_FILE,
	LOCK_OF_FILE,	   /* flock(2) */
	LOCK_OF_RECORDS,   /* fcntl(2), by a process */
	LOCK_OF_OPEN_FILE, /* the same, by the file as it was opened */
};

/* What a thread that ends the wait of another one may have released just then. */
enum lock_released {
	LOCK_RELEASED_NONE,
	LOCK_RELEASED_FUTEX,
	LOCK_RELEASED_FILE,
};

struct lock_evidence {
	__u64 address;		   /* of the futex word; of a file's lock: the inode's number */
	__u32 operation, expected; /* of the system call */
	__u64 before;		   /* the 8 bytes before the address; 0: not read */
	__u32 words[LOCK_WORDS];   /* from the address on */
	__u8 words_read;	   /* how many of them could be read */
	__u8 of_file;		   /* enum lock_of_file; then all else is of that, or 0 */
	__u16 unused;
	/* the file (struct object_report); 0: not known, or told by other means */
	__u32 file_object;
	/*
	 * What the thread's language runtime says (struct lock_runtime): the lock that it waits
	 * for, 0: none of the runtime's own, and what that has as its owner.
	 */
	__u64 runtime_lock, runtime_owner;
	/* of a runtime with many locks: the thread's structure, which user space checks */
	__u64 runtime_thread;
	/*
	 * The object that the thread has parked for, its class, and the number of the thread (in
	 * its own pid namespace) that owns it if it is a lock: user space checks the class. All 0:
	 * not read, or a collection of garbage may have moved what was read.
	 */
	__u64 park_object, park_class;
	__u32 park_owner;
	__u32 file_owner; /* the process that holds the file's lock; 0: not known */
	__u32 file_wait;  /* the kernel's side alone needs it */
	__u32 unused_too;
};

/* What is before the address, and from there on: read at once. */
#define LOCK_BEFORE_BYTES   sizeof(__u64)
#define LOCK_READ_BYTES	    (LOCK_BEFORE_BYTES + LOCK_WORDS * sizeof(__u32))

#define LOCK_EVIDENCE_WORDS (sizeof(struct lock_evidence) / 8)

/*
 * Locks of a runtime that are objects of its language: the thread's object names the one that it
 * has parked for, and that names its owner. Objects move while a collection of garbage runs, so
 * nothing is believed that was read beside one.
 */
struct lock_park {
	__u64 runs, collections; /* addresses: a byte, that one runs, and 4 bytes, how many did */
	__u64 oop_base;	     /* of a reference of 4 bytes: its object is at base + (it << shift) */
	__u32 thread_object; /* in the thread's structure: a pointer to a pointer to its object */
	__u16 blocker;	     /* in that: what it has parked for */
	__u16 owner;	     /* in that: the owner's object */
	__u16 structure;     /* in that: its thread's structure */
	__u16 os_thread, number; /* in that, a pointer; in what it points to, the number */
	__u16 class_at;		 /* of each object */
	__u8 oop_shift;
	__u8 is_narrow;	      /* references have 4 bytes */
	__u8 is_class_narrow; /* and so have classes */
	__u8 is_known;	      /* 0: nothing is read */
};

/*
 * Where the locks of a process's language runtime are; all zero: it has none. Two ways:
 *
 *	a lock for all threads (Python's GIL): an address, and the range of the futex words that
 *	threads wait on for it; what is at owner_at tells of its holder
 *	one for each object (Java's monitors): the thread's own structure, by a pointer at tls from
 *	the thread pointer, says at pending which one it waits for, of which owner_at is a part
 */
struct lock_runtime {
	__u64 from, to; /* futex words of the one lock */
	__u64 owner_at; /* address of its owner; or that of a part of a lock of many */
	__s32 tls;	/* 0: there is but one lock */
	__u32 pending;
	/* a member of what the owner is, that says which thread it is; 0: the owner itself does */
	__u32 owner_thread;
	__u32 unused;
	struct lock_park park; /* beside those of many; all zero: it has none */
};

/* Futex waits that are too short to be told of. */
struct lock_short {
	__u64 count, time; /* ns */
};

#endif
