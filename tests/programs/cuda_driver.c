// SPDX-License-Identifier: Apache-2.0
/*
 * Stands for the driver library of a GPU, libcuda.so.1, with entries of the real one's shape: each
 * exported function is "cmpl; je; jmp *WORD(%rip)", and WORD, in writable memory, has the address
 * of a function that no symbol names (the library is stripped). What it runs is added up by the
 * tag that the caller has set: that is the truth. Its memory is in cuda_driver_memory.c.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cuda_driver_own.h"
#include "program.h"

HIDDEN unsigned int driver_state;
HIDDEN pthread_mutex_t driver_lock = PTHREAD_MUTEX_INITIALIZER;
HIDDEN struct driver_truth driver_truth;
HIDDEN __thread int driver_own_tag;
static struct driver_hooks hooks;

/* They may come and go at any time. */
#define CALL_HOOK(name, ...)                                                                  \
	do {                                                                                  \
		__typeof__(hooks.name) hook = __atomic_load_n(&hooks.name, __ATOMIC_RELAXED); \
		if (hook)                                                                     \
			hook(__VA_ARGS__);                                                    \
	} while (0)

EXPORTED void driver_tag(int to)
{
	driver_own_tag = to;
}

EXPORTED void driver_truth_of(struct driver_truth *to)
{
	pthread_mutex_lock(&driver_lock);
	*to = driver_truth;
	pthread_mutex_unlock(&driver_lock);
	if (hooks.truth)
		hooks.truth(to);
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

	CALL_HOOK(launch, callback, number);
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
	pthread_mutex_lock(&driver_lock);
	if (ran->begin < *until + gap_ns)
		ran->begin = *until + gap_ns;
	*until = ran->end = ran->begin + ns;
	driver_truth.kernels_ns[driver_own_tag] += ns;
	driver_truth.copied[driver_own_tag] += ran->bytes;
	pthread_mutex_unlock(&driver_lock);
	CALL_HOOK(ran, ran);
}

static void run_kernel(const struct driver_kernel *kernel, uint32_t number, const void *stream)
{
	struct driver_ran ran = {
		.name = kernel->name, .number = number, .stream = stream_of(stream)};

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

/* -- graphs ------------------------------------------------------------------------------------ */

/* Callbacks (CUpti_CallbackIdResource). */
enum {
	NODE_CREATED = 13,
	NODE_ENDS = 14,
	NODE_CLONED = 20,
};

static __thread struct driver_graph *captured; /* by this thread, now */

static uint64_t new_node(void)
{
	static uint64_t last;
	uint64_t node = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);

	if (hooks.node)
		hooks.node(NODE_CREATED, node, 0);
	return node;
}

static void capture(const struct driver_kernel *kernel)
{
	if (captured->count == DRIVER_NODES)
		abort();
	captured->kernels[captured->count] = kernel;
	captured->tags[captured->count] = driver_own_tag;
	captured->nodes[captured->count] = new_node();
	captured->count++;
}

static int do_cuLaunchKernel(const struct driver_kernel *kernel, unsigned int grid_x,
			     unsigned int grid_y, unsigned int grid_z, unsigned int block_x,
			     unsigned int block_y, unsigned int block_z, unsigned int shared,
			     void *stream, void **parameters, void **extra)
{
	uint32_t number = launch(307);

	(void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z;
	(void)shared, (void)parameters, (void)extra;
	if (captured)
		capture(kernel);
	else
		run_kernel(kernel, number, stream);
	NO_TAIL_CALL();
	return DONE;
}

static int do_cuStreamBeginCapture_v2(void *stream, int mode)
{
	(void)stream, (void)mode;
	captured = calloc(1, sizeof(*captured));
	return captured ? DONE : NO_ROOM;
}

static int do_cuStreamEndCapture(void *stream, struct driver_graph **graph)
{
	(void)stream;
	*graph = captured;
	captured = NULL;
	return *graph ? DONE : INVALID;
}

/* As of the real one, each node of the copy is made, and then said to be a copy. */
static int do_cuGraphInstantiateWithFlags(struct driver_graph **to,
					  const struct driver_graph *graph,
					  unsigned long long flags)
{
	struct driver_graph *copy = malloc(sizeof(*copy));
	uint32_t number = launch(643);

	(void)flags;
	if (!copy)
		return NO_ROOM;
	*copy = *graph;
	for (int i = 0; i < copy->count; i++) {
		copy->nodes[i] = new_node();
		if (hooks.node)
			hooks.node(NODE_CLONED, copy->nodes[i], graph->nodes[i]);
	}
	*to = copy;
	if (hooks.end)
		hooks.end(643, number);
	return DONE;
}

static int do_cuGraphExecDestroy(struct driver_graph *graph)
{
	for (int i = 0; i < graph->count; i++)
		if (hooks.node)
			hooks.node(NODE_ENDS, graph->nodes[i], 0);
	free(graph);
	NO_TAIL_CALL();
	return DONE;
}

static int do_cuGraphLaunch(const struct driver_graph *graph, void *stream)
{
	uint32_t number = launch(514), id = __atomic_add_fetch(&last_graph, 1, __ATOMIC_RELAXED);

	for (int i = 0; i < graph->count; i++) {
		struct driver_ran ran = {.name = graph->kernels[i]->name,
					 .number = number,
					 .graph = id,
					 .node = graph->nodes[i],
					 .stream = stream_of(stream)};

		run(&ran, graph->kernels[i]->ns);
		__atomic_add_fetch(&driver_truth.captured_ns[graph->tags[i]], graph->kernels[i]->ns,
				   __ATOMIC_RELAXED);
	}
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
	CALL_HOOK(end, 278, number);
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
	pthread_mutex_lock(&driver_lock);
	driver_truth.waited_ns[driver_own_tag] += waited->end - waited->begin;
	pthread_mutex_unlock(&driver_lock);
	CALL_HOOK(waited, waited);
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
	CALL_HOOK(event, &new);
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

/* -- entries ----------------------------------------------------------------------------------- */

ENTRY(cuInit);
ENTRY(cuCtxCreate_v2);
ENTRY(cuModuleLoad);
ENTRY(cuLaunchKernel);
ENTRY(cuStreamBeginCapture_v2);
ENTRY(cuStreamEndCapture);
ENTRY(cuGraphInstantiateWithFlags);
ENTRY(cuGraphExecDestroy);
ENTRY(cuGraphLaunch);
ENTRY(cuMemcpyHtoDAsync_v2);
ENTRY(cuMemcpyDtoH_v2);
ENTRY(cuMemcpyPeerAsync);
ENTRY(cuMemsetD8Async);
ENTRY(cuCtxSynchronize);
ENTRY(cuEventRecord);
ENTRY(cuEventSynchronize);
ENTRY(cuStreamSynchronize);
