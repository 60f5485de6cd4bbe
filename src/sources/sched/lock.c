// SPDX-License-Identifier: Apache-2.0
/*
 * What a futex word is of, by how it is waited for (sysdeps/nptl/bits/struct_mutex.h and
 * struct_rwlock.h, nptl/pthread_mutex_lock.c of glibc; linux/futex.h):
 *
 *	FUTEX_LOCK_PI		a mutex with priority inheritance; the word is the owner's number
 *	the owner's number
 *	with FUTEX_WAITERS	a robust mutex
 *	FUTEX_WAIT, 2		a mutex: its owner's number is 8 bytes behind. Also locks of 32 bits
 *				(Go's runtime, malloc's), with any value there
 *	FUTEX_WAIT_BITSET, 2	one that is waited for with a timeout, or Rust's; or a condition of
 *				glibc 2.41, which the function that waits tells
 *	FUTEX_WAIT_BITSET	a rwlock, whose writer's number is 12 or 16 bytes behind, and much
 *				else: only what the functions on the stack say is believed
 */
#include "sources/sched/lock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/map.h"
#include "sources/sched/file_lock.h"
#include "resolve/lock_code.h"
#include "sources/sched/lock_holder.h"
#include "sources/sched/lock_place.h"
#include "bpf/probes.skel.h"

/* Addresses of locks that are remembered. */
#define PLACES_MAX 65536

/* And owners of runtimes' locks. */
#define OWNERS_MAX 65536

/* Words of a mutex, from the futex word on. */
enum {
	MUTEX_OWNER = 2,
	MUTEX_USERS = 3,
	MUTEX_KIND = 4,
};

/* Bits of __kind: the four types; robust, with inheritance, with a ceiling; elision; shared. */
#define MUTEX_KIND_ROBUST 0x10
#define MUTEX_KIND_KNOWN  0x3f3u

/* Where the writer's number is, in words, from the futex word that is waited on. */
enum {
	RWLOCK_FROM_WRITERS = 3,
	RWLOCK_FROM_PHASE = 4,
	RWLOCK_FROM_READERS = 6,
	RWLOCK_WRITERS_AT = 12,
	RWLOCK_PHASE_AT = 8,
};

struct lock_book {
	const struct source_host *host;
	int watched; /* the map of runtimes */
	struct lock_codes codes;
	struct lock_holders holders;
	struct map places;   /* a hash of pid and address: its frame; 0: none */
	struct map runtimes; /* pid: its struct runtime_type, of which the kernel side knows */
	struct map owners;   /* a hash of pid and a runtime's owner: the number of its thread */
	uint64_t undecided, unmet;
};

/* One wait. */
struct look {
	struct lock_book *book;
	const struct capture_record *record;
	const struct lock_evidence *evidence;
	const struct process *process; /* null: gone before anything was known */
	enum lock_code code;
	uint32_t frames; /* that are known; 0: the code says nothing */
	uint64_t began;
	struct film_lock *row;
};

int lock_book_new(const struct source_host *host, struct lock_book **result)
{
	struct lock_book *book = calloc(1, sizeof(*book));

	if (!book)
		return -ENOMEM;
	book->host = host;
	book->watched = bpf_map__fd(host->probes->maps.sched_lock_runtimes);
	*result = book;
	return 0;
}

void lock_book_free(struct lock_book *book)
{
	if (!book)
		return;
	lock_codes_free(&book->codes);
	lock_holders_free(&book->holders);
	map_free(&book->places);
	map_free(&book->runtimes);
	map_free(&book->owners);
	free(book);
}

void lock_book_turn(struct lock_book *book)
{
	map_free(&book->places);
	samples_keep_codes(book->host->samples);
}

void lock_book_process_gone(struct lock_book *book, pid_t pid)
{
	uint32_t key = (uint32_t)pid;

	lock_holders_forget(&book->holders, pid);
	if (map_remove(&book->runtimes, key))
		bpf_map_delete_elem(book->watched, &key);
}

void lock_meet(struct lock_book *book, pid_t pid)
{
	uint32_t key = (uint32_t)pid;
	struct runtimes_lock locks;

	if (map_get(&book->runtimes, key) || !samples_locks(book->host->samples, pid, &locks))
		return;
	if (!map_put(&book->runtimes, key, (uintptr_t)locks.type)) {
		book->unmet++;
		return;
	}
	if (!bpf_map_update_elem(book->watched, &key, &locks.where, BPF_ANY))
		return;
	/* there is no room: its waits are for what its locks are made of */
	map_remove(&book->runtimes, key);
	book->unmet++;
}

/* Sets a thread as the holder, if it is one of the process. */
static bool set_holder(struct look *look, uint32_t number, enum film_lock_holder sure)
{
	const struct capture_identity *identity = &look->record->identity;
	struct lock_holder holder;

	if (!lock_holder_find(&look->book->holders, (pid_t)identity->pid, (pid_t)identity->tid,
			      number, look->began, &holder))
		return false;
	look->row->holder = samples_other_thread(look->book->host->samples, (pid_t)identity->pid,
						 holder.tid, holder.start, holder.comm);
	look->row->sure = look->row->holder ? sure : FILM_HOLDER_NONE;
	return look->row->holder != 0;
}

/* What is at a word behind the futex word; 0: it could not be read. */
static uint32_t word(const struct look *look, uint32_t number)
{
	return number < look->evidence->words_read ? look->evidence->words[number] : 0;
}

static bool has_mutex_kind(const struct look *look)
{
	return look->evidence->words_read > MUTEX_KIND &&
	       !(word(look, MUTEX_KIND) & ~MUTEX_KIND_KNOWN);
}

static bool is_of_mutex(struct look *look)
{
	return has_mutex_kind(look) && word(look, MUTEX_USERS) &&
	       set_holder(look, word(look, MUTEX_OWNER), FILM_HOLDER_OWNER);
}

/* With such a word: its owner shows it or, if that cannot be found, the code. */
static bool is_robust(struct look *look)
{
	uint32_t owner = look->evidence->expected & LOCK_FUTEX_TID;
	bool by_code = look->code == LOCK_CODE_MUTEX;
	bool by_kind = has_mutex_kind(look) && word(look, MUTEX_KIND) & MUTEX_KIND_ROBUST;
	bool has_owner = (by_code || by_kind) && set_holder(look, owner, FILM_HOLDER_OWNER);

	return by_code || has_owner;
}

static void read_rwlock(struct look *look)
{
	bool is_writers = look->evidence->address & 4;

	look->row->kind =
		look->code == LOCK_CODE_WRITE ? FILM_LOCK_RWLOCK_WRITE : FILM_LOCK_RWLOCK_READ;
	look->row->address -= is_writers ? RWLOCK_WRITERS_AT : RWLOCK_PHASE_AT;
	if (is_writers)
		set_holder(look, word(look, RWLOCK_FROM_WRITERS), FILM_HOLDER_OWNER);
	else
		set_holder(look, word(look, RWLOCK_FROM_PHASE), FILM_HOLDER_OWNER);
}

/* What only the code says: nothing there names an owner. */
static const uint8_t kinds_by_code[] = {
	[LOCK_CODE_RUST_MUTEX] = FILM_LOCK_RUST_MUTEX,
	[LOCK_CODE_RUST_RWLOCK] = FILM_LOCK_RUST_RWLOCK,
	[LOCK_CODE_PARKING_LOT] = FILM_LOCK_PARKING_LOT,
	[LOCK_CODE_PYTHON] = FILM_LOCK_PYTHON,
	[LOCK_CODE_PYTHON_PARKED] = FILM_LOCK_PYTHON,
	[LOCK_CODE_GO] = FILM_LOCK_GO,
	[LOCK_CODE_JAVA] = FILM_LOCK_JAVA,
};

static bool read_by_code(struct look *look)
{
	if (look->code == LOCK_CODE_READ || look->code == LOCK_CODE_WRITE) {
		read_rwlock(look);
		return true;
	}
	if (look->code < sizeof(kinds_by_code) && kinds_by_code[look->code]) {
		look->row->kind = kinds_by_code[look->code];
		return true;
	}
	return false;
}

/* A word of 2: it is locked, and others wait. */
static bool read_two(struct look *look)
{
	bool is_certain = (look->evidence->operation & LOCK_FUTEX_COMMAND) == LOCK_FUTEX_WAIT;

	if (look->code == LOCK_CODE_MUTEX || is_of_mutex(look)) {
		look->row->kind = FILM_LOCK_MUTEX;
		if (!look->row->holder)
			is_of_mutex(look);
		return true;
	}
	if (read_by_code(look))
		return true;
	if (!is_certain && (look->code == LOCK_CODE_EVENT || look->code == LOCK_CODE_SEMAPHORE))
		return false;
	look->row->kind = FILM_LOCK_WORD;
	return is_certain || look->frames;
}

static bool read_futex(struct look *look)
{
	const struct lock_evidence *evidence = look->evidence;
	uint32_t command = evidence->operation & LOCK_FUTEX_COMMAND;

	if (command == LOCK_FUTEX_LOCK_PI || command == LOCK_FUTEX_LOCK_PI2) {
		look->row->kind = FILM_LOCK_MUTEX_PI;
		set_holder(look, word(look, 0) & LOCK_FUTEX_TID, FILM_HOLDER_OWNER);
		return true;
	}
	if (evidence->expected & LOCK_FUTEX_WAITERS && is_robust(look)) {
		look->row->kind = FILM_LOCK_MUTEX_ROBUST;
		return true;
	}
	if (evidence->expected == 2 && look->code != LOCK_CODE_READ &&
	    look->code != LOCK_CODE_WRITE)
		return read_two(look);
	return read_by_code(look);
}

/* Without memory it is looked for again. */
static void remember_owner(struct lock_book *book, uint64_t key, uint32_t number)
{
	if (book->owners.count >= OWNERS_MAX)
		map_free(&book->owners);
	(void)!map_put(&book->owners, key, number);
}

/* The number of the thread that is the owner of a runtime's lock; 0: not known. */
static uint32_t number_of_owner(struct look *look, bool again)
{
	struct lock_book *book = look->book;
	uint32_t pid = look->record->identity.pid, number;
	const uint64_t what[] = {pid, look->evidence->runtime_owner};
	uint64_t key = hash_bytes(what, sizeof(what));
	const uint64_t *known = again ? NULL : map_get(&book->owners, key);

	if (known)
		return (uint32_t)*known;
	number = samples_lock_owner(book->host->samples, (pid_t)pid, what[1]);
	if (number)
		remember_owner(book, key, number);
	return number;
}

/* Whether the object that a thread has parked for is a lock that has an owner. */
static bool is_park_lock(struct look *look)
{
	struct lock_book *book = look->book;
	uint32_t pid = look->record->identity.pid;
	const uint64_t what[] = {pid, look->evidence->park_class, 2};
	uint64_t key = hash_bytes(what, sizeof(what));

	if (map_get(&book->owners, key))
		return true;
	if (!samples_park_class(book->host->samples, (pid_t)pid, what[1]))
		return false;
	remember_owner(book, key, 1);
	return true;
}

/* A lock of java.util.concurrent: the object is the lock, unlike the word that is waited on. */
static void read_park(struct look *look)
{
	if (!look->evidence->park_object || !is_park_lock(look))
		return;
	look->row->kind = FILM_LOCK_JAVA_OBJECT;
	look->row->address = look->evidence->park_object;
	set_holder(look, look->evidence->park_owner, FILM_HOLDER_OWNER);
}

/*
 * Whether a lock that the thread's structure names is one: what is there of a thread that has
 * another structure means nothing.
 */
static bool is_of_runtime(struct look *look)
{
	struct lock_book *book = look->book;
	uint32_t pid = look->record->identity.pid;
	const uint64_t what[] = {pid, look->evidence->runtime_thread, 1};
	uint64_t key = hash_bytes(what, sizeof(what));

	if (!look->evidence->runtime_lock)
		return false;
	if (!look->evidence->runtime_thread || map_get(&book->owners, key))
		return true;
	if (!samples_lock_thread(book->host->samples, (pid_t)pid, what[1]))
		return false;
	/* one that has ended is not in the runtime's list any more */
	remember_owner(book, key, 1);
	return true;
}

static void read_runtime(struct look *look, const struct runtime_type *type)
{
	enum film_lock_holder sure = (enum film_lock_holder)type->lock_sure;

	look->row->kind = (uint8_t)type->lock_kind;
	look->row->address = look->evidence->runtime_lock;
	look->row->value = look->evidence->runtime_owner;
	/* another thread may have the place of one that has ended */
	if (look->evidence->runtime_owner && !set_holder(look, number_of_owner(look, false), sure))
		set_holder(look, number_of_owner(look, true), sure);
}

/* The frame of the variable that a lock is; 0: it is none that has a place. */
static uint32_t place_of(struct look *look)
{
	struct samples *samples = look->book->host->samples;
	const uint64_t what[] = {look->record->identity.pid, look->row->address,
				 look->process->execs};
	uint64_t key = hash_bytes(what, sizeof(what));
	const uint64_t *known = map_get(&look->book->places, key);
	struct lock_place place;
	uint32_t frame = 0;

	if (known)
		return (uint32_t)*known;
	if (look->book->places.count >= PLACES_MAX)
		map_free(&look->book->places);
	if (lock_place_find(look->process, look->row->address, &place))
		frame = samples_variable(samples, place.image, place.address, place.name);
	/* without memory it is looked for again */
	(void)!map_put(&look->book->places, key, frame);
	return frame;
}

uint32_t lock_process(struct lock_book *book, pid_t pid, uint64_t began)
{
	struct lock_holder holder;

	book->holders.samples = book->host->samples;
	if (!lock_holder_find_process(&book->holders, pid, began, &holder))
		return 0;
	return samples_other_thread(book->host->samples, pid, holder.tid, holder.start,
				    holder.comm);
}

/* What waits for the lock of a file: the process that has it may be any. */
static void read_file(struct look *look)
{
	static const uint8_t kinds[] = {
		[LOCK_OF_FILE] = FILM_LOCK_FLOCK,
		[LOCK_OF_RECORDS] = FILM_LOCK_RECORD,
		[LOCK_OF_OPEN_FILE] = FILM_LOCK_OPEN_FILE,
	};
	const struct lock_evidence *evidence = look->evidence;
	pid_t pid = (pid_t)evidence->file_owner;

	look->row->kind = kinds[evidence->of_file];
	look->row->value = 0;
	/* of its own process it is one of the threads, and not known which */
	if (pid == (pid_t)look->record->identity.pid)
		return;
	look->row->holder = lock_process(look->book, pid, look->began);
	look->row->sure = look->row->holder ? FILM_HOLDER_OWNER : FILM_HOLDER_NONE;
}

/* Bytes of another process, or negative. */
static ssize_t read_remotely(pid_t pid, void *to, uint64_t address, size_t size)
{
	struct iovec here = {to, size}, there = {(void *)address, size};

	return process_vm_readv(pid, &here, 1, &there, 1, 0);
}

bool lock_look(pid_t pid, const struct off_cpu_wait *wait, bool goes_on,
	       struct lock_evidence *evidence)
{
	ssize_t got = 0;

	if (file_lock_look(pid, wait, goes_on, evidence))
		return true;
	if (wait->call != SYS_futex || wait->is_kernel_thread ||
	    !(wait->state & OFF_CPU_STATE_SLEEPS) ||
	    !lock_futex_waits((uint32_t)wait->arguments[1]))
		return false;
	*evidence = (struct lock_evidence){
		.address = wait->arguments[0],
		.operation = (uint32_t)wait->arguments[1],
		.expected = (uint32_t)wait->arguments[2],
	};
	if (goes_on && read_remotely(pid, &evidence->before, wait->arguments[0] - LOCK_BEFORE_BYTES,
				     LOCK_BEFORE_BYTES) != LOCK_BEFORE_BYTES)
		evidence->before = 0;
	/* the end of a page may lie within: then what is before it has been read */
	if (goes_on)
		got = read_remotely(pid, evidence->words, wait->arguments[0],
				    sizeof(evidence->words));
	evidence->words_read = got > 0 ? (uint8_t)((size_t)got / sizeof(uint32_t)) : 0;
	return true;
}

bool lock_read(struct lock_book *book, const struct capture_record *record,
	       const struct lock_evidence *evidence, uint64_t began, struct film_lock *row)
{
	struct look look = {
		.book = book,
		.record = record,
		.evidence = evidence,
		.process = samples_process(book->host->samples, (pid_t)record->identity.pid),
		.began = began,
		.row = row,
	};

	const uint64_t *words = samples_last_words(book->host->samples, &look.frames);
	struct lock_frames codes = samples_last_codes(book->host->samples);
	const uint64_t *type;

	book->holders.samples = book->host->samples;
	row->address = evidence->address;
	row->value = word(&look, 0);
	if (evidence->of_file && evidence->of_file <= LOCK_OF_OPEN_FILE) {
		read_file(&look);
		return true;
	}
	type = map_get(&book->runtimes, record->identity.pid);
	if (type && is_of_runtime(&look)) {
		read_runtime(&look, (const struct runtime_type *)(uintptr_t)*type);
		return true;
	}
	if (look.process)
		look.code = lock_code_of(&book->codes, look.process, words, look.frames);
	look.code = lock_code_with(look.code, &codes);
	if (!read_futex(&look)) {
		/* a stack that was handed over has no frames of its language */
		book->undecided += !look.frames || look.code == LOCK_CODE_UNKNOWN ||
				   (type && (record->handed_over || !evidence->words_read));
		return false;
	}
	if (row->kind == FILM_LOCK_JAVA)
		read_park(&look);
	else if (look.code == LOCK_CODE_PYTHON_PARKED && evidence->before)
		/* struct wait_entry: the address of the lock, then the semaphore */
		row->address = evidence->before;
	else if (look.process && row->kind != FILM_LOCK_PARKING_LOT)
		row->place = place_of(&look);
	return true;
}

uint64_t lock_unmet(const struct lock_book *book)
{
	return book->unmet;
}

void lock_losses(const struct lock_book *book, uint32_t event)
{
	struct film_writer *film = book->host->film;
	int fd = bpf_map__fd(book->host->probes->maps.sched_lock_short);
	int cpus = libbpf_num_possible_cpus();
	struct lock_short *of_cpu = cpus > 0 ? calloc((size_t)cpus, sizeof(*of_cpu)) : NULL;
	uint64_t count = 0;
	uint32_t zero = 0;

	if (book->undecided)
		film_loss(film, event,
			  "waits of which it is not known whether they were for a lock",
			  book->undecided);
	if (book->unmet)
		film_loss(film, event,
			  "waits of a process that has locks of its language's own, which could "
			  "not be watched: too many such processes",
			  book->unmet);
	if (of_cpu && !bpf_map_lookup_elem(fd, &zero, of_cpu))
		for (int i = 0; i < cpus; i++)
			count += of_cpu[i].count;
	if (count)
		film_loss(film, event,
			  "waits for locks, or else in futex(2), that were only summed up", count);
	free(of_cpu);
}
