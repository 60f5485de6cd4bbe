// SPDX-License-Identifier: Apache-2.0
/*
 * libstackcam-gpu.so: reports what kernels and copies take on a GPU. The driver library loads it where the
 * environment says so, and calls InitializeInjection(). It finds the driver's profiling library
 * (CUPTI), takes all of its functions by name, and has it call at launches and hand over records of
 * kernels that have run. None of the profiling library's structs is used: records only grow at
 * their end, and what is read here has been where it is since version 11 (cupti_activity.h,
 * cupti_callbacks.h).
 *
 * A sample of the launches is told by executing a nop, at which the recorder has a probe; a kernel
 * of such a launch is told with the launch's number, all others in sums by their names, and those
 * of a graph, of which a launch may have thousands, in sums by both. So the sums of all are
 * complete, whatever is sampled. Without a recorder these are nops.
 *
 * It needs no library of its own. At a launch nothing here takes a lock, allocates or waits.
 */
#include "gpu.h"
#include "gpu_calls.h"
#include "memory_places.h"

/* Functions of the process's C library. */
extern void *dlopen(const char *name, int flags) __attribute__((weak));
extern int __cxa_atexit(void (*function)(void *), void *argument, void *dso) __attribute__((weak));
extern int getpid(void) __attribute__((weak));
struct gpu_time {
	int64_t seconds, ns;
};
extern int clock_gettime(int clock, struct gpu_time *time) __attribute__((weak));

#define RTLD_NOW_	 2
#define RTLD_NOLOAD_	 4
#define CLOCK_MONOTONIC_ 1

/* -- places of probes -------------------------------------------------------------------------- */

/* As in memory_x86_64.S: pairs of a distance from here on and of what is seen there. */
__asm__(".pushsection .rodata.stackcam, \"a\", @progbits\n"
	".globl " MEMORY_PLACES_SYMBOL "\n"
	".type " MEMORY_PLACES_SYMBOL ", @object\n"
	".p2align 3\n" MEMORY_PLACES_SYMBOL ":\n"
	".quad stackcam_gpu_launch - " MEMORY_PLACES_SYMBOL ", 1\n"
	".quad stackcam_gpu_kernel - " MEMORY_PLACES_SYMBOL ", 2\n"
	".quad stackcam_gpu_rest - " MEMORY_PLACES_SYMBOL ", 3\n"
	".quad stackcam_gpu_name - " MEMORY_PLACES_SYMBOL ", 4\n"
	".quad stackcam_gpu_samples - " MEMORY_PLACES_SYMBOL ", 5\n"
	".quad stackcam_gpu_wait - " MEMORY_PLACES_SYMBOL ", 6\n"
	".quad stackcam_gpu_waited - " MEMORY_PLACES_SYMBOL ", 7\n"
	".quad stackcam_gpu_works - " MEMORY_PLACES_SYMBOL ", 8\n"
	".quad stackcam_gpu_capture - " MEMORY_PLACES_SYMBOL ", 9\n"
	".quad 0, 0\n"
	".size " MEMORY_PLACES_SYMBOL ", . - " MEMORY_PLACES_SYMBOL "\n"
	".popsection");
_Static_assert(GPU_PLACE_LAUNCH == 1 && GPU_PLACE_KERNEL == 2 && GPU_PLACE_REST == 3 &&
		       GPU_PLACE_NAME == 4 && GPU_PLACE_SAMPLES == 5 && GPU_PLACE_WAIT == 6 &&
		       GPU_PLACE_WAITED == 7 && GPU_PLACE_WORKS == 8 && GPU_PLACE_CAPTURE == 9,
	       "the numbers above");

static __attribute__((noinline)) void report_launch(uint64_t number)
{
	__asm__ volatile("stackcam_gpu_launch: nop" : : "D"(number) : "memory");
}

static __attribute__((noinline)) void report_wait(uint64_t number)
{
	__asm__ volatile("stackcam_gpu_wait: nop" : : "D"(number) : "memory");
}

static __attribute__((noinline)) void report_kernel(uint64_t number, uint64_t begin, uint64_t end,
						    uint64_t work, uint64_t bytes)
{
	register uint64_t r8 __asm__("r8") = bytes;

	__asm__ volatile("stackcam_gpu_kernel: nop"
			 :
			 : "D"(number), "S"(begin), "d"(end), "c"(work), "r"(r8)
			 : "memory");
}

static __attribute__((noinline)) void report_name(uint64_t hash, uint64_t name, uint64_t number)
{
	__asm__ volatile("stackcam_gpu_name: nop" : : "D"(hash), "S"(name), "d"(number) : "memory");
}

void gpu_report_state(enum gpu_state state, uint64_t number)
{
	report_name(0, state, number);
}

/* -- the profiling library --------------------------------------------------------------------- */

static struct {
	int (*subscribe)(void **subscriber, void *callback, void *user);
	int (*unsubscribe)(void *subscriber);
	int (*enable_callback)(uint32_t on, void *subscriber, int domain, uint32_t id);
	int (*register_callbacks)(void *requested, void *completed);
	int (*register_timestamp)(uint64_t (*now)(void));
	int (*enable)(int kind);
	int (*disable)(int kind);
	int (*flush)(uint32_t flag);
	int (*next_record)(uint8_t *buffer, size_t size, uint8_t **record);
	int (*dropped)(void *context, uint32_t stream, size_t *count);
} cupti;

/* In the order of the functions above. */
static const char *const names[] = {
	"cuptiSubscribe",
	"cuptiUnsubscribe",
	"cuptiEnableCallback",
	"cuptiActivityRegisterCallbacks",
	"cuptiActivityRegisterTimestampCallback",
	"cuptiActivityEnable",
	"cuptiActivityDisable",
	"cuptiActivityFlushAll",
	"cuptiActivityGetNextRecord",
	"cuptiActivityGetNumDroppedRecords",
};
_Static_assert(sizeof(cupti) == sizeof(names), "each has a name");

enum {
	SITE_ENTER = 0,	    /* CUPTI_API_ENTER; 1 is CUPTI_API_EXIT */
	RECORD_COPY = 1,    /* CUPTI_ACTIVITY_KIND_MEMCPY */
	RECORD_SET = 2,	    /* …_MEMSET */
	RECORD_KERNEL = 10, /* …_CONCURRENT_KERNEL */
	RECORD_PEERS = 22,  /* …_MEMCPY2: a copy from one device to another */
	RECORD_EVENT = 36,  /* …_CUDA_EVENT */
	RECORD_WAIT = 38,   /* …_SYNCHRONIZATION */
};

/* Of callbacks' data, and of records. */
enum {
	DATA_SITE = 0,
	DATA_NUMBER = 64,
	WAIT_NUMBER = 24,
	KERNEL_NAME = 104,
	COPY_DIRECTION = 4, /* a byte each */
	COPY_FROM = 5,
	COPY_TO = 6,
	IS_PAGEABLE = 1, /* CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE */
};

/* Where kinds of records differ. */
static const struct layout {
	uint8_t kind, number, graph;
	uint8_t node;	 /* of the graph */
	uint8_t context; /* before it the device, and behind it the stream */
} layouts[] = {
	{RECORD_KERNEL, 92, 156, 144, 44},
	{RECORD_COPY, 44, 72, 64, 36},
	{RECORD_SET, 44, 72, 64, 36},
	{RECORD_PEERS, 60, 80, 72, 36},
};

bool gpu_can_run(void)
{
	return dlopen && dlsym && clock_gettime && getpid;
}

uint64_t gpu_clock(int clock)
{
	struct gpu_time time = {0, 0};

	clock_gettime(clock, &time);
	return (uint64_t)time.seconds * GPU_SECOND_NS + (uint64_t)time.ns;
}

uint64_t gpu_now(void)
{
	return gpu_clock(CLOCK_MONOTONIC_);
}

/* -- launches ---------------------------------------------------------------------------------- */

/* Numbers of launches and waits that were told, at their place; a later one takes it. */
#define TOLD 65536
static uint32_t told[TOLD];

static bool is_told(uint32_t number)
{
	return number && __atomic_load_n(&told[number % TOLD], __ATOMIC_RELAXED) == number;
}

static struct gpu_sampler of_launches = {.every = 1}, of_waits = {.every = 1},
			  of_graphs = {.every = 1};

static struct gpu_sampler *sampler_of(uint32_t id)
{
	return is_wait(id) ? &of_waits : is_graph_launch(id) ? &of_graphs : &of_launches;
}

static bool is_waiting; /* waits are recorded */

/* The process that has begun: a child of its has its records, too, but not its threads. */
static int begun;

static void at_callback(void *user, int domain, uint32_t id, const uint8_t *data)
{
	struct gpu_sampler *sampler;
	uint32_t number;
	uint64_t count, begin;
	bool waits_in_copy;

	(void)user;
	if (domain == GPU_DOMAIN_RESOURCE && getpid() == begun && !gpu_graphs_resource(id, data))
		gpu_instructions_resource(id, data);
	if (domain != GPU_DOMAIN_DRIVER)
		return;
	if (gpu_graphs_is_copying(id)) {
		gpu_graphs_copies(read_32(data + DATA_SITE) == SITE_ENTER);
		return;
	}
	number = read_32(data + DATA_NUMBER);
	waits_in_copy = is_waiting && is_copy_that_waits(id);
	if (read_32(data + DATA_SITE) != SITE_ENTER) {
		if (waits_in_copy)
			gpu_waits_copy_ends(number, is_told(number));
		return;
	}
	sampler = sampler_of(id);
	count = __atomic_fetch_add(&sampler->calls, 1, __ATOMIC_RELAXED);
	if (waits_in_copy)
		gpu_waits_copy_begins(number);
	if (count < __atomic_load_n(&sampler->due, __ATOMIC_RELAXED))
		return;
	begin = gpu_budget_begin();
	__atomic_store_n(&told[number % TOLD], number, __ATOMIC_RELAXED);
	if (sampler == &of_waits || waits_in_copy)
		report_wait(number);
	if (sampler != &of_waits)
		report_launch(number);
	gpu_sampler_plan(sampler, count);
	gpu_budget_end(begin);
}

/* -- kernels ----------------------------------------------------------------------------------- */

/* Memory for records: what has no room is dropped by the profiling library, and counted. */
#define BUFFERS	     16
#define BUFFER_BYTES (256u << 10)

static uint8_t buffers[BUFFERS][BUFFER_BYTES] __attribute__((aligned(64)));
static uint32_t in_use;

/* How many places one has in the table below: a framework has hundreds of kernels. */
#define PLACES 8

/* Hashes of names that were told. */
#define NAMES 4096
static uint64_t reported_names[NAMES];

static void request(uint8_t **buffer, size_t *size, size_t *most)
{
	*buffer = NULL;
	*size = *most = 0;
	for (uint32_t i = 0; i < BUFFERS; i++) {
		if (__atomic_fetch_or(&in_use, 1u << i, __ATOMIC_ACQUIRE) & 1u << i)
			continue;
		*buffer = buffers[i];
		*size = BUFFER_BYTES;
		return;
	}
}

/* Told twice, where two threads are at it, it is the same name. */
void gpu_report_name(uint64_t hash, const char *name)
{
	uint64_t *place = &reported_names[hash / 2 % NAMES];

	for (uint64_t i = 0; i < PLACES; i++) {
		uint64_t *next = &reported_names[(hash / 2 + i) % NAMES];
		uint64_t known = __atomic_load_n(next, __ATOMIC_RELAXED);

		if (known == hash)
			return;
		if (!known) {
			place = next;
			break;
		}
	}
	__atomic_store_n(place, hash, __ATOMIC_RELAXED);
	report_name(hash, (uint64_t)name, 0);
}

static uint64_t work_of(const uint8_t *record)
{
	uint32_t kind = read_32(record);
	const char *name;
	uint64_t hash;

	if (kind == RECORD_SET)
		return gpu_copy_work(GPU_COPY_SET, false);
	if (kind != RECORD_KERNEL)
		return gpu_copy_work(record[COPY_DIRECTION],
				     record[COPY_FROM] == IS_PAGEABLE ||
					     record[COPY_TO] == IS_PAGEABLE);
	name = *(const char *const *)(record + KERNEL_NAME);
	hash = gpu_name_hash(name);
	gpu_report_name(hash, name);
	return hash;
}

static const struct layout *layout_of(const uint8_t *record)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].kind == read_32(record))
			return &layouts[i];
	return NULL;
}

/* As many kernels of a graph cost about as much as the sample of a launch. */
#define KERNELS_OF_SAMPLE 8

static uint64_t graph_records; /* kernels and copies of graphs */

/* Those of a launch that was reported go by launch and site; the others by their node. */
static void add_of_graph(struct gpu_sums *sums, const struct gpu_ran *ran, uint64_t node)
{
	struct gpu_ran of = *ran;

	__atomic_fetch_add(&graph_records, 1, __ATOMIC_RELAXED);
	if (ran->number || !gpu_graphs_add(ran, node)) {
		of.site = gpu_graphs_site(node);
		gpu_sums_add(sums, &of);
	}
}

/* False: when it ran is not known, for which the profiling library has zeroes. */
static bool add_record(struct gpu_sums *sums, const uint8_t *record, bool has_waits)
{
	const struct layout *layout = layout_of(record);
	struct gpu_ran ran = {.site = 0};
	uint64_t begin;
	uint32_t number;

	if (read_32(record) == RECORD_EVENT && has_waits)
		gpu_waits_add_event(record);
	if (read_32(record) == RECORD_WAIT && has_waits)
		gpu_waits_add(record, is_told(read_32(record + WAIT_NUMBER)));
	if (!layout)
		return true;
	begin = read_64(record + RECORD_BEGIN);
	ran.end = read_64(record + RECORD_END);
	if (!begin || ran.end < begin)
		return false;
	ran.ns = ran.end - begin;
	number = read_32(record + layout->number);
	ran.number = is_told(number) ? number : 0;
	ran.work = work_of(record);
	if (has_waits)
		gpu_waits_add_work(ran.work, number, record + RECORD_BEGIN,
				   record + layout->context);
	ran.bytes = gpu_is_copy(ran.work) ? read_64(record + COPY_BYTES) : 0;
	if (read_32(record + layout->graph))
		add_of_graph(sums, &ran, read_64(record + layout->node));
	else if (ran.number)
		report_kernel(number, begin, ran.end, ran.work, ran.bytes);
	else
		gpu_sums_add(sums, &ran);
	return true;
}

/*
 * Reports when each work of a buffer ran. It comes before the report of launches that are over,
 * which makes the recorder forget these.
 */
static void report_lanes(uint8_t *buffer, size_t valid)
{
	struct gpu_lanes lanes;
	uint8_t *record = NULL;

	lanes.count = 0;
	while (!cupti.next_record(buffer, valid, &record)) {
		const struct layout *layout = layout_of(record);
		uint32_t number = layout ? read_32(record + layout->number) : 0;

		if (layout)
			gpu_lanes_add(&lanes, record, record + layout->context, work_of(record),
				      is_told(number) ? number : 0,
				      read_32(record + layout->graph)
					      ? gpu_graphs_site(read_64(record + layout->node))
					      : 0);
	}
	gpu_lanes_end(&lanes);
}

static bool has_lanes; /* the user wants them */

/*
 * All kernels of a graph's launch that is a sample are reported: the more it has, the fewer
 * launches of graphs are. With lanes, all kernels are reported anyway.
 */
static void weigh_graphs(void)
{
	uint64_t calls = __atomic_load_n(&of_graphs.calls, __ATOMIC_RELAXED);
	uint64_t records = __atomic_load_n(&graph_records, __ATOMIC_RELAXED);

	if (calls && !has_lanes)
		__atomic_store_n(&of_graphs.weight, records / calls / KERNELS_OF_SAMPLE,
				 __ATOMIC_RELAXED);
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	struct gpu_sums sums;
	uint8_t *record = NULL;
	size_t dropped = 0, untimed = 0, i;
	uint64_t begin = gpu_budget_begin();
	bool has_waits = is_waiting && gpu_waits_begin();

	(void)size;
	if (has_lanes && buffer && valid)
		report_lanes(buffer, valid);
	gpu_sums_begin(&sums);
	while (buffer && valid && !cupti.next_record(buffer, valid, &record))
		untimed += !add_record(&sums, record, has_waits);
	if (has_waits)
		gpu_waits_end();
	else if (is_waiting)
		gpu_report_state(GPU_STATE_NO_WAITS, 0);
	gpu_sums_report(&sums);
	gpu_graphs_report(false);
	weigh_graphs();
	if (untimed)
		gpu_report_state(GPU_STATE_UNTIMED, untimed);
	if (!cupti.dropped(context, stream, &dropped) && dropped)
		gpu_report_state(GPU_STATE_DROPPED, dropped);
	if (has_lanes)
		gpu_lanes_complete(gpu_now(), dropped || untimed);
	i = (size_t)(buffer - buffers[0]) / BUFFER_BYTES;
	if (buffer && i < BUFFERS)
		__atomic_fetch_and(&in_use, ~(1u << i), __ATOMIC_RELEASE);
	gpu_budget_end(begin);
}

/* -- start and end ----------------------------------------------------------------------------- */

static int flush_lock;
static bool is_over; /* the profiling library's own end may have begun */
static bool is_begun;
static void *subscriber;

void gpu_flush(void)
{
	if (!gpu_lock(&flush_lock))
		return;
	if (!is_over && is_begun)
		cupti.flush(0);
	gpu_unlock(&flush_lock);
	gpu_graphs_report(false);
}

/* All records, also of what has not ended. */
static void at_exit(void *argument)
{
	bool is_locked;

	(void)argument;
	if (getpid() != begun)
		return;
	is_locked = gpu_lock(&flush_lock);
	is_over = true;
	if (is_begun)
		cupti.flush(1);
	if (is_locked)
		gpu_unlock(&flush_lock);
	if (!is_begun)
		return;
	gpu_graphs_report(true);
	gpu_instructions_end();
	/* after the last buffer */
	if (is_waiting)
		gpu_waits_finish();
}

void gpu_end(void)
{
	static const int kinds[] = {RECORD_KERNEL, RECORD_COPY, RECORD_SET,
				    RECORD_PEERS,  RECORD_WAIT, RECORD_EVENT};
	bool is_locked = gpu_lock(&flush_lock);

	if (!is_over && is_begun) {
		cupti.unsubscribe(subscriber);
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			cupti.disable(kinds[i]);
		cupti.flush(1);
		gpu_graphs_report(true);
		if (is_waiting)
			gpu_waits_finish();
		is_waiting = is_begun = false;
	}
	if (is_locked)
		gpu_unlock(&flush_lock);
}

bool gpu_find_functions(void *library, const char *const *of, void **functions, size_t count)
{
	for (size_t i = 0; i < count && library; i++) {
		functions[i] = dlsym(library, of[i]);
		if (!functions[i])
			return false;
	}
	return library;
}

/*
 * By its names of several versions. First among those that the process has already: only one of two
 * would hear of the driver.
 */
static void *find(void)
{
	static const char *const files[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
					    "libcupti.so"};
	static const int flags[] = {RTLD_NOW_ | RTLD_NOLOAD_, RTLD_NOW_};
	const size_t count = sizeof(files) / sizeof(files[0]);

	if (!gpu_can_run())
		return NULL;
	for (size_t i = 0; i < 2 * count; i++) {
		void *library = dlopen(files[i % count], flags[i / count]);

		if (gpu_find_functions(library, names, (void **)&cupti,
				       sizeof(names) / sizeof(names[0])))
			return library;
	}
	return NULL;
}

/* Of functions that the profiling library does not know there are no calls. */
static void start_copies(void)
{
	static const int kinds[] = {RECORD_COPY, RECORD_SET, RECORD_PEERS};
	int err = 0;

	for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++)
		for (uint32_t id = copies[i][0]; id <= copies[i][1]; id++)
			cupti.enable_callback(1, subscriber, GPU_DOMAIN_DRIVER, id);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !err; i++)
		err = cupti.enable(kinds[i]);
	if (err)
		gpu_report_state(GPU_STATE_NO_COPIES, (uint64_t)err);
}

static void start_waits(void)
{
	int err = cupti.enable(RECORD_WAIT);

	/* no samples of calls whose waits do not come */
	if (err) {
		gpu_report_state(GPU_STATE_NO_WAITS, (uint64_t)err);
		return;
	}
	is_waiting = true;
	/* without them, waits for events have no stream */
	cupti.enable(RECORD_EVENT);
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		cupti.enable_callback(1, subscriber, GPU_DOMAIN_DRIVER, waits[i]);
}

/* Returns 0 or the profiling library's error, which then hears of nothing. */
static int start(void *library)
{
	static const uint32_t resources[] = {GPU_CONTEXT_CREATED, GPU_CONTEXT_ENDS,
					     GPU_MODULE_LOADED};
	bool has_instructions = !gpu_is_late() && gpu_instructions_find(library);
	int err = cupti.subscribe(&subscriber, (void *)at_callback, NULL);

	if (err)
		return err;
	has_lanes = gpu_lanes_wanted();
	for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]) && !err; i++)
		err = cupti.enable_callback(1, subscriber, GPU_DOMAIN_DRIVER, launches[i]);
	for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]) && !err && has_instructions;
	     i++)
		err = cupti.enable_callback(1, subscriber, GPU_DOMAIN_RESOURCE, resources[i]);
	if (!err)
		err = cupti.register_timestamp(gpu_now);
	if (!err)
		err = cupti.register_callbacks((void *)request, (void *)complete);
	if (!err)
		err = cupti.enable(RECORD_KERNEL);
	/* a tool of the program's own may have it then */
	if (err)
		cupti.unsubscribe(subscriber);
	else {
		gpu_budget_start(has_instructions);
		start_copies();
		start_waits();
		gpu_graphs_start(library, cupti.enable_callback, subscriber);
	}
	is_begun = !err;
	if (!err && has_instructions)
		gpu_instructions_start(cupti.flush);
	else if (!err && !gpu_is_late())
		gpu_start_thread(flush_each_second);
	return err;
}

bool gpu_begin(void)
{
	static bool is_registered;
	void *library = find();
	int err;

	if (!library) {
		gpu_report_state(GPU_STATE_NO_PROFILER, 0);
		return false;
	}
	begun = getpid();
	/* another recorder knows none */
	for (size_t i = 0; i < NAMES; i++)
		reported_names[i] = 0;
	err = start(library);
	if (!err && __cxa_atexit && !is_registered)
		is_registered = !__cxa_atexit(at_exit, NULL, NULL);
	gpu_report_state(err ? GPU_STATE_TAKEN : GPU_STATE_STARTED, (uint64_t)err);
	return !err;
}

__attribute__((visibility("default"))) int InitializeInjection(void);
__attribute__((visibility("default"))) int InitializeInjection(void)
{
	gpu_begin();
	return 1;
}
