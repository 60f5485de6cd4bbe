// SPDX-License-Identifier: Apache-2.0
/*
 * Stands for the driver library of a GPU, libcuda.so.1, with entries of the real one's shape: each
 * exported function is "cmpl; je; jmp *WORD(%rip)", and WORD, in writable memory, has the address
 * of a function that no symbol names (the library is stripped). What is allocated stands in a table
 * of its own, by the tag that the caller has set: that is the truth.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cuda_driver.h"
#include "program.h"

#define EXPORTED   __attribute__((visibility("default"), used))
#define HIDDEN	   __attribute__((visibility("hidden"), used))
#define DONE	   0
#define INVALID	   1
#define NO_ROOM	   2

#define BLOCKS_MAX 8192

struct block {
	uint64_t key; /* address or handle; 0: free */
	uint64_t bytes;
	int tag;
	int is_handle, is_released, maps;
};

struct mapping {
	uint64_t address, handle;
};

HIDDEN unsigned int driver_state;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block blocks[BLOCKS_MAX];
static struct mapping mappings[BLOCKS_MAX];
static struct driver_truth truth;
static uint64_t next_address = 0x7f0000000000, next_handle = 0x1000;
static __thread int tag;
static struct driver_hooks hooks;

EXPORTED void driver_tag(int to)
{
	tag = to;
}

EXPORTED void driver_truth_of(struct driver_truth *to)
{
	pthread_mutex_lock(&lock);
	*to = truth;
	pthread_mutex_unlock(&lock);
	if (hooks.truth)
		hooks.truth(to);
}

/* -- the table --------------------------------------------------------------------------------- */

static struct block *block_of(uint64_t key)
{
	for (int i = 0; i < BLOCKS_MAX; i++)
		if (blocks[i].key == key)
			return &blocks[i];
	return NULL;
}

static int allocate(uint64_t *to, uint64_t bytes, int is_handle)
{
	struct block *block;
	int result = NO_ROOM;

	pthread_mutex_lock(&lock);
	block = bytes <= DRIVER_LARGEST ? block_of(0) : NULL;
	if (block) {
		*block = (struct block){.bytes = bytes, .tag = tag, .is_handle = is_handle};
		if (is_handle)
			block->key = next_handle++;
		else
			block->key = next_address;
		next_address += is_handle ? 0 : (bytes + 511) & ~511ull;
		*to = block->key;
		truth.allocated[tag] += bytes;
		truth.in_use[tag] += bytes;
		result = DONE;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

static void drop(struct block *block)
{
	truth.in_use[block->tag] -= block->bytes;
	block->key = 0;
}

static int release(uint64_t key)
{
	struct block *block;

	pthread_mutex_lock(&lock);
	block = key ? block_of(key) : NULL;
	if (block && block->is_handle)
		block->is_released = 1;
	if (block && !block->maps)
		drop(block);
	pthread_mutex_unlock(&lock);
	return block || !key ? DONE : INVALID;
}

/* -- kernels ----------------------------------------------------------------------------------- */

#define STREAMS	       16
#define DEFAULT_STREAM 7

static uint64_t busy_until[STREAMS];
static uint64_t launch_ns; /* from a launch to its begin: DRIVER_LAUNCH_NS of the environment */
static uint64_t gap_ns;	   /* between works of a stream, at least: DRIVER_GAP_NS */
static uint32_t last_number, last_graph;

EXPORTED int driver_hook(const struct driver_hooks *to)
{
	hooks = *to;
	return DONE;
}

static uint64_t now(void)
{
	struct timespec time;

	if (hooks.now)
		return hooks.now();
	clock_gettime(CLOCK_REALTIME, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint32_t launch(uint32_t callback)
{
	uint32_t number = __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);

	if (hooks.launch)
		hooks.launch(callback, number);
	return number;
}

/* A stream's handle is its number. */
static uint32_t stream_of(const void *stream)
{
	return stream ? (uint32_t)((uintptr_t)stream % STREAMS) : DEFAULT_STREAM;
}

static void run(struct driver_ran *ran, uint64_t ns)
{
	uint64_t *until = &busy_until[ran->stream];

	ran->begin = now() + launch_ns;
	ran->device = ran->stream >= DRIVER_SECOND_DEVICE;
	pthread_mutex_lock(&lock);
	if (ran->begin < *until + gap_ns)
		ran->begin = *until + gap_ns;
	*until = ran->end = ran->begin + ns;
	truth.kernels_ns[tag] += ns;
	truth.copied[tag] += ran->bytes;
	pthread_mutex_unlock(&lock);
	if (hooks.ran)
		hooks.ran(ran);
}

static void run_kernel(const struct driver_kernel *kernel, uint32_t number, uint32_t graph,
		       const void *stream)
{
	struct driver_ran ran = {.name = kernel->name,
				 .number = number,
				 .graph = graph,
				 .stream = stream_of(stream)};

	run(&ran, kernel->ns);
}

/* Returns the number of the call. */
static uint32_t run_copy(uint32_t callback, uint8_t direction, uint8_t from, size_t bytes,
			 const void *stream)
{
	struct driver_ran ran = {.direction = direction,
				 .from = from,
				 .number = launch(callback),
				 .bytes = bytes,
				 .stream = stream_of(stream)};

	run(&ran, DRIVER_COPY_NS(bytes));
	return ran.number;
}

/* As the real one does: a library that the environment names is loaded, once. */
static int do_cuInit(unsigned int flags)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;
	const char *late = getenv("DRIVER_LAUNCH_NS"), *gap = getenv("DRIVER_GAP_NS");
	int (*begin)(void);

	(void)flags;
	gap_ns = gap ? strtoull(gap, NULL, 10) : 0;
	launch_ns = late ? strtoull(late, NULL, 10) : 0;
	*(void **)&begin = library ? dlsym(library, "InitializeInjection") : NULL;
	if (begin)
		begin();
	NO_TAIL_CALL();
	return DONE;
}

static int do_cuCtxCreate_v2(void **context, unsigned int flags, int device)
{
	static char contexts[8];
	static int count;

	(void)flags, (void)device;
	*context = &contexts[count++ % 8];
	if (hooks.context)
		hooks.context(*context, 1);
	NO_TAIL_CALL();
	return DONE;
}

/* The code is where it is only until the function returns. */
static int do_cuModuleLoad(void **module, const char *path)
{
	static char context;
	FILE *file = fopen(path, "rb");
	char *code = malloc(1 << 20);
	size_t size = file && code ? fread(code, 1, 1 << 20, file) : 0;

	if (file)
		fclose(file);
	if (size && hooks.module)
		hooks.module(&context, code, size);
	*module = &context;
	if (code)
		memset(code, 0, 1 << 20);
	free(code);
	return size ? DONE : INVALID;
}

static int do_cuLaunchKernel(const struct driver_kernel *kernel, unsigned int grid_x,
			     unsigned int grid_y, unsigned int grid_z, unsigned int block_x,
			     unsigned int block_y, unsigned int block_z, unsigned int shared,
			     void *stream, void **parameters, void **extra)
{
	uint32_t number = launch(307);

	(void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z;
	(void)shared, (void)parameters, (void)extra;
	run_kernel(kernel, number, 0, stream);
	NO_TAIL_CALL();
	return DONE;
}

static int do_cuGraphLaunch(const struct driver_graph *graph, void *stream)
{
	uint32_t number = launch(514), id = __atomic_add_fetch(&last_graph, 1, __ATOMIC_RELAXED);

	for (int i = 0; i < graph->count; i++)
		run_kernel(graph->kernels[i], number, id, stream);
	NO_TAIL_CALL();
	return DONE;
}

/* Callbacks are those of cupti_driver_cbid.h. */
enum {
	HOST_TO_DEVICE = 1,
	DEVICE_TO_HOST = 2,
	TO_PEER = 10,
	SET = 15,
	PAGEABLE = 1,
	ON_DEVICE = 3,
};

static int do_cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
	(void)to, (void)from;
	run_copy(277, HOST_TO_DEVICE, PAGEABLE, bytes, stream);
	NO_TAIL_CALL();
	return DONE;
}

static int do_cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
	uint32_t number = run_copy(278, DEVICE_TO_HOST, ON_DEVICE, bytes, NULL);
	uint64_t until = busy_until[DEFAULT_STREAM], begin = now();
	const struct timespec pause = {0, (long)(until > begin ? until - begin : 0) % 1000000000};

	(void)to, (void)from;
	if (pause.tv_nsec)
		nanosleep(&pause, NULL);
	if (hooks.end)
		hooks.end(278, number);
	return DONE;
}

static int do_cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context,
				size_t bytes, void *stream)
{
	(void)to, (void)to_context, (void)from, (void)from_context;
	run_copy(319, TO_PEER, ON_DEVICE, bytes, stream);
	NO_TAIL_CALL();
	return DONE;
}

static int do_cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream)
{
	(void)to, (void)value;
	run_copy(216, SET, ON_DEVICE, bytes, stream);
	NO_TAIL_CALL();
	return DONE;
}

/* -- what the entries jump to ------------------------------------------------------------------ */

static void end_wait(struct driver_waited *waited)
{
	waited->end = now();
	pthread_mutex_lock(&lock);
	truth.waited_ns[tag] += waited->end - waited->begin;
	pthread_mutex_unlock(&lock);
	if (hooks.waited)
		hooks.waited(waited);
}

/* The host computes while it waits for the device, */
static int do_cuCtxSynchronize(void)
{
	struct driver_waited waited = {
		.type = 4, .number = launch(17), .stream = UINT32_MAX, .begin = now()};

	spin(MILLISECOND);
	end_wait(&waited);
	return DONE;
}

/* At least 2 ms, and until that time. */
static void sleep_until(uint64_t until)
{
	uint64_t begin = now(), ns = 2000000;
	struct timespec pause;

	if (until > begin + ns)
		ns = until - begin;
	pause = (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
	nanosleep(&pause, NULL);
}

/* or sleeps. */
static int do_cuStreamSynchronize(void *stream)
{
	struct driver_waited waited = {
		.type = 3, .number = launch(126), .stream = stream_of(stream), .begin = now()};

	sleep_until(busy_until[waited.stream]);
	end_wait(&waited);
	return DONE;
}

/* An event's handle is its number, too. */
#define EVENTS 16
static uint64_t event_ends[EVENTS];

static uint32_t event_of(const void *event)
{
	return (uint32_t)((uintptr_t)event % EVENTS);
}

/* It is over when all is that the stream has got before. */
static int do_cuEventRecord(void *event, void *stream)
{
	const struct driver_event new = {launch(119), stream_of(stream), event_of(event)};

	event_ends[new.event] = busy_until[new.stream];
	if (hooks.event)
		hooks.event(&new);
	NO_TAIL_CALL();
	return DONE;
}

static int do_cuEventSynchronize(void *event)
{
	struct driver_waited waited = {.type = 1,
				       .number = launch(121),
				       .stream = UINT32_MAX,
				       .event = event_of(event),
				       .begin = now()};

	sleep_until(event_ends[waited.event]);
	end_wait(&waited);
	return DONE;
}

static int do_cuMemAlloc_v2(uint64_t *to, size_t bytes)
{
	return allocate(to, bytes, 0);
}

static int do_cuMemAllocManaged(uint64_t *to, size_t bytes, unsigned int flags)
{
	(void)flags;
	return allocate(to, bytes, 0);
}

static int do_cuMemAllocPitch_v2(uint64_t *to, size_t *pitch, size_t width, size_t height,
				 unsigned int element)
{
	(void)element;
	*pitch = (width + 511) & ~(size_t)511;
	return allocate(to, *pitch * height, 0);
}

extern int cuMemAlloc_v2(uint64_t *to, size_t bytes);

/* One function of the interface calls another one: that is one allocation. */
static int do_cuMemAllocAsync(uint64_t *to, size_t bytes, void *stream)
{
	int result = cuMemAlloc_v2(to, bytes);

	(void)stream;
	NO_TAIL_CALL();
	return result;
}

static int do_cuMemAllocFromPoolAsync(uint64_t *to, size_t bytes, void *pool, void *stream)
{
	(void)pool;
	(void)stream;
	return allocate(to, bytes, 0);
}

static int do_cuMemFree_v2(uint64_t address)
{
	return release(address);
}

static int do_cuMemFreeAsync(uint64_t address, void *stream)
{
	(void)stream;
	return release(address);
}

static int do_cuArrayCreate_v2(uint64_t *to, const struct driver_array *array)
{
	/* a row of height 0 is an array of one dimension; four channels of 32 bits have 16 bytes */
	size_t height = array->height ? array->height : 1;

	return allocate(to, array->width * height * array->channels * 4, 0);
}

static int do_cuArrayDestroy(uint64_t array)
{
	return release(array);
}

static int do_cuMemCreate(uint64_t *to, size_t bytes, const void *properties, uint64_t flags)
{
	(void)properties;
	(void)flags;
	return allocate(to, bytes, 1);
}

static int do_cuMemRelease(uint64_t handle)
{
	return release(handle);
}

static int do_cuMemMap(uint64_t address, size_t bytes, size_t offset, uint64_t handle,
		       uint64_t flags)
{
	struct block *block;

	(void)bytes;
	(void)offset;
	(void)flags;
	pthread_mutex_lock(&lock);
	block = block_of(handle);
	for (int i = 0; block && i < BLOCKS_MAX; i++)
		if (!mappings[i].address) {
			mappings[i] = (struct mapping){address, handle};
			block->maps++;
			break;
		}
	pthread_mutex_unlock(&lock);
	return block ? DONE : INVALID;
}

static int do_cuMemUnmap(uint64_t address, size_t bytes)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < BLOCKS_MAX; i++) {
		struct block *block;

		if (!mappings[i].address || mappings[i].address - address >= bytes)
			continue;
		block = block_of(mappings[i].handle);
		if (block && !--block->maps && block->is_released)
			drop(block);
		mappings[i].address = 0;
	}
	pthread_mutex_unlock(&lock);
	return DONE;
}

/* -- entries ----------------------------------------------------------------------------------- */

#define ENTRY(name)                                                                              \
	HIDDEN void *word_##name = (void *)do_##name;                                            \
	__asm__(".text\n.p2align 5\n"                                                            \
		".globl " #name "\n.type " #name ", @function\n" #name ":\n\t.cfi_startproc\n\t" \
		"cmpl $0x321cba00, driver_state(%rip)\n\t"                                       \
		"je 1f\n\t"                                                                      \
		"jmp *word_" #name "(%rip)\n\t"                                                  \
		".p2align 3\n1:\tmov $4, %eax\n\tret\n\t.cfi_endproc\n\t"                        \
		".size " #name ", . - " #name "\n")

ENTRY(cuInit);
ENTRY(cuCtxCreate_v2);
ENTRY(cuModuleLoad);
ENTRY(cuLaunchKernel);
ENTRY(cuGraphLaunch);
ENTRY(cuMemcpyHtoDAsync_v2);
ENTRY(cuMemcpyDtoH_v2);
ENTRY(cuMemcpyPeerAsync);
ENTRY(cuMemsetD8Async);
ENTRY(cuCtxSynchronize);
ENTRY(cuEventRecord);
ENTRY(cuEventSynchronize);
ENTRY(cuStreamSynchronize);
ENTRY(cuMemAlloc_v2);
ENTRY(cuMemAllocManaged);
ENTRY(cuMemAllocPitch_v2);
ENTRY(cuMemAllocAsync);
ENTRY(cuMemAllocFromPoolAsync);
ENTRY(cuMemFree_v2);
ENTRY(cuMemFreeAsync);
ENTRY(cuArrayCreate_v2);
ENTRY(cuArrayDestroy);
ENTRY(cuMemCreate);
ENTRY(cuMemRelease);
ENTRY(cuMemMap);
ENTRY(cuMemUnmap);
