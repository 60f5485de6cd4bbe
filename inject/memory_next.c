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

#define RTLD_LAZY   1
#define RTLD_NOLOAD 4

/* The first two words of a Dl_info. */
struct place {
	const char *file;
	void *begin;
	const char *symbol;
	void *address;
};

extern void *dlopen(const char *file, int mode) __attribute__((weak));
extern int dladdr(const void *address, struct place *place) __attribute__((weak));

extern void *dlsym(void *handle, const char *name) __attribute__((weak));

/* What glibc calls its own, where no library with dlsym() is loaded (before 2.34). */
extern void *__libc_malloc(size_t size) __attribute__((weak));
extern void *__libc_calloc(size_t count, size_t size) __attribute__((weak));
extern void *__libc_realloc(void *address, size_t size) __attribute__((weak));
extern void *__libc_memalign(size_t alignment, size_t size) __attribute__((weak));
extern void *__libc_valloc(size_t size) __attribute__((weak));
extern void *__libc_pvalloc(size_t size) __attribute__((weak));
extern void __libc_free(void *address) __attribute__((weak));

int (*memory_next_execvpe)(const char *file, char *const *arguments, char *const *environment);
const char *memory_own_path;

static char early[EARLY_BYTES] __attribute__((aligned(16)));
static size_t early_used;

/* -- before they are found --------------------------------------------------------------------- */

/* Its size stands before it. It is all zero. */
static void *early_alloc(size_t size)
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

static void find_own_path(void)
{
	struct place place = {0};

	if (dladdr && dladdr(&memory_own_path, &place))
		memory_own_path = place.file;
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
	find("execvpe", (void **)&memory_next_execvpe, NULL);
	find_own_path();
	self->searching = 0;
	return true;
}

/* -- the operators of C++ ---------------------------------------------------------------------- */

void *memory_operators[MEMORY_OPERATORS];
uint8_t memory_operators_own; /* 1: those of the allocator, which do not call malloc() */

/*
 * Where no C++ library can be found, although its functions are called: it is linked into a plugin,
 * or this is glibc before 2.34 without libdl. Without a C++ library, nothing can be thrown.
 */
static void *new_by_malloc(size_t size)
{
	void *address = memory_next_malloc(size ? size : 1);

	if (!address)
		__builtin_trap();
	return address;
}

static void *new_by_memalign(size_t size, size_t alignment)
{
	void *address = memory_next_memalign(alignment, size ? size : 1);

	if (!address)
		__builtin_trap();
	return address;
}

static void *new_or_null(size_t size)
{
	return memory_next_malloc(size ? size : 1);
}

static void *new_aligned_or_null(size_t size, size_t alignment)
{
	return memory_next_memalign(alignment, size ? size : 1);
}

static void delete_by_free(void *address)
{
	memory_next_free(address);
}

static void *find_operator(const char *name)
{
	/* where a plugin has brought them, the next libraries do not have them */
	static const char *const files[] = {"libstdc++.so.6", "libc++.so.1"};
	void *found = dlsym ? dlsym(RTLD_NEXT, name) : NULL;

	for (size_t i = 0; !found && dlsym && dlopen && i < sizeof(files) / sizeof(*files); i++) {
		void *file = dlopen(files[i], RTLD_LAZY | RTLD_NOLOAD);

		found = file ? dlsym(file, name) : NULL;
	}
	return found;
}

/* Is the operator new of the library that malloc() is in? */
static bool is_allocators_own(const void *operator_new)
{
	struct place operators = {0}, functions = {0};

	return dladdr && dladdr(operator_new, &operators) &&
	       dladdr(*(void **)&memory_next_malloc, &functions) &&
	       operators.begin == functions.begin;
}

void memory_find_operators(void);
void memory_find_operators(void)
{
	static const char *const names[MEMORY_OPERATORS] = {
		"_Znwm",
		"_Znam",
		"_ZnwmRKSt9nothrow_t",
		"_ZnamRKSt9nothrow_t",
		"_ZnwmSt11align_val_t",
		"_ZnamSt11align_val_t",
		"_ZnwmSt11align_val_tRKSt9nothrow_t",
		"_ZnamSt11align_val_tRKSt9nothrow_t",
		"_ZdlPv",
		"_ZdaPv",
		"_ZdlPvm",
		"_ZdaPvm",
		"_ZdlPvRKSt9nothrow_t",
		"_ZdaPvRKSt9nothrow_t",
		"_ZdlPvSt11align_val_t",
		"_ZdaPvSt11align_val_t",
		"_ZdlPvmSt11align_val_t",
		"_ZdaPvmSt11align_val_t",
		"_ZdlPvSt11align_val_tRKSt9nothrow_t",
		"_ZdaPvSt11align_val_tRKSt9nothrow_t",
	};
	void *const otherwise[MEMORY_OPERATORS_NEW] = {
		(void *)new_by_malloc,	     (void *)new_by_malloc,	  (void *)new_or_null,
		(void *)new_or_null,	     (void *)new_by_memalign,	  (void *)new_by_memalign,
		(void *)new_aligned_or_null, (void *)new_aligned_or_null,
	};
	void *found[MEMORY_OPERATORS];

	search();
	for (unsigned int i = 0; i < MEMORY_OPERATORS; i++) {
		found[i] = find_operator(names[i]);
		if (!found[i] && i < MEMORY_OPERATORS_NEW)
			found[i] = otherwise[i];
		else if (!found[i]) /* all that the variants add may be left out */
			found[i] = i == MEMORY_OPERATORS_NEW ? (void *)delete_by_free
							     : found[MEMORY_OPERATORS_NEW];
	}
	__atomic_store_n(&memory_operators_own, is_allocators_own(found[0]), __ATOMIC_RELEASE);
	for (unsigned int i = 0; i < MEMORY_OPERATORS; i++)
		__atomic_store_n(&memory_operators[i], found[i], __ATOMIC_RELEASE);
}

/* -- the first calls --------------------------------------------------------------------------- */

static void *first_malloc(size_t size)
{
	return search() ? memory_next_malloc(size) : early_alloc(size);
}

static void *first_calloc(size_t count, size_t size)
{
	if (search())
		return memory_next_calloc(count, size);
	return size && count > EARLY_BYTES / size ? NULL : early_alloc(count * size);
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
	return address ? NULL : early_alloc(size);
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
