// SPDX-License-Identifier: Apache-2.0
/*
 * libstackcam-memory.so: stands before the allocator of a program that stackcam has started with
 * it, and takes samples of its allocations, Poisson by bytes: how many bytes lie between two
 * samples is drawn from an exponential distribution, so an allocation of s bytes is a sample with a
 * probability of 1 - exp(-s / mean), whatever the program's own rhythm is.
 *
 * Addresses of samples lie in a table, so that a free() of one is seen. What a sample is, is told
 * by executing a nop (memory_x86_64.S), at which the recorder has a probe; without a recorder it is
 * a nop. So nothing here depends on whether one is there: no descriptor, no thread, no file, no
 * signal.
 *
 * It needs no library of its own, so that it can be loaded with any C library. Nothing here may
 * call what could allocate, apart from the search for the real functions.
 */
#include "memory.h"

#include "memory_places.h"

#define unlikely(x) __builtin_expect(!!(x), 0)

/* Not in all C libraries, or not in the one that is loaded first. */
extern char *getenv(const char *name) __attribute__((weak));
extern char **environ __attribute__((weak));

/* -- the thread's own -------------------------------------------------------------------------- */

struct memory_thread memory_threads[MEMORY_THREADS] __attribute__((aligned(64)));
uint64_t memory_interval;
struct memory_state memory_state = {.granted = UINT64_MAX};
static bool is_exact;
__thread struct memory_thread memory_own __attribute__((aligned(64)));

struct memory_thread *memory_self(void)
{
	uint64_t own, at;

	/* the word stays 0 where the dynamic linker has not loaded the library */
	__asm__("movq memory_own@gottpoff(%%rip), %0" : "=r"(own));
	if (own)
		return (struct memory_thread *)(memory_thread_pointer() + own);
	at = memory_thread_pointer() * MEMORY_THREAD_HASH >> MEMORY_THREAD_SHIFT;

	return (struct memory_thread *)((char *)memory_threads + (at & MEMORY_THREAD_MASK));
}

/*
 * The thread has an interpreter's allocator move an object. False: it does already, and a signal
 * has interrupted it.
 */
static bool enter(struct memory_thread *self)
{
	uint64_t own = memory_thread_pointer();

	if (__atomic_load_n(&self->busy, __ATOMIC_RELAXED) == own)
		return false;
	__atomic_store_n(&self->busy, own, __ATOMIC_RELAXED);
	return true;
}

static void leave(struct memory_thread *self)
{
	__atomic_store_n(&self->busy, 0, __ATOMIC_RELAXED);
}

static bool is_busy(const struct memory_thread *self)
{
	return __atomic_load_n(&self->busy, __ATOMIC_RELAXED) == memory_thread_pointer();
}

/* xorshift64*, Vigna 2016 */
static uint64_t next_random(struct memory_thread *self)
{
	uint64_t x = self->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	self->random = x;
	return x * 0x2545f4914f6cdd1dull;
}

/* Of a number from 0 (excluded) to 1, without libm: to about 1e-6. */
static double minus_log(double x)
{
	union {
		double number;
		uint64_t bits;
	} u = {x};
	int exponent = (int)(u.bits >> 52) - 1023;
	double t, square;

	u.bits = (u.bits & ~(0xfffull << 52)) | 1023ull << 52;
	t = (u.number - 1) / (u.number + 1);
	square = t * t;
	return -(exponent * 0.69314718055994531 +
		 2 * t *
			 (1 +
			  square * (1. / 3 + square * (1. / 5 + square * (1. / 7 + square / 9)))));
}

/* How many bytes until the next sample. */
static uint64_t draw(struct memory_thread *self)
{
	double uniform = (double)((next_random(self) >> 11) + 1) * 0x1p-53;

	return is_exact ? 0
			: (uint64_t)(minus_log(uniform) *
				     (double)(memory_interval << self->doublings));
}

/*
 * A sample takes far longer than an allocation, so a thread takes about 250 in a second: one
 * that has taken more doubles the bytes between them, and one that takes fewer halves them. Each says by which mean it was taken, and weighs as much. It is looked at once in so many
 * that what they say together is right to some percent. What a user has asked for stays. No clock
 * is asked for the time, as a program may have forbidden itself system calls.
 */
#define PACE_SAMPLES 1024
#define PACE_TIME    12288 /* of 2^20 cycles: about four seconds */

static void pace(struct memory_thread *self)
{
	uint32_t now, time;

	if (memory_interval != MEMORY_INTERVAL_USUAL || ++self->samples < PACE_SAMPLES)
		return;
	now = (uint32_t)(__builtin_ia32_rdtsc() >> 20);
	time = now - self->since;
	self->since = now;
	self->samples = 0;
	if (time < PACE_TIME && self->doublings < MEMORY_DOUBLINGS)
		self->doublings++;
	else if (time > 3 * PACE_TIME && self->doublings)
		self->doublings--;
}

/* Of a number from 0 on, without libm: to about 1e-12. */
static double exp_of_minus(double x)
{
	union {
		uint64_t bits;
		double number;
	} scale;
	double term = 1, sum = 1, rest;
	int halvings = x > 700 ? 1000 : (int)(x * 1.4426950408889634 + 0.5);

	rest = halvings * 0.69314718055994531 - x;
	for (int i = 1; i < 14; i++) {
		term *= rest / i;
		sum += term;
	}
	scale.bits = (uint64_t)(1023 - halvings) << 52;
	return halvings == 1000 ? 0 : sum * scale.number;
}

/* What a sample of that many bytes stands for. */
uint64_t memory_weight(uint64_t bytes, uint64_t doublings);
uint64_t memory_weight(uint64_t bytes, uint64_t doublings)
{
	double part = (double)bytes / (double)(memory_interval << doublings);

	if (is_exact || part > 700)
		return bytes;
	part = part < 1e-4 ? part * (1 - part / 2) : 1 - exp_of_minus(part);
	return (uint64_t)((double)bytes / part + 0.5);
}

static uint64_t parse(const char *text)
{
	uint64_t value = 0;

	while (*text >= '0' && *text <= '9' && value < 1ull << 40)
		value = value * 10 + (uint64_t)(*text++ - '0');
	return value;
}

/* The C library has no environment yet while it is being loaded itself. */
static void find_interval(void)
{
	const char *text = &environ && environ && getenv ? getenv(MEMORY_INTERVAL_VARIABLE) : NULL;
	uint64_t value = text ? parse(text) : 0;

	if (&environ && environ) {
		is_exact = value == 1;
		if (is_exact)
			memory_table_all();
		memory_interval = value ? value : MEMORY_INTERVAL_USUAL;
	}
}

/*
 * A recorder that put the library into a running process grants samples, again and again. When it
 * is gone, those end.
 */
static bool is_granted(void)
{
	if (__atomic_load_n(&memory_state.granted, __ATOMIC_RELAXED) == UINT64_MAX)
		return true;
	return __atomic_fetch_add(&memory_state.taken, 1, __ATOMIC_RELAXED) <
	       __atomic_load_n(&memory_state.granted, __ATOMIC_RELAXED);
}

/* True: another thread with this slot takes samples, too, and has done so before. */
static bool shares(struct memory_thread *self)
{
	uint64_t own = memory_thread_pointer();

	if (self->owner == own)
		return false;
	if (self->before == own) {
		self->doublings = 0;
		self->shared = (int64_t)draw(self);
		self->is_shared = true;
	}
	self->before = self->owner;
	self->owner = own;
	return self->is_shared;
}

/*
 * What the next allocation, even one of no bytes, finds used up. It is another number than before:
 * memory_x86_64.S sees by it that there was one.
 */
static uint64_t all_used_up(uint64_t before)
{
	return MEMORY_SHARED + (before + 1) % 2;
}

static bool is_sample_of_many(struct memory_thread *self, uint64_t bytes)
{
	int64_t before;

	__atomic_store_n(&self->left, all_used_up(self->left + bytes), __ATOMIC_RELAXED);
	before = __atomic_fetch_sub(&self->shared, (int64_t)bytes, __ATOMIC_RELAXED);
	if (before - (int64_t)bytes >= 0)
		return false;
	/* where another one is about to draw, this one asks for itself */
	if (before < 0 && draw(self) >= bytes)
		return false;
	__atomic_store_n(&self->shared, (int64_t)draw(self), __ATOMIC_RELAXED);
	return is_granted();
}

/*
 * The thread's bytes are used up by an allocation of so many (which were taken off already).
 * Returns 0: it is no sample; or one more than the doublings of the mean that it was taken by.
 */
static unsigned int is_sample(uint64_t bytes)
{
	struct memory_thread *self = memory_self();
	uint64_t left = self->left + bytes;
	unsigned int taken = 1u + self->doublings;
	bool is_new = false;

	if (unlikely(!memory_interval))
		find_interval();
	if (unlikely(!memory_interval) || unlikely(is_busy(self))) {
		self->left = left;
		return 0;
	}
	if (is_exact) {
		self->left = all_used_up(left);
		return 1;
	}
	if (unlikely(!self->random)) {
		self->random = (__builtin_ia32_rdtsc() ^ memory_thread_pointer() * MEMORY_HASH) | 1;
		for (int i = 0; i < 8; i++)
			next_random(self);
		is_new = true;
	}
	if (unlikely(self->is_shared || shares(self)))
		return is_sample_of_many(self, bytes);
	/* less than 0: another thread with this slot has used them up, too; a draw knows no past */
	if (unlikely(is_new || (int64_t)left < 0)) {
		left = draw(self);
		if (bytes <= left) {
			self->left = left - bytes;
			return 0;
		}
	}
	pace(self);
	self->left = draw(self);
	return is_granted() ? taken : 0;
}

/* -- the functions that a program calls -------------------------------------------------------- */

/* What memory_x86_64.S takes from rax and rdx. */
struct made {
	uint64_t result;
	uint64_t bytes; /* 0: it is no sample */
};

/* taken: of is_sample() */
static uint64_t weighed(uint64_t bytes, unsigned int taken)
{
	return (bytes ? bytes : 1) | (uint64_t)(taken - 1) << MEMORY_DOUBLINGS_BIT;
}

static uint64_t follow(void *address, uint64_t bytes, unsigned int taken)
{
	bytes = weighed(bytes, taken);
	return is_exact || memory_table_add((uint64_t)address) ? bytes
							       : bytes | MEMORY_UNFOLLOWED_BIT;
}

/* For memory_python_unpool(), which asks for it. */
static void *note(void *address)
{
	struct memory_thread *self = memory_self();

	if (unlikely(is_busy(self)))
		self->made = (uint64_t)address;
	return address;
}

/*
 * Makes an allocation whose bytes were more than the thread had left. A sample is one only if it
 * succeeds.
 */
#define MADE(bytes, call)                                                                  \
	({                                                                                 \
		unsigned int wanted_ = is_sample(bytes);                                   \
		void *address_ = note(call);                                               \
		(struct made){(uint64_t)address_,                                          \
			      wanted_ && address_ ? follow(address_, bytes, wanted_) : 0}; \
	})

struct made memory_malloc(size_t size);
struct made memory_malloc(size_t size)
{
	return MADE(size, memory_next_malloc(size));
}

struct made memory_valloc(size_t size);
struct made memory_valloc(size_t size)
{
	return MADE(size, memory_next_valloc(size));
}

struct made memory_pvalloc(size_t size);
struct made memory_pvalloc(size_t size)
{
	return MADE(size, memory_next_pvalloc(size));
}

struct made memory_memalign(size_t alignment, size_t size);
struct made memory_memalign(size_t alignment, size_t size)
{
	return MADE(size, memory_next_memalign(alignment, size));
}

struct made memory_aligned_alloc(size_t alignment, size_t size);
struct made memory_aligned_alloc(size_t alignment, size_t size)
{
	return MADE(size, memory_next_aligned_alloc(alignment, size));
}

struct made memory_calloc(size_t count, size_t size);
struct made memory_calloc(size_t count, size_t size)
{
	return MADE(count * size, memory_next_calloc(count, size));
}

struct made memory_posix_memalign(void **to, size_t alignment, size_t size);
struct made memory_posix_memalign(void **to, size_t alignment, size_t size)
{
	unsigned int wanted = is_sample(size);
	int err = memory_next_posix_memalign(to, alignment, size);

	return (struct made){(uint64_t)(uint32_t)err,
			     wanted && !err && *to ? follow(*to, size, wanted) : 0};
}

static unsigned int spend(struct memory_thread *self, uint64_t bytes)
{
	self->left -= bytes;
	return (int64_t)self->left < 0 ? is_sample(bytes) : 0;
}

/*
 * bits: 1 the thread's bytes are used up; 4 they are still to be taken off; 2 the address was one
 * of a sample, and it was told as given back. That comes first: when realloc() has returned,
 * another thread may have it.
 */
struct made memory_realloc(void *address, size_t size, uint32_t bits);
struct made memory_realloc(void *address, size_t size, uint32_t bits)
{
	unsigned int wanted = bits & 4	 ? spend(memory_self(), size)
			      : bits & 1 ? is_sample(size)
					 : 0;
	void *result = note(memory_early_owns(address) ? memory_early_move(address, size)
						       : memory_next_realloc(address, size));

	if (unlikely(!result && size && bits & 2)) {
		if (!is_exact)
			follow(address, 1, 1);
		memory_kept((uint64_t)address);
	}
	return (struct made){(uint64_t)result,
			     wanted && result && size ? follow(result, size, wanted) : 0};
}

/* What an operator new has made that did not call malloc(); its bytes are taken off already. */
struct made memory_operated(void *address, size_t size);
struct made memory_operated(void *address, size_t size)
{
	return MADE(size, address);
}

/* -- the same of CPython ----------------------------------------------------------------------- */

/*
 * What the interpreter's allocator has made, of which taken says whether it is to be a sample (as
 * is_sample() does). Where it has called malloc() for it, what the thread has left has changed, and
 * the C library's functions have seen it.
 */
static struct made pooled(const struct memory_python *functions, void *context, void *address,
			  size_t size, unsigned int taken, uint64_t left)
{
	struct memory_thread *self = memory_self();
	struct made made = {.result = (uint64_t)address};
	bool is_known;

	if (!taken || !address || self->left != left)
		return made;
	is_known = enter(self) && memory_python_unpool(self, functions, context, &address, size);
	leave(self);
	made.result = (uint64_t)address;
	made.bytes = is_known ? follow(address, size, taken)
			      : weighed(size, taken) | MEMORY_UNFOLLOWED_BIT;
	return made;
}

#define POOLED(functions, bytes, call)                                                 \
	({                                                                             \
		unsigned int taken_ = is_sample(bytes);                                \
		uint64_t left_ = memory_self()->left;                                  \
                                                                                       \
		pooled(functions, context, (functions)->call, (bytes), taken_, left_); \
	})

/* moved(): what realloc() has returned */
#define PYTHON(domain)                                                                         \
	struct made memory_python_##domain##_malloc(void *context, size_t size);               \
	struct made memory_python_##domain##_malloc(void *context, size_t size)                \
	{                                                                                      \
		return POOLED(&memory_python_##domain, size, malloc(context, size));           \
	}                                                                                      \
	struct made memory_python_##domain##_calloc(void *context, size_t count, size_t size); \
	struct made memory_python_##domain##_calloc(void *context, size_t count, size_t size)  \
	{                                                                                      \
		return POOLED(&memory_python_##domain, count * size,                           \
			      calloc(context, count, size));                                   \
	}                                                                                      \
	struct made memory_python_##domain##_moved(void *context, void *address, size_t size); \
	struct made memory_python_##domain##_moved(void *context, void *address, size_t size)  \
	{                                                                                      \
		unsigned int taken = is_sample(size);                                          \
                                                                                               \
		return pooled(&memory_python_##domain, context, address, size, taken,          \
			      memory_self()->left);                                            \
	}

PYTHON(obj)
PYTHON(mem)

/*
 * The table has an address that is given back, maybe. Returns 1: it is one of a sample, and the
 * table has it no more; 0: it is not; -1: it is memory of this library's own.
 */
int memory_free(void *address);
int memory_free(void *address)
{
	if (unlikely(memory_early_owns(address)))
		return -1;
	if (is_exact)
		return address && !is_busy(memory_self());
	return memory_table_remove((uint64_t)address);
}
