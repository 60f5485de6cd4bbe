// SPDX-License-Identifier: Apache-2.0
/*
 * The least that a library before an allocator can cost: functions that go on to those behind, and
 * do nothing else. For bench/memory-heap.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

/* What lies in a variable is called by a jump, as it is of any library that finds it as it begins. */
#define NEXT __attribute__((visibility("hidden")))

static void *first_malloc(size_t size);
static void *first_calloc(size_t count, size_t size);
static void *first_realloc(void *address, size_t size);
static void first_free(void *address);

NEXT void *(*next_malloc)(size_t) = first_malloc;
NEXT void *(*next_calloc)(size_t, size_t) = first_calloc;
NEXT void *(*next_realloc)(void *, size_t) = first_realloc;
NEXT void (*next_free)(void *) = first_free;

/* Whichever is called first looks for all: of the program's allocator, or the C library's. */
static void find(void)
{
	next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	next_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
	next_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
	next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
}

static void *first_malloc(size_t size)
{
	find();
	return next_malloc(size);
}

static void *first_calloc(size_t count, size_t size)
{
	find();
	return next_calloc(count, size);
}

static void *first_realloc(void *address, size_t size)
{
	find();
	return next_realloc(address, size);
}

static void first_free(void *address)
{
	find();
	next_free(address);
}

void *malloc(size_t size)
{
	return next_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return next_calloc(count, size);
}

void *realloc(void *address, size_t size)
{
	return next_realloc(address, size);
}

void free(void *address)
{
	next_free(address);
}

/* CPython's PyMemAllocatorEx (Include/cpython/pymem.h), and its domains MEM and OBJ. */
struct allocator {
	void *context;
	void *(*malloc)(void *, size_t);
	void *(*calloc)(void *, size_t, size_t);
	void *(*realloc)(void *, void *, size_t);
	void (*free)(void *, void *);
};

void PyMem_GetAllocator(int domain, struct allocator *allocator) __attribute__((weak));
void PyMem_SetAllocator(int domain, struct allocator *allocator) __attribute__((weak));

NEXT struct allocator mem, obj;

/* As stackcam's library, it leaves free() alone. */
#define DOMAIN(name)                                                      \
	static void *name##_malloc(void *context, size_t size)            \
	{                                                                 \
		return name.malloc(context, size);                        \
	}                                                                 \
	static void *name##_calloc(void *context, size_t n, size_t size)  \
	{                                                                 \
		return name.calloc(context, n, size);                     \
	}                                                                 \
	static void *name##_realloc(void *context, void *at, size_t size) \
	{                                                                 \
		return name.realloc(context, at, size);                   \
	}                                                                 \
	static void name##_begin(int domain)                              \
	{                                                                 \
		struct allocator own;                                     \
                                                                          \
		PyMem_GetAllocator(domain, &name);                        \
		own = name;                                               \
		own.malloc = name##_malloc;                               \
		own.calloc = name##_calloc;                               \
		own.realloc = name##_realloc;                             \
		PyMem_SetAllocator(domain, &own);                         \
	}

DOMAIN(mem)
DOMAIN(obj)

__attribute__((constructor)) static void begin(void)
{
	if (!PyMem_GetAllocator || !PyMem_SetAllocator)
		return;
	mem_begin(1);
	obj_begin(2);
}
