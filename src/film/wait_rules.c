// SPDX-License-Identifier: Apache-2.0
#include "film/wait_rules.h"

#include <string.h>

#include "film/go_reasons.h"
#include "arch/system_call_names.h"

/* linux/futex.h: the operation without its flags, and two of them */
#define FUTEX_COMMAND	  0x7fu
#define FUTEX_WAIT	  0
#define FUTEX_WAIT_BITSET 9

/* Its arguments; the last is null, or where a time lies, and is so of futex_waitv(2), too. */
#define FUTEX_OPERATION 1
#define FUTEX_VALUE	2
#define FUTEX_TIME	3

/* Of mutexes of glibc, musl and Rust. */
#define FUTEX_MUTEX_WAITED_FOR 2

static const char *const names[WAIT_CLASSES] = {
	[WAIT_OTHER] = "other",
	[WAIT_READY] = "ready",
	[WAIT_STOPPED] = "stopped",
	[WAIT_FAULT] = "page-fault",
	[WAIT_DISK] = "disk",
	[WAIT_NO_WORK] = "no-work",
	[WAIT_IO_URING] = "io_uring",
	[WAIT_CHILD] = "child",
	[WAIT_SLEEP] = "sleep",
	[WAIT_POLL] = "poll",
	[WAIT_LOCK] = "lock",
	[WAIT_ACCEPT] = "accept",
	[WAIT_CONNECT] = "connect",
	[WAIT_RECEIVE] = "socket-read",
	[WAIT_SEND] = "socket-write",
	[WAIT_IPC] = "ipc",
	[WAIT_SIGNAL] = "signal",
	[WAIT_FILE] = "file",
	[WAIT_CHANNEL] = "channel",
	[WAIT_SELECT] = "select",
	[WAIT_SYNC] = "sync",
	[WAIT_NETWORK] = "network",
	[WAIT_GC] = "gc",
};

#define FD(kind) (1u << FILM_FD_##kind)
#define IPC	 (FD(PIPE) | FD(EVENT) | FD(UNIX_SOCKET))
#define FILES	 (FD(FILE) | FD(DIRECTORY) | FD(BLOCK_DEVICE))

#define READS	 "read readv pread64 preadv preadv2 "
#define WRITES	 "write writev pwrite64 pwritev pwritev2 "
#define RECEIVES "recvfrom recvmsg recvmmsg "
#define SENDS	 "sendto sendmsg sendmmsg "
#define FUTEXES	 "futex futex_waitv futex_wait"

/*
 * What must hold, all of what is given. calls: names with spaces between; null: any, or none; "":
 * in none. frames: one of them is there.
 */
static const struct rule {
	enum wait_class class;
	const char *states, *calls;
	uint32_t descriptors; /* FD() of those that fit; 0: any */
	uint32_t flags, no_flags;
	unsigned int frames;
} rules[] = {
	/* the kernel counts as frozen who waits until a child has executed its program, or ended */
	{WAIT_CHILD, .states = "F", .calls = "vfork clone clone3"},
	{WAIT_STOPPED, .states = "TtF"},
	{WAIT_READY, .states = "R"},
	{WAIT_CHANNEL, .states = "G", .calls = "chan-receive chan-send chan-nil"},
	{WAIT_SELECT, .states = "G", .calls = "select"},
	{WAIT_LOCK, .states = "G", .calls = "mutex rwmutex"},
	{WAIT_SYNC, .states = "G", .calls = "semacquire cond waitgroup"},
	{WAIT_NETWORK, .states = "G", .calls = "io"},
	{WAIT_SLEEP, .states = "G", .calls = "sleep"},
	{WAIT_GC, .states = "G", .calls = "gc"},
	{WAIT_NO_WORK, .states = "G", .calls = "runtime-idle"},
	{WAIT_OTHER, .states = "G"},
	/* a thread that is in no system call, and does not run, is in a fault */
	{WAIT_FAULT, .calls = "", .no_flags = FILM_WAIT_KERNEL},
	{WAIT_FAULT, .frames = WAIT_HAS_FAULT},
	/* since Linux 6.5 each counts as one for a disk, also for a socket or a time */
	{WAIT_IO_URING, .states = "S", .calls = "io_uring_enter"},
	{WAIT_DISK, .flags = FILM_WAIT_IOWAIT},
	{WAIT_DISK, .states = "D", .frames = WAIT_HAS_DISK},
	/* kernel threads sleep only for want of work */
	{WAIT_NO_WORK, .states = "SI", .flags = FILM_WAIT_KERNEL},
	{WAIT_IO_URING, .calls = "io_uring_enter"},
	{WAIT_CHILD, .calls = "wait4 waitid vfork"},
	{WAIT_SLEEP, .calls = "nanosleep clock_nanosleep"},
	{WAIT_SLEEP, .calls = READS, .descriptors = FD(TIMER)},
	/* with no descriptor, they only wait for a time */
	{WAIT_SLEEP, .calls = "poll ppoll", .frames = WAIT_HAS_NO_POLL},
	{WAIT_SLEEP, .calls = "select pselect6", .frames = WAIT_HAS_NO_SELECT},
	{WAIT_POLL,
	 .calls = "epoll_wait epoll_pwait epoll_pwait2 epoll_wait_old poll ppoll select pselect6 "
		  "io_getevents io_pgetevents"},
	{WAIT_SLEEP, .calls = FUTEXES, .frames = WAIT_HAS_SLEEP},
	{WAIT_NO_WORK, .calls = FUTEXES, .frames = WAIT_HAS_NO_WORK | WAIT_HAS_NO_WORK_UNTIMED},
	{WAIT_LOCK, .calls = FUTEXES},
	/* of files: what else these do does not put a thread to sleep so */
	{WAIT_LOCK, .states = "S", .calls = "flock fcntl"},
	/* what changes the memory of a process waits for the kernel's locks on that memory */
	{WAIT_LOCK, .states = "D",
	 .calls = "mmap munmap mprotect madvise mremap brk mlock munlock pkey_mprotect"},
	{WAIT_ACCEPT, .calls = "accept accept4"},
	{WAIT_CONNECT, .calls = "connect"},
	/* sockets of one machine are a way between its processes, as pipes are */
	{WAIT_IPC, .calls = READS WRITES RECEIVES SENDS, .descriptors = IPC},
	{WAIT_RECEIVE, .calls = RECEIVES},
	{WAIT_RECEIVE, .calls = READS, .descriptors = FD(SOCKET)},
	{WAIT_SEND, .calls = SENDS},
	{WAIT_SEND, .calls = WRITES "sendfile splice", .descriptors = FD(SOCKET)},
	{WAIT_IPC, .calls = "splice tee vmsplice", .descriptors = IPC},
	{WAIT_IPC, .calls = "semop semtimedop msgrcv msgsnd mq_timedreceive mq_timedsend"},
	{WAIT_SIGNAL, .calls = "pause rt_sigsuspend rt_sigtimedwait"},
	{WAIT_SIGNAL, .calls = READS, .descriptors = FD(SIGNAL)},
	{WAIT_FILE, .calls = "fsync fdatasync sync syncfs sync_file_range msync flock open openat "
			     "openat2 close "
			     "rename renameat renameat2 unlink unlinkat mkdir mkdirat rmdir link "
			     "linkat symlink "
			     "symlinkat truncate ftruncate fallocate stat lstat fstat newfstatat "
			     "statx getdents "
			     "getdents64 fadvise64 readahead copy_file_range execve execveat"},
	{WAIT_FILE, .descriptors = FILES},
};

enum {
	RULES = sizeof(rules) / sizeof(rules[0])
};

const char *wait_class_name(enum wait_class class)
{
	return names[class];
}

enum wait_class wait_class_named(const char *name, size_t length)
{
	unsigned int i;

	for (i = 0; i < WAIT_CLASSES; i++)
		if (strlen(names[i]) == length && !memcmp(names[i], name, length))
			break;
	return (enum wait_class)i;
}

/* Whether a word is in a list of words with spaces between. */
static bool is_listed(const char *list, const char *word)
{
	size_t length = strlen(word), part;

	if (!*list || !length)
		return !*list && !length;
	for (; *list; list += part + (list[part] == ' ')) {
		part = strcspn(list, " ");
		if (part == length && !memcmp(list, word, length))
			return true;
	}
	return false;
}

static bool holds(const struct rule *rule, const struct wait_evidence *e)
{
	if (rule->states && (!e->state || !strchr(rule->states, e->state)))
		return false;
	if (rule->calls && !is_listed(rule->calls, e->call))
		return false;
	if (rule->descriptors &&
	    (e->descriptor > FILM_FD_OTHER || !(rule->descriptors & 1u << e->descriptor)))
		return false;
	if ((e->flags & rule->flags) != rule->flags || e->flags & rule->no_flags)
		return false;
	return !rule->frames || e->frames & rule->frames;
}

unsigned int wait_rule_of(const struct wait_evidence *evidence)
{
	unsigned int i;

	for (i = 0; i < RULES; i++)
		if (holds(&rules[i], evidence))
			break;
	return i;
}

enum wait_class wait_rule_class(unsigned int rule)
{
	return rule < RULES ? rules[rule].class : WAIT_OTHER;
}

bool wait_class_is_idle(enum wait_class class)
{
	static const bool idle[WAIT_CLASSES] = {
		[WAIT_STOPPED] = true, [WAIT_NO_WORK] = true, [WAIT_IO_URING] = true,
		[WAIT_POLL] = true,    [WAIT_ACCEPT] = true,  [WAIT_SIGNAL] = true,
	};

	return idle[class];
}

bool wait_is_for_condition(uint8_t state, uint64_t operation, uint64_t value)
{
	uint32_t command = operation & FUTEX_COMMAND;

	/* waits for locks of the kernel cannot be interrupted, and are in other calls */
	if (state != FILM_WAIT_SLEEPS)
		return false;
	/* a mutex that is held and waited for is 2; conditions and semaphores wait otherwise */
	return command == FUTEX_WAIT_BITSET ||
	       (command == FUTEX_WAIT && (uint32_t)value != FUTEX_MUTEX_WAITED_FOR);
}

const char *wait_call_name(const char *arch, uint8_t state, uint32_t call)
{
	const char *name = "";

	if (state == FILM_WAIT_GOROUTINE)
		name = go_reason_name(call ? call - 1 : FILM_GO_OTHER);
	else if (call)
		name = syscall_name(arch, call - 1);
	return name ? name : "?";
}

bool wait_is_by_stack(enum wait_class class, const char *call)
{
	return (class == WAIT_SLEEP || class == WAIT_NO_WORK) && is_listed(FUTEXES, call);
}

void wait_decider_free(struct wait_decider *decider)
{
	map_free(&decider->known);
}

/* What the arguments say, if the call is one of those that have such. */
static unsigned int of_arguments(const uint64_t arguments[4])
{
	/* of poll(2) in ms, of ppoll(2) where it lies */
	bool has_time = arguments[2] && (int64_t)arguments[2] != -1 && arguments[2] != UINT32_MAX;

	return (!arguments[1] && has_time ? WAIT_HAS_NO_POLL : 0) |
	       (arguments[0] ? 0 : WAIT_HAS_NO_SELECT);
}

/* What the frames say, if the arguments of futex(2) do not say otherwise. */
static unsigned int of_frames(const struct film_wait *wait, unsigned int frames)
{
	const uint64_t *arguments = wait->arguments;
	/* a thread that sleeps can also wait for a lock on its way out: that has no time; */
	unsigned int not = arguments[FUTEX_TIME] ? WAIT_HAS_NO_WORK_UNTIMED : WAIT_HAS_SLEEP;

	/* and one that has no work for a mutex */
	if (!wait_is_for_condition(wait->state, arguments[FUTEX_OPERATION], arguments[FUTEX_VALUE]))
		not |= WAIT_HAS_NO_WORK | WAIT_HAS_NO_WORK_UNTIMED;
	return frames & ~not ;
}

enum wait_class wait_decide(struct wait_decider *decider, const struct film_wait *wait,
			    unsigned int frames)
{
	unsigned int seen = of_frames(wait, frames) | of_arguments(wait->arguments);
	uint64_t key = (uint64_t)wait->call << 32 | (uint64_t)wait->state << 24 |
		       (uint64_t)wait->descriptor << 16 | (wait->flags & 0xff) << 8 | (seen & 0xff);
	const uint64_t *known = map_get(&decider->known, key);
	struct wait_evidence e = {
		.state = wait->state,
		.descriptor = wait->descriptor,
		.flags = wait->flags,
		.frames = seen,
	};
	enum wait_class class;

	if (known)
		return (enum wait_class) * known;
	e.call = wait_call_name(decider->arch, wait->state, wait->call);
	class = wait_rule_class(wait_rule_of(&e));
	/* without memory it is found out again each time */
	(void)!map_put(&decider->known, key, class);
	return class;
}
