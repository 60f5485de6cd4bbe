/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_WAITS_H
#define FILM_WAITS_H

/* Rows of what threads did and what they waited for: waits, turns and locks. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * An interval in which a thread did not run, with evidence of the cause. The reader derives the
 * cause (film/wait_rules.h), so that a corrected rule also applies to existing films.
 */
#define FILM_WAIT_ARGUMENTS 4
struct film_wait {
	uint64_t end;
	uint64_t duration; /* ns, at most end */
	/*
	 * raw arguments of the system call; 0 where they are not evidence. For a goroutine: its
	 * number, and the address of the runtime's record
	 */
	uint64_t arguments[FILM_WAIT_ARGUMENTS];
	uint32_t thread, stack; /* as in a film_sample */
	/* thread that ended the wait, and its stack at that moment; 0: not known */
	uint32_t waker, waker_stack;
	uint32_t count; /* number of waits in this row: 1, or more with FILM_WAIT_SAMPLED */
	/*
	 * system call number + 1; 0: not in a system call, as in a page fault. For a goroutine:
	 * enum film_go_reason + 1
	 */
	uint16_t call;
	uint8_t context;    /* enum film_wait_context */
	uint8_t state;	    /* enum film_wait_state */
	uint8_t descriptor; /* enum film_descriptor: type of the system call's descriptor */
	uint32_t flags;	    /* enum film_wait_flag */
};

/* Context in which the waker ended the wait. */
enum film_wait_context {
	FILM_WAIT_BY_NONE, /* not known */
	FILM_WAIT_BY_THREAD,
	/*
	 * In the next three the waker is the interrupted thread, which usually did not cause the
	 * wakeup.
	 */
	FILM_WAIT_BY_SOFTIRQ,
	FILM_WAIT_BY_INTERRUPT,
	FILM_WAIT_BY_TIMER,
	FILM_WAIT_BY_EITHER, /* a thread or an interrupt */
};

/* State of the thread, by the letters of /proc/PID/status. */
enum film_wait_state {
	FILM_WAIT_RUNS = 'O',  /* on a CPU; only in the event dump */
	FILM_WAIT_READY = 'R', /* runnable, without a CPU */
	FILM_WAIT_SLEEPS = 'S',
	FILM_WAIT_BLOCKED = 'D',
	FILM_WAIT_IDLE = 'I', /* an idle kernel thread */
	FILM_WAIT_STOPPED = 'T',
	FILM_WAIT_TRACED = 't',
	FILM_WAIT_FROZEN = 'F',
	FILM_WAIT_GOROUTINE = 'G', /* a goroutine waits, and occupies no thread */
};

/* Type of the file behind a descriptor. */
enum film_descriptor {
	FILM_FD_NONE, /* no descriptor, or not known */
	FILM_FD_FILE,
	FILM_FD_DIRECTORY,
	FILM_FD_BLOCK_DEVICE,
	FILM_FD_DEVICE, /* character device, e.g. a terminal */
	FILM_FD_PIPE,
	FILM_FD_SOCKET, /* network socket */
	FILM_FD_UNIX_SOCKET,
	FILM_FD_EVENT,
	FILM_FD_TIMER,
	FILM_FD_SIGNAL,
	FILM_FD_EPOLL,
	FILM_FD_NOTIFY,
	FILM_FD_PROCESS,
	FILM_FD_IO_URING,
	FILM_FD_OTHER,
	FILM_FD_PATH, /* the system call has a path instead of a descriptor */
};

enum film_wait_flag {
	/* the row sums up count waits that are too short for rows of their own */
	FILM_WAIT_SAMPLED = 1,
	FILM_WAIT_OPEN = 2,    /* a part: the wait went on after end */
	FILM_WAIT_BEFORE = 4,  /* it began before it was first seen: duration may be too short */
	FILM_WAIT_IOWAIT = 8,  /* the kernel accounted it as waiting for I/O */
	FILM_WAIT_KERNEL = 16, /* the thread is a kernel thread */
};

/* A block of waits as columns, sorted by end. */
struct film_waits {
	size_t count;
	const uint64_t *end, *duration;
	const uint64_t *arguments[FILM_WAIT_ARGUMENTS];
	const uint32_t *thread, *stack, *waker, *waker_stack, *count_of, *call, *context, *state,
		*descriptor, *flags;
};

/*
 * A turn of a thread: one stay on a CPU, and the time off CPU until the next stay begins. The turns
 * of a thread follow each other without a gap, so they cover its whole lifetime. A turn ends at end
 * and consists of the intervals unseen, ran, waited and ready, in this order. Goroutines have
 * turns, too: the film has a goroutine as a thread of its process whose tid is the low bits of its
 * number; the evidence of its waits is as in a film_wait. The writer cuts turns into parts of at
 * most FILM_TURN_MAX, so that readers find the turn at a given time within that distance.
 */
#define FILM_TURN_MAX 1000000000ull /* ns */
/*
 * Keep its size off a power of two: the writer sorts and copies rows 5 % slower if they have 128
 * bytes.
 */
struct film_turn {
	uint64_t end;
	uint64_t unseen; /* ns at its beginning that are unknown, because records were lost */
	uint64_t ran;	 /* ns on the CPU */
	uint64_t waited; /* ns off CPU until it was woken */
	uint64_t ready;	 /* ns runnable: from the wakeup, or from a preemption, until it ran */
	/* evidence of the wait's cause, as in a film_wait */
	uint64_t arguments[FILM_WAIT_ARGUMENTS];
	uint64_t lock; /* address of the lock that it waited for; 0: none, or not known */
	uint32_t thread, stack, waker;
	/*
	 * Id of a frame (a mark) that names the object of the wait: the path or the socket
	 * addresses behind the system call's descriptor, or its path argument; for a lock, its
	 * variable or its file. 0: none, or not known
	 */
	uint32_t object;
	/*
	 * The same for the descriptor that ended the wait: the first ready one if object is an
	 * epoll, or the one that woke the thread if it waited for several (object is 0 then)
	 */
	uint32_t ready_object;
	uint32_t on; /* for a goroutine: thread that it ran on; 0: not known */
	/*
	 * With a lock: its holder, as in a film_lock; film_turn_sure() says how it is known.
	 * Without a lock: a thread of the process at the other end of the pipe that it waited for
	 */
	uint32_t holder;
	uint16_t call;
	uint16_t cpu; /* on which it ran */
	/* enum film_wait_state; FILM_WAIT_READY: preempted, or it yielded; 0: the thread begins */
	uint8_t state;
	uint8_t context, descriptor;
	uint8_t lock_kind; /* enum film_lock_kind */
	uint32_t flags;	   /* enum film_wait_flag, enum film_turn_flag */
};

/*
 * Further flags of a turn. FILM_WAIT_OPEN in a turn: its last interval continues in the thread's
 * next turn.
 */
enum film_turn_flag {
	FILM_TURN_ENDS = 32,	/* the thread ended at end */
	FILM_TURN_UNWOKEN = 64, /* the wakeup was not seen: waited includes the time it was ready */
	FILM_TURN_BEGINS = 128, /* first turn of the thread, or of its recording */
	/* for a goroutine or a task: the waker is a thread that ran none at that moment */
	FILM_TURN_BY_THREAD = 256,
	/* it waited for a lock, but the waker did not release it: e.g. a signal */
	FILM_TURN_UNRELEASED = 512,
	/* unit of a two-bit field: an enum film_lock_holder, see film_turn_sure() */
	FILM_TURN_SURE = 1024,
	FILM_TURN_EXITS = 4096 /* with FILM_TURN_ENDS: the thread called exit(2) */
};

/* How the holder of a turn's lock is known: an enum film_lock_holder. flags: film_turn.flags. */
static inline uint8_t film_turn_sure(uint32_t flags)
{
	return flags / FILM_TURN_SURE & 3;
}

/* A block of turns as columns, sorted by end. */
struct film_turns {
	size_t count;
	const uint64_t *end, *unseen, *ran, *waited, *ready;
	const uint64_t *arguments[FILM_WAIT_ARGUMENTS], *lock;
	const uint32_t *thread, *stack, *waker, *call, *cpu, *state, *context, *descriptor, *flags,
		*object, *ready_object, *on, *holder, *lock_kind;
};

/* Type of a lock, as far as the code that waits for it shows it. */
enum film_lock_kind {
	FILM_LOCK_WORD, /* a futex word; nothing else is known */
	FILM_LOCK_MUTEX,
	FILM_LOCK_MUTEX_PI,	/* with priority inheritance */
	FILM_LOCK_MUTEX_ROBUST, /* a robust mutex: the kernel releases it when its holder dies */
	FILM_LOCK_RWLOCK_READ,	/* locked for reading */
	FILM_LOCK_RWLOCK_WRITE,
	FILM_LOCK_RUST_MUTEX, /* from Rust's std */
	FILM_LOCK_RUST_RWLOCK,
	/* from the crate parking_lot; the address is the waiter's own word */
	FILM_LOCK_PARKING_LOT,
	FILM_LOCK_GIL,	   /* Python's */
	FILM_LOCK_PYTHON,  /* threading.Lock and what is built on that */
	FILM_LOCK_MONITOR, /* of a Java object (synchronized) */
	FILM_LOCK_JAVA, /* from java.util.concurrent.locks; the address is the waiter's own word */
	FILM_LOCK_GO,	/* within Go's runtime */
	/*
	 * as FILM_LOCK_JAVA, but with the lock object's address, which changes when the collector
	 * moves it
	 */
	FILM_LOCK_JAVA_OBJECT,
	/* locks of files: the address is the inode number, the place a mark with the path */
	FILM_LOCK_FLOCK,     /* flock(2) */
	FILM_LOCK_RECORD,    /* from fcntl(2), held by a process */
	FILM_LOCK_OPEN_FILE, /* from fcntl(2), held by an open file description */
};

/* Whether an enum film_lock_kind is a lock of a file, not a word in a process's memory. */
static inline bool film_lock_is_of_file(uint32_t kind)
{
	return kind >= FILM_LOCK_FLOCK && kind <= FILM_LOCK_OPEN_FILE;
}

/* How a lock's holder is known. */
enum film_lock_holder {
	FILM_HOLDER_NONE,  /* not known: holder is 0 */
	FILM_HOLDER_OWNER, /* the owner field of the lock, read when the wait began */
	FILM_HOLDER_LAST,  /* the same, for a lock whose field only names the last holder */
	/* the thread whose unlocking call ended the wait; the lock was not read */
	FILM_HOLDER_RELEASER,
};

/* A wait for a lock. It belongs to an event of its own, apart from the events of all waits. */
struct film_lock {
	uint64_t end;
	uint64_t duration; /* ns, at most end */
	uint64_t address;  /* of the lock */
	/* contents of the lock's word when the wait began */
	uint64_t value;
	uint32_t thread, stack, waker, waker_stack; /* as in a film_wait */
	uint32_t holder;			    /* id of a film_thread; 0: not known */
	uint32_t place;	 /* frame that names the lock's variable or file; 0: not known */
	uint32_t flags;	 /* enum film_wait_flag */
	uint8_t kind;	 /* enum film_lock_kind */
	uint8_t sure;	 /* enum film_lock_holder */
	uint8_t context; /* enum film_wait_context */
};

/* A block of them, as columns, sorted by end. */
struct film_locks {
	size_t count;
	const uint64_t *end, *duration, *address, *value;
	const uint32_t *thread, *stack, *waker, *waker_stack, *holder, *place, *flags, *kind, *sure,
		*context;
};

#endif
