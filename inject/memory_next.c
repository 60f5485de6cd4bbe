// SPDX-License-Identifier: Apache-2.0
/*
 * Finds the functions behind this library's: those of the C library, or of an allocator that the
 * program brings as a library. The first call of any of them looks for all.
 *
 * The search may itself allocate (dlsym() of glibc before 2.34, once): that is served from a small
 * memory here, which is never given back.
 */
#include "memory.h"

#include <errno.h>

#define RTLD_NEXT   ((void *)-1l)

#define EARLY_BYTES 8192

extern void *dlsym(void *handle, const char *name) __attribute__((weak));

/* What glibc calls its own, where no library with dlsym() is loaded (before 2.34). */
extern void *__libc_malloc(size_t size) __attribute__((weak));
extern void *__libc_calloc(size_t count, size_t size) __attribute__((weak));
extern void *__libc_realloc(void *address, size_t size) __attribute__((weak));
extern void *__libc_memalign(size_t alignment, size_t size) __attribute__((weak));
extern void *__libc_valloc(size_t size) __attribute__((weak));
extern void *__libc_pvalloc(size_t size) __attribute__((weak));
extern void __libc_free(void *address) __attribute__((weak));

static char early[EARLY_BYTES] __attribute__((aligned(16)));
static size_t early_used;

/* -- before they are found --------------------------------------------------------------------- */

/* Its size stands before it. It is all zero. */
static void *early_take(size_t size)
{
	size_t room = (size + 16 + 15) & ~(size_t)15, at;

	if (size > EARLY_BYTES)
		return NULL;
	at = __atomic_fetch_add(&early_used, room, __ATOMIC_RELAXED);
	if (at + room > EARLY_BYTES)
		return NULL;
	*(size_t *)&early[at] = size;
	if (!memory_table_add((uint64_t)&early[at + 16]))
		return NULL;
	return &early[at + 16];
}

bool memory_early_owns(const void *address)
{
	return (const char *)address >= early && (const char *)address < early + EARLY_BYTES;
}

void *memory_early_move(void *address, size_t size)
{
	size_t old = *(size_t *)((char *)address - 16);
	char *to = memory_next_malloc(size);

	for (size_t i = 0; to && i < old && i < size; i++)
		to[i] = ((char *)address)[i];
	return to;
}

/* -- the search -------------------------------------------------------------------------------- */

static void find(const char *name, void **next, void *otherwise)
{
	void *found = dlsym ? dlsym(RTLD_NEXT, name) : NULL;

	if (!found)
		found = otherwise;
	if (found)
		__atomic_store_n(next, found, __ATOMIC_RELEASE);
}

static void *no_memory(size_t a, size_t b)
{
	(void)a;
	(void)b;
	return NULL;
}

/* Without a free() nothing is given back. */
static void keep(void *address)
{
	(void)address;
}

static int no_memory_to(void **to, size_t alignment, size_t size)
{
	(void)to;
	(void)alignment;
	(void)size;
	return ENOMEM;
}

static void *array_by_realloc(void *address, size_t count, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? NULL
							   : memory_next_realloc(address, bytes);
}

/* False: the thread is at it already. */
static bool search(void)
{
	struct memory_thread *self = memory_self();

	if (self->searching == memory_thread_pointer())
		return false;
	self->searching = memory_thread_pointer();
	/* free() first: nothing may be allocated that could not be given back */
	find("free", (void **)&memory_next_free, __libc_free ? (void *)__libc_free : (void *)keep);
	find("realloc", (void **)&memory_next_realloc,
	     __libc_realloc ? (void *)__libc_realloc : (void *)no_memory);
	find("calloc", (void **)&memory_next_calloc,
	     __libc_calloc ? (void *)__libc_calloc : (void *)no_memory);
	find("malloc", (void **)&memory_next_malloc,
	     __libc_malloc ? (void *)__libc_malloc : (void *)no_memory);
	find("memalign", (void **)&memory_next_memalign,
	     __libc_memalign ? (void *)__libc_memalign : (void *)no_memory);
	find("aligned_alloc", (void **)&memory_next_aligned_alloc, memory_next_memalign);
	find("valloc", (void **)&memory_next_valloc,
	     __libc_valloc ? (void *)__libc_valloc : (void *)no_memory);
	find("pvalloc", (void **)&memory_next_pvalloc,
	     __libc_pvalloc ? (void *)__libc_pvalloc : (void *)no_memory);
	find("posix_memalign", (void **)&memory_next_posix_memalign, no_memory_to);
	find("reallocarray", (void **)&memory_next_reallocarray, array_by_realloc);
	self->searching = 0;
	return true;
}

/* -- the first calls --------------------------------------------------------------------------- */

static void *first_malloc(size_t size)
{
	return search() ? memory_next_malloc(size) : early_take(size);
}

static void *first_calloc(size_t count, size_t size)
{
	if (search())
		return memory_next_calloc(count, size);
	return size && count > EARLY_BYTES / size ? NULL : early_take(count * size);
}

static void *first_valloc(size_t size)
{
	return search() ? memory_next_valloc(size) : NULL;
}

static void *first_pvalloc(size_t size)
{
	return search() ? memory_next_pvalloc(size) : NULL;
}

static void *first_memalign(size_t alignment, size_t size)
{
	return search() ? memory_next_memalign(alignment, size) : NULL;
}

static void *first_aligned_alloc(size_t alignment, size_t size)
{
	return search() ? memory_next_aligned_alloc(alignment, size) : NULL;
}

static int first_posix_memalign(void **to, size_t alignment, size_t size)
{
	return search() ? memory_next_posix_memalign(to, alignment, size) : ENOMEM;
}

static void *first_realloc(void *address, size_t size)
{
	if (search())
		return memory_next_realloc(address, size);
	return address ? NULL : early_take(size);
}

static void *first_reallocarray(void *address, size_t count, size_t size)
{
	return search() ? memory_next_reallocarray(address, count, size) : NULL;
}

static void first_free(void *address)
{
	if (address && search())
		memory_next_free(address);
}

void *(*memory_next_malloc)(size_t size)MEMORY_HOT = first_malloc;
void *(*memory_next_calloc)(size_t count, size_t size) = first_calloc;
void *(*memory_next_valloc)(size_t size) = first_valloc;
void *(*memory_next_pvalloc)(size_t size) = first_pvalloc;
void *(*memory_next_memalign)(size_t alignment, size_t size) = first_memalign;
void *(*memory_next_aligned_alloc)(size_t alignment, size_t size) = first_aligned_alloc;
int (*memory_next_posix_memalign)(void **to, size_t alignment, size_t size) = first_posix_memalign;
void *(*memory_next_realloc)(void *address, size_t size)MEMORY_HOT = first_realloc;
void *(*memory_next_reallocarray)(void *address, size_t count, size_t size) = first_reallocarray;
void (*memory_next_free)(void *address) MEMORY_HOT = first_free;
