// SPDX-License-Identifier: Apache-2.0
#include "film/events.h"

#include <string.h>

#include "base/clock.h"

/* To add an event: its id in events.h, and a row here. */
static const struct event_type ours[EVENT_IDS] = {
	[EVENT_ON_CPU] =
		{
			.name = "on-cpu",
			.unit = "ns",
			.quantity = EVENT_TIME,
			.is_recordable = true,
			.is_of_all_that_runs = true,
			.title = "On-CPU",
			.rate = "CPUs",
			.noun = "samples",
			.about = "time on CPUs, by samples",
			.abroad = {"cpu", "process_cpu"},
		},
	[EVENT_CALLS] =
		{
			.name = "calls",
			.unit = "ns",
			.shape = SHAPE_CALLS,
			.quantity = EVENT_TIME,
			.title = "Calls",
			.rate = "threads",
			.noun = "calls",
			.about = "time in functions that are traced",
		},
	[EVENT_CALL_STACKS] =
		{
			.name = "call-stacks",
			.unit = "count",
			.quantity = EVENT_COUNT,
			.title = "Stacks of calls",
			.rate = "calls/s",
			.noun = "samples",
			.about = "callers of the functions that are traced",
		},
	[EVENT_OFF_CPU] =
		{
			.name = "off-cpu",
			.unit = "ns",
			.quantity = EVENT_TIME,
			.is_interval = true,
			.is_recordable = true,
			.title = "Off-CPU",
			.rate = "threads waiting",
			.noun = "waits",
			.about = "time that threads wait, by the stack that waits",
			.abroad = {"off_cpu", "off_cpu"},
		},
	[EVENT_RUN_QUEUE] =
		{
			.name = "run-queue",
			.unit = "ns",
			.quantity = EVENT_TIME,
			.is_interval = true,
			.is_recordable = true,
			.title = "Run queue",
			.rate = "threads ready",
			.noun = "waits",
			.about = "time that threads could run but have no CPU",
			.abroad = {"run_queue", "run_queue"},
		},
	[EVENT_IDLE] =
		{
			.name = "idle",
			.unit = "ns",
			.quantity = EVENT_TIME,
			.is_interval = true,
			.is_recordable = true,
			.title = "Idle",
			.rate = "threads idle",
			.noun = "waits",
			.about = "time that threads wait for new work, or are stopped",
			.abroad = {"idle", "idle"},
		},
	[EVENT_LOCK] =
		{
			.name = "lock",
			.unit = "ns",
			.quantity = EVENT_TIME,
			.is_interval = true,
			.has_locks = true,
			.is_recordable = true,
			.title = "Locks",
			.rate = "threads waiting for locks",
			.noun = "waits",
			.about = "time that threads wait for locks, and for whose",
			.abroad = {"lock", "mutex"},
		},
	[EVENT_THREADS] =
		{
			.name = "threads",
			.unit = "ns",
			.shape = SHAPE_SLICES,
			.quantity = EVENT_TIME,
			.is_interval = true,
			.title = "Threads",
			.rate = "threads waiting",
			.is_recordable = true,
			.is_of_all_that_runs = true,
			.noun = "turns",
			.about = "what every thread did, every moment: its turns on CPUs and its "
				 "waits",
		},
	[EVENT_DUMP] =
		{
			.name = "dump",
			.unit = "ns",
			.quantity = EVENT_TIME,
			.is_interval = true,
			.title = "Threads",
			.rate = "threads",
			.noun = "threads",
			.about = "threads as they are at one moment",
		},
	[EVENT_MEM_GROW] =
		{
			.name = "mem-grow",
			.unit = "bytes",
			.quantity = EVENT_BYTES,
			.is_recordable = true,
			.title = "Memory growth",
			.rate = "bytes/s",
			.noun = "samples",
			.about = "memory that processes touch first, by samples of page faults",
			.abroad = {"mem_grow", "memory_growth"},
		},
	[EVENT_FILE_FAULTS] =
		{
			.name = "file-faults",
			.unit = "count",
			.quantity = EVENT_COUNT,
			.is_recordable = true,
			.title = "Page faults on files",
			.rate = "faults/s",
			.noun = "samples",
			.about = "page faults on mapped files, by samples of them",
			.abroad = {"file_faults", "file_faults"},
		},
	[EVENT_MEM_ALLOC] =
		{
			.name = "mem-alloc",
			.unit = "bytes",
			.quantity = EVENT_BYTES,
			.is_recordable = true,
			.title = "Allocated memory",
			.rate = "bytes/s",
			.noun = "samples",
			.about = "memory that programs allocate, by samples of allocations",
			.abroad = {"mem_alloc", "memory_allocated"},
		},
	[EVENT_MEM_INUSE] =
		{
			.name = "mem-inuse",
			.unit = "bytes",
			.quantity = EVENT_BYTES,
			.is_level = true,
			.is_recordable = true,
			.title = "Memory in use",
			.rate = "bytes",
			.noun = "samples",
			.about = "memory that programs have allocated and hold",
			.abroad = {"mem_inuse", "memory_in_use"},
		},
	[EVENT_RSS] =
		{
			.name = "rss",
			.unit = "bytes",
			.quantity = EVENT_BYTES,
			.is_level = true,
			.is_recordable = true,
			.title = "Memory in RAM",
			.rate = "bytes",
			.noun = "gauges",
			.about = "what the memory of processes is: heaps, files, stacks",
			.abroad = {"rss", "memory_rss"},
		},
	[EVENT_MEM_BESIDE] =
		{
			.name = "mem-beside",
			.unit = "bytes",
			.quantity = EVENT_BYTES,
			.is_level = true,
			.is_recordable = true,
			.title = "Memory beside RSS",
			.rate = "bytes",
			.noun = "gauges",
			.about = "page tables, kernel stacks and what is swapped out, of processes",
			.abroad = {"mem_beside", "memory_beside"},
		},
	[EVENT_ON_GPU] =
		{
			.name = "on-gpu",
			.unit = "ns",
			.quantity = EVENT_TIME,
			.is_interval = true,
			.is_recordable = true,
			.title = "On-GPU",
			.rate = "kernels and copies",
			.noun = "samples",
			.about = "time of kernels and copies on GPUs, by the stack that launched "
				 "them",
			.abroad = {"on_gpu", "on_gpu"},
		},
	[EVENT_GPU_INSTRUCTIONS] =
		{
			.name = "gpu-instructions",
			.unit = "count",
			.quantity = EVENT_COUNT,
			.is_recordable = true,
			.title = "GPU instructions",
			.rate = "samples/s",
			.noun = "samples",
			.about = "where warps of GPUs are, and why they wait, by launch and "
				 "instruction",
			.abroad = {"gpu_instructions", "gpu_instructions"},
		},
	[EVENT_GPU_COPIES] =
		{
			.name = "gpu-copies",
			.unit = "bytes",
			.quantity = EVENT_BYTES,
			.is_recordable = true,
			.title = "GPU copies",
			.rate = "bytes/s",
			.noun = "samples",
			.about = "bytes that GPUs copy and set, by direction and by the stack that "
				 "asked for them",
			.abroad = {"gpu_copies", "gpu_copied"},
		},
	[EVENT_GPU_WAIT] =
		{
			.name = "gpu-wait",
			.unit = "ns",
			.quantity = EVENT_TIME,
			.is_interval = true,
			.is_recordable = true,
			.title = "Waiting for GPUs",
			.rate = "threads waiting",
			.noun = "samples",
			.about = "time that threads wait for GPUs, by the stack that waits and the "
				 "work that ran",
			.abroad = {"gpu_wait", "gpu_wait"},
		},
	[EVENT_GPU_LANES] =
		{
			.name = "gpu-lanes",
			.unit = "ns",
			.quantity = EVENT_TIME,
			.has_no_samples = true,
			.is_recordable = true,
			.title = "GPU lanes",
			.rate = "kernels and copies",
			.noun = "kernels and copies",
			.about = "what every stream of GPUs ran, from when to when; for explain "
				 "--gpu and the timeline",
		},
	[EVENT_HBM_ALLOC] =
		{
			.name = "hbm-alloc",
			.unit = "bytes",
			.quantity = EVENT_BYTES,
			.is_recordable = true,
			.title = "Allocated device memory",
			.rate = "bytes/s",
			.noun = "allocations",
			.about = "memory of GPUs that programs allocate",
			.abroad = {"hbm_alloc", "hbm_allocated"},
		},
	[EVENT_HBM_INUSE] =
		{
			.name = "hbm-inuse",
			.unit = "bytes",
			.quantity = EVENT_BYTES,
			.is_level = true,
			.is_recordable = true,
			.title = "Device memory in use",
			.rate = "bytes",
			.noun = "allocations",
			.about = "memory of GPUs that programs have allocated and hold",
			.abroad = {"hbm_inuse", "hbm_in_use"},
		},
	[EVENT_RDMA] =
		{
			.name = "rdma",
			.unit = "bytes",
			.quantity = EVENT_BYTES,
			.is_recordable = true,
			.title = "RDMA",
			.rate = "bytes/s",
			.noun = "operations",
			.about = "bytes that programs transfer by RDMA, by the stack that posts "
				 "them",
			.abroad = {"rdma", "rdma_bytes"},
		},
	[EVENT_RDMA_LATENCY] =
		{
			.name = "rdma-latency",
			.unit = "ns",
			.quantity = EVENT_TIME,
			.is_interval = true,
			.is_recordable = true,
			.title = "RDMA latency",
			.rate = "operations open",
			.noun = "operations",
			.about = "time of RDMA operations, from the post to the polled completion",
			.abroad = {"rdma_latency", "rdma_latency"},
		},
	[EVENT_RDMA_MEMORY] =
		{
			.name = "rdma-memory",
			.unit = "bytes",
			.quantity = EVENT_BYTES,
			.is_level = true,
			.is_recordable = true,
			.title = "Memory registered for RDMA",
			.rate = "bytes",
			.noun = "regions",
			.about = "memory that programs have registered for RDMA, and hold",
			.abroad = {"rdma_memory", "rdma_memory"},
		},
	[EVENT_DEATHS] =
		{
			.name = "deaths",
			.unit = "count",
			.quantity = EVENT_COUNT,
			.is_recordable = true,
			.title = "Deaths",
			.rate = "threads/s",
			.noun = "threads",
			.about = "threads whose process dies of a signal, by their last stacks",
		},
	[EVENT_GO_WAIT] =
		{
			.name = "go-wait",
			.unit = "ns",
			.quantity = EVENT_TIME,
			.is_interval = true,
			.is_recordable = true,
			.title = "Goroutines waiting",
			.rate = "goroutines waiting",
			.noun = "waits",
			.about =
				"time that goroutines of Go programs wait, by the stack that waits",
			.abroad = {"go_wait", "go_wait"},
		},
	[EVENT_GO_QUEUE] =
		{
			.name = "go-queue",
			.unit = "ns",
			.quantity = EVENT_TIME,
			.is_interval = true,
			.is_recordable = true,
			.title = "Goroutines ready",
			.rate = "goroutines ready",
			.noun = "waits",
			.about = "time that goroutines could run, and no thread takes them",
			.abroad = {"go_queue", "go_queue"},
		},
	[EVENT_GO_IDLE] =
		{
			.name = "go-idle",
			.unit = "ns",
			.quantity = EVENT_TIME,
			.is_interval = true,
			.is_recordable = true,
			.title = "Goroutines idle",
			.rate = "goroutines idle",
			.noun = "waits",
			.about = "time that goroutines wait for new work",
			.abroad = {"go_idle", "go_idle"},
		},
	[EVENT_GO_LANES] =
		{
			.name = "go-lanes",
			.unit = "ns",
			.shape = SHAPE_SLICES,
			.quantity = EVENT_TIME,
			.is_interval = true,
			.title = "Goroutines",
			.rate = "goroutines waiting",
			.is_recordable = true,
			.noun = "turns",
			.lane = "goroutine",
			.about = "what every goroutine of Go programs did, every moment",
		},
	[EVENT_TASK_LANES] =
		{
			.name = "task-lanes",
			.unit = "ns",
			.shape = SHAPE_SLICES,
			.quantity = EVENT_TIME,
			.is_interval = true,
			.title = "Tasks",
			.rate = "tasks waiting",
			.is_recordable = true,
			.noun = "turns",
			.lane = "task",
			.about = "what every asyncio task did, every moment",
		},
	[EVENT_VTHREAD_LANES] =
		{
			.name = "vthread-lanes",
			.unit = "ns",
			.shape = SHAPE_SLICES,
			.quantity = EVENT_TIME,
			.is_interval = true,
			.title = "Virtual threads",
			.rate = "virtual threads waiting",
			.is_recordable = true,
			.noun = "turns",
			.lane = "virtual thread",
			.about = "what every virtual thread of Java did, every moment",
		},
	[EVENT_REQUESTS] =
		{
			.name = "requests",
			.unit = "ns",
			.quantity = EVENT_TIME,
			.is_interval = true,
			.is_recordable = true,
			.has_requests = true,
			.title = "Requests",
			.rate = "requests open",
			.noun = "requests",
			.about = "requests that programs serve and make, by their endpoints",
			.abroad = {"requests", "requests"},
		},
	[EVENT_MACHINE] =
		{
			.name = "machine",
			.unit = "count",
			.quantity = EVENT_COUNT,
			.has_no_samples = true,
			.is_recordable = true,
			.title = "Machine",
			.rate = "values/s",
			.noun = "values",
			.about = "what the machine did beside: CPUs, disks, network, memory; a "
				 "part of threads",
		},
	[EVENT_LOGS] =
		{
			.name = "logs",
			.unit = "count",
			.quantity = EVENT_COUNT,
			.has_no_samples = true,
			.is_recordable = true,
			.title = "Logs",
			.rate = "lines/s",
			.noun = "lines",
			.about = "lines that threads write to logs; they may hold secrets",
		},
};

/*
 * A row of an event that others push: nothing but its unit and its words are known, and whether it
 * is a flow or a level.
 */
#define ROW(its_name, its_unit, its_quantity, level, its_title, its_rate)                        \
	{                                                                                        \
		.name = its_name, .unit = its_unit, .quantity = its_quantity, .is_level = level, \
		.title = its_title, .rate = its_rate, .noun = "samples", .about = ""             \
	}
#define FLOW(name, unit, quantity, title, rate)	 ROW(name, unit, quantity, false, title, rate)
#define LEVEL(name, unit, quantity, title, rate) ROW(name, unit, quantity, true, title, rate)

/* Pyroscope's clients end names with these. */
static const struct event_type endings[] = {
	FLOW("wall", "ns", EVENT_TIME, "Wall clock", "threads"),
	FLOW("itimer", "ns", EVENT_TIME, "Interval timer", "CPUs"),
	FLOW("alloc_objects", "count", EVENT_COUNT, "Allocations", "objects/s"),
	FLOW("alloc_space", "bytes", EVENT_BYTES, "Allocated memory", "bytes/s"),
	LEVEL("inuse_objects", "count", EVENT_COUNT, "Objects in use", "objects"),
	LEVEL("inuse_space", "bytes", EVENT_BYTES, "Memory in use", "bytes"),
	FLOW("alloc_in_new_tlab_objects", "count", EVENT_COUNT, "Allocations in new TLABs",
	     "objects/s"),
	FLOW("alloc_in_new_tlab_bytes", "bytes", EVENT_BYTES, "Allocated in new TLABs", "bytes/s"),
	FLOW("alloc_outside_tlab_objects", "count", EVENT_COUNT, "Allocations outside TLABs",
	     "objects/s"),
	FLOW("alloc_outside_tlab_bytes", "bytes", EVENT_BYTES, "Allocated outside TLABs",
	     "bytes/s"),
	FLOW("lock_count", "count", EVENT_COUNT, "Waits for locks", "waits/s"),
	FLOW("lock_duration", "ns", EVENT_TIME, "Waiting for locks", "threads waiting for locks"),
	FLOW("mutex_count", "count", EVENT_COUNT, "Waits for mutexes", "waits/s"),
	FLOW("mutex_duration", "ns", EVENT_TIME, "Waiting for mutexes",
	     "threads waiting for mutexes"),
	FLOW("block_count", "count", EVENT_COUNT, "Waits", "waits/s"),
	FLOW("block_duration", "ns", EVENT_TIME, "Waiting", "threads waiting"),
	LEVEL("goroutines", "count", EVENT_COUNT, "Goroutines", "goroutines"),
	FLOW("exceptions", "count", EVENT_COUNT, "Exceptions", "exceptions/s"),
};

/* Types of Go's profiles. */
static const struct event_type types[] = {
	FLOW("contentions", "count", EVENT_COUNT, "Contentions", "contentions/s"),
	FLOW("delay", "ns", EVENT_TIME, "Delay", "threads waiting"),
	LEVEL("goroutine", "count", EVENT_COUNT, "Goroutines", "goroutines"),
	LEVEL("threadcreate", "count", EVENT_COUNT, "Threads", "threads"),
};

/* Any other event. */
static const struct event_type flows[] = {
	[EVENT_COUNT] = FLOW(NULL, "count", EVENT_COUNT, NULL, "/s"),
	[EVENT_TIME] = FLOW(NULL, "ns", EVENT_TIME, NULL, "threads"),
	[EVENT_BYTES] = FLOW(NULL, "bytes", EVENT_BYTES, NULL, "bytes/s"),
};
static const struct event_type levels[] = {
	[EVENT_COUNT] = LEVEL(NULL, "count", EVENT_COUNT, NULL, ""),
	[EVENT_TIME] = LEVEL(NULL, "ns", EVENT_TIME, NULL, ""),
	[EVENT_BYTES] = LEVEL(NULL, "bytes", EVENT_BYTES, NULL, "bytes"),
};

/* Tools that sum up what is there call it in one of these ways, with any text around it. */
static const char *const words_of_levels[] = {"inuse", "in_use", "in-use", "heap_live",
					      "heap-live"};

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

static const struct event_type *find(const struct event_type *table, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(table[i].name, name))
			return &table[i];
	return NULL;
}

const struct event_type *event_type(enum event_id id)
{
	return &ours[id];
}

const struct event_type *event_named(const char *name)
{
	const struct event_type *type = find(ours, COUNT_OF(ours), name);

	if (!type)
		type = find(endings, COUNT_OF(endings), name);
	return type ? type : find(types, COUNT_OF(types), name);
}

static bool sounds_like_level(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(words_of_levels); i++)
		if (strstr(name, words_of_levels[i]))
			return true;
	return false;
}

/* Films of others may call something so that has another unit: then it is something else. */
const struct event_type *event_find(const char *name, const char *unit)
{
	const struct event_type *type = event_named(name);
	enum event_quantity quantity = event_quantity(unit);

	if (type && !strcmp(type->unit, unit))
		return type;
	return sounds_like_level(name) ? &levels[quantity] : &flows[quantity];
}

bool event_has_summable_samples(const struct film_event *event)
{
	const struct event_type *type = event_of(event);

	return type->shape == SHAPE_SAMPLES && !type->is_level && !type->has_requests &&
	       !type->has_no_samples;
}

const struct event_type *event_usual(void)
{
	return &ours[EVENT_ON_CPU];
}

bool event_is_pyroscope_ending(const char *name)
{
	return !strcmp(name, ours[EVENT_ON_CPU].abroad.type) ||
	       find(endings, COUNT_OF(endings), name);
}

const char *event_type_abroad(const char *name, const char *unit)
{
	const char *abroad = event_find(name, unit)->abroad.type;

	return abroad ? abroad : name;
}

const char *event_pyroscope(const char *name, const char *unit)
{
	const char *abroad = event_find(name, unit)->abroad.pyroscope;

	return abroad ? abroad : name;
}

uint64_t event_period(const char *unit, uint32_t frequency)
{
	return frequency && event_quantity(unit) == EVENT_TIME ? SECOND_NS / frequency : 0;
}

const char *event_name_from(const char *type, const char *unit)
{
	const char *here = event_unit_from(unit)->unit;

	for (size_t i = 0; i < COUNT_OF(ours); i++)
		if (ours[i].abroad.type && !strcmp(ours[i].unit, here) &&
		    !strcmp(ours[i].abroad.type, type))
			return ours[i].name;
	return *type ? type : "unknown";
}
