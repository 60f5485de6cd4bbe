// SPDX-License-Identifier: Apache-2.0
#include "query/objects.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "query/lock_words.h"

#define WAIT_ANY_CHILD UINT32_MAX /* of wait4(2): -1 */

const char *object_name(const struct film *film, uint32_t object)
{
	uint32_t function = film->frames[object].function;

	return object && function ? film->functions[function].name : "";
}

typedef enum object_known describe_function(const struct film *film, const struct slice *slice,
					    char *words, size_t size);

static enum object_known describe_lock(const struct film *film, const struct slice *slice,
				       const struct slice_lock *of, char *words, size_t size)
{
	const struct lock_shown lock = {
		.address = of->address,
		.place = of->place,
		.process = film->threads[slice->thread].process,
		.kind = of->kind,
	};

	lock_words(film, &lock, words, size);
	return OBJECT_KNOWN;
}

/* The word of a futex belongs to the process, whose memory it is in. */
static enum object_known describe_futex(const struct film *film, const struct slice *slice,
					char *words, size_t size)
{
	const struct film_thread *thread = &film->threads[slice->thread];

	snprintf(words, size, "futex %#" PRIx64 " of pid %u", slice->address,
		 film->processes[thread->process].pid);
	return OBJECT_KNOWN;
}

static enum object_known describe_wait4(const struct film *film, const struct slice *slice,
					char *words, size_t size)
{
	uint32_t pid = (uint32_t)slice->address;

	(void)film;
	if (pid == WAIT_ANY_CHILD)
		snprintf(words, size, "any child");
	else if (!pid)
		snprintf(words, size, "any child of its own process group");
	else if (pid > INT32_MAX)
		snprintf(words, size, "any child of process group %u", 0 - pid);
	else
		snprintf(words, size, "pid %u", pid);
	return OBJECT_KNOWN;
}

/* The numbers of its kinds are those of idtype_t (waitid(2)). */
static enum object_known describe_waitid(const struct film *film, const struct slice *slice,
					 char *words, size_t size)
{
	static const char *const kinds[] = {"any child", "pid", "process group", "pidfd fd"};
	uint64_t kind = slice->address;

	(void)film;
	if (kind >= sizeof(kinds) / sizeof(kinds[0])) {
		snprintf(words, size, "waitid(2) names the child in an unknown way");
		return OBJECT_UNKNOWN;
	}
	if (kind)
		snprintf(words, size, "%s %u", kinds[kind], slice->operation);
	else
		snprintf(words, size, "%s", kinds[kind]);
	return OBJECT_KNOWN;
}

static enum object_known describe_poll(const struct film *film, const struct slice *slice,
				       char *words, size_t size)
{
	uint32_t count = slice->operation;

	(void)film;
	if (count == 1) {
		snprintf(words, size, "the descriptor could not be read");
		return OBJECT_UNKNOWN;
	}
	snprintf(words, size, "%u descriptors", count);
	return count ? OBJECT_KNOWN : OBJECT_NONE;
}

static enum object_known describe_select(const struct film *film, const struct slice *slice,
					 char *words, size_t size)
{
	(void)film;
	(void)slice;
	snprintf(words, size,
		 "which of several descriptors select(2) waits for is recorded only where one "
		 "ended a wait of --min-wait or more");
	return slice->address ? OBJECT_UNKNOWN : OBJECT_NONE;
}

static enum object_known describe_vfork(const struct film *film, const struct slice *slice,
					char *words, size_t size)
{
	(void)film;
	(void)slice;
	snprintf(words, size, "the new child");
	return OBJECT_KNOWN;
}

static enum object_known describe_path(const struct film *film, const struct slice *slice,
				       char *words, size_t size)
{
	(void)slice;
	snprintf(words, size,
		 "the path that %s was called with could not be read, or the film is of an older "
		 "stackcam",
		 wait_call_name(film->info.arch, 0, slice->call));
	return OBJECT_UNKNOWN;
}

static enum object_known describe_memory(const struct film *film, const struct slice *slice,
					 char *words, size_t size)
{
	(void)film;
	(void)slice;
	snprintf(words, size, "which of the kernel's locks of memory is not recorded");
	return OBJECT_UNKNOWN;
}

/* What the arguments of a system call say of what it waits for. */
static const struct {
	const char *calls; /* with spaces between */
	describe_function *describe;
	uint8_t arguments; /* bits of those that tell one object from another */
} rules[] = {
	{"futex futex_wait", describe_futex, 1},
	{"wait4", describe_wait4, 1},
	{"waitid", describe_waitid, 1 | 2},
	{"vfork clone clone3", describe_vfork, 0},
	{"poll ppoll", describe_poll, 2},
	{"select pselect6", describe_select, 1},
	{"mmap munmap mprotect madvise mremap brk mlock munlock pkey_mprotect", describe_memory, 0},
	{"open openat openat2 rename renameat renameat2 unlink unlinkat mkdir mkdirat rmdir link "
	 "linkat symlink symlinkat truncate stat lstat newfstatat statx execve execveat",
	 describe_path, 0},
};

static bool is_listed(const char *list, const char *word)
{
	size_t length = strlen(word), part;

	for (; length && *list; list += part + (list[part] == ' ')) {
		part = strcspn(list, " ");
		if (part == length && !memcmp(list, word, length))
			return true;
	}
	return false;
}

/* What waits have no object. */
static bool has_none(enum wait_class class)
{
	static const bool none[WAIT_CLASSES] = {
		[WAIT_READY] = true, [WAIT_STOPPED] = true, [WAIT_NO_WORK] = true,
		[WAIT_SLEEP] = true, [WAIT_SIGNAL] = true,  [WAIT_GC] = true,
	};

	return none[class];
}

static enum object_known say_why(const struct film *film, const struct slice *slice, char *words,
				 size_t size)
{
	const char *call = wait_call_name(film->info.arch, slice->state, slice->call);
	enum wait_class class = slice_wait_class(slice->kind);

	if (slice->descriptor)
		snprintf(words, size, "its record was lost, or the film is of an older stackcam");
	else if (class == WAIT_FAULT || !*call)
		snprintf(words, size, "the address of a page fault is not recorded");
	else
		snprintf(words, size, "%s has no descriptor that is known", call);
	return OBJECT_UNKNOWN;
}

/*
 * Of several descriptors, that which ended the wait, and of an io_uring the entry, or else the
 * ring; of an epoll, the epoll. 0: none is known.
 */
static uint32_t object_of(const struct slice *slice, const struct slice_evidence *evidence)
{
	uint32_t ready = evidence ? evidence->ready_object : 0;

	if (slice->descriptor == FILM_FD_IO_URING && ready)
		return ready;
	return slice->object ? slice->object : ready;
}

enum object_known slice_object(const struct film *film, const struct slice *slice,
			       const struct slice_evidence *evidence, char *words, size_t size)
{
	uint32_t object = object_of(slice, evidence);
	const char *call;

	*words = 0;
	if (!slice_is_wait(slice->kind))
		return OBJECT_NONE;
	if (object) {
		snprintf(words, size, "%s", object_name(film, object));
		return OBJECT_KNOWN;
	}
	if (evidence && evidence->lock.address)
		return describe_lock(film, slice, &evidence->lock, words, size);
	if (has_none(slice_wait_class(slice->kind)) || slice->state == FILM_WAIT_GOROUTINE)
		return OBJECT_NONE;
	call = wait_call_name(film->info.arch, slice->state, slice->call);
	for (size_t i = 0; !slice->descriptor && i < sizeof(rules) / sizeof(rules[0]); i++)
		if (is_listed(rules[i].calls, call))
			return rules[i].describe(film, slice, words, size);
	return say_why(film, slice, words, size);
}

void object_keys_init(struct object_keys *keys, const struct film *film)
{
	*keys = (struct object_keys){0};
	for (uint32_t call = 1; call < OBJECT_CALLS; call++)
		for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
			if (is_listed(rules[i].calls, wait_call_name(film->info.arch, 0, call)))
				keys->arguments[call] = rules[i].arguments;
}

uint64_t slice_object_key(const struct object_keys *keys, const struct slice *slice,
			  const struct slice_evidence *evidence)
{
	uint32_t object = object_of(slice, evidence);
	uint64_t key = hash_u64(slice->call);
	uint8_t arguments = slice->call < OBJECT_CALLS ? keys->arguments[slice->call] : 0;

	/* the same, whichever call waits for it */
	if (object)
		return hash_u64((uint64_t)object << 32);
	if (evidence && evidence->lock.address && !lock_is_waiters_own(evidence->lock.kind))
		key = hash_u64(key ^ evidence->lock.address);
	else if (arguments & 1)
		key = hash_u64(key ^ slice->address);
	if (arguments & 2)
		key = hash_u64(key ^ slice->operation);
	return key;
}
