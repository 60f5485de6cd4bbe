// SPDX-License-Identifier: Apache-2.0
/*
 * CPython's small objects. Its pools serve what has up to 512 bytes (Objects/obmalloc.c,
 * SMALL_REQUEST_THRESHOLD) without calling malloc(); what is larger goes to malloc(), and is seen
 * there. So this library stands before the two allocators that have pools as well: their functions
 * are words of the interpreter's, which it calls them by (struct PyMemAllocatorEx). Only the
 * functions are replaced, and not what they are called with, so any mix of old and new ones works.
 *
 * The one that gives back is not: interpreters are compiled for those that they bring, which stand
 * in the midst of what calls them as long as the word has their address. What is a sample moves out
 * of the pools (memory_python_unpool()). The interpreter finds then that it is of no pool, as it
 * does with what is larger, and gives it to free(), where the library sees it.
 *
 * In a process that is started with the library, that is done here, before the interpreter begins;
 * in one that runs already, the recorder has the words changed (sources/memory/python.h).
 */
#include "memory.h"

struct memory_python memory_python_obj MEMORY_HOT, memory_python_mem MEMORY_HOT;

/* Include/cpython/pymem.h */
enum {
	DOMAIN_RAW,
	DOMAIN_MEM,
	DOMAIN_OBJ
};

struct allocator {
	void *context;
	struct memory_python functions;
};

/* Of the interpreter, if the program has one; since 3.4. */
extern void PyMem_GetAllocator(int domain, struct allocator *allocator) __attribute__((weak));
extern void PyMem_SetAllocator(int domain, const struct allocator *allocator) __attribute__((weak));

/* Only builds without a global lock have it: these have another allocator, for all sizes. */
extern void _Py_MergeZeroLocalRefcount(void *object) __attribute__((weak));

static void replace(int domain, struct memory_python *next, const struct memory_python *with)
{
	struct allocator raw, own;

	PyMem_GetAllocator(DOMAIN_RAW, &raw);
	PyMem_GetAllocator(domain, &own);
	/* one that is built without pools calls malloc() for all */
	if (own.functions.malloc == raw.functions.malloc)
		return;
	*next = own.functions;
	own.functions = *with;
	own.functions.free = next->free;
	PyMem_SetAllocator(domain, &own);
}

/*
 * The dynamic linker calls it, when all that the program is linked with is there; the interpreter
 * keeps what it finds then, unless PYTHONMALLOC names another allocator.
 */
__attribute__((constructor)) static void begin(void)
{
	static const struct memory_python obj = {.malloc = stackcam_PyObject_Malloc,
						 .calloc = stackcam_PyObject_Calloc,
						 .realloc = stackcam_PyObject_Realloc},
					  mem = {.malloc = stackcam_PyMem_Malloc,
						 .calloc = stackcam_PyMem_Calloc,
						 .realloc = stackcam_PyMem_Realloc};

	if (!PyMem_GetAllocator || !PyMem_SetAllocator || _Py_MergeZeroLocalRefcount)
		return;
	replace(DOMAIN_OBJ, &memory_python_obj, &obj);
	replace(DOMAIN_MEM, &memory_python_mem, &mem);
}

/*
 * Moves an object from its pool to the C library, by means of the allocator alone: asked for more
 * than pools serve, and then for what it has. Returns whether it is known by its address there: not
 * where another allocator has pools for all sizes, or puts a header before it, as the interpreter's
 * own for debugging does. The thread is in the library.
 */
bool memory_python_unpool(struct memory_thread *self, const struct memory_python *functions,
			  void *context, void **address, size_t size)
{
	uint64_t left = self->left;
	void *moved;

	/* so all that malloc() and realloc() give passes memory.c, which takes note of it */
	self->left = MEMORY_SHARED;
	self->made = 0;
	moved = functions->realloc(context, *address, MEMORY_POOLS_MAX + 1);
	if (moved) {
		*address = moved;
		moved = functions->realloc(context, *address, size);
	}
	if (moved)
		*address = moved;
	self->left = left;
	return self->made == (uint64_t)*address;
}
