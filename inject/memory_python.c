// SPDX-License-Identifier: Apache-2.0
/*
 * CPython's small objects. Its pools serve what has up to 512 bytes (Objects/obmalloc.c,
 * SMALL_REQUEST_THRESHOLD) without calling malloc(); what is larger goes to malloc(), and is seen
 * there. So this library stands before the two allocators that have pools as well: their functions
 * are words of the interpreter's, which it calls them by (struct PyMemAllocatorEx). Only the
 * functions are replaced, and not what they are called with, so any mix of old and new ones works.
 *
 * In a process that is started with the library, that is done here, before the interpreter begins;
 * in one that runs already, the recorder has the words changed (camera/mem_python.h).
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
	PyMem_SetAllocator(domain, &own);
}

/*
 * The dynamic linker calls it, when all that the program is linked with is there; the interpreter
 * keeps what it finds then, unless PYTHONMALLOC names another allocator.
 */
__attribute__((constructor)) static void begin(void)
{
	static const struct memory_python obj = {stackcam_PyObject_Malloc, stackcam_PyObject_Calloc,
						 stackcam_PyObject_Realloc, stackcam_PyObject_Free},
					  mem = {stackcam_PyMem_Malloc, stackcam_PyMem_Calloc,
						 stackcam_PyMem_Realloc, stackcam_PyMem_Free};

	if (!PyMem_GetAllocator || !PyMem_SetAllocator || _Py_MergeZeroLocalRefcount)
		return;
	replace(DOMAIN_OBJ, &memory_python_obj, &obj);
	replace(DOMAIN_MEM, &memory_python_mem, &mem);
}
