// SPDX-License-Identifier: Apache-2.0
/*
 * Samples of the instructions that a GPU executes, by CUPTI's continuous sampling of program
 * counters (cupti_pcsampling.h): where an instruction is, why its warp did not go on, and how often
 * that was seen. Which launch it belongs to is not known: so a thread of this library has the
 * kernels of each tenth of a second reported first, and then the samples of that time, and the
 * recorder puts them together.
 *
 * The code of each module goes to a file that the recorder holds, and that is opened for each
 * module anew: programs close descriptors that they do not know.
 *
 * Structs of the profiling library begin with their size, and grow at their end.
 */
#include "gpu.h"

/* Functions of the process's C library. */
extern char *getenv(const char *name) __attribute__((weak));
extern int open(const char *path, int flags, ...) __attribute__((weak));
extern int close(int fd) __attribute__((weak));
struct gpu_piece {
	const void *at;
	size_t size;
};
extern long writev(int fd, const struct gpu_piece *pieces, int count) __attribute__((weak));
extern int sigtimedwait(const void *set, void *info, const struct gpu_pause *timeout)
	__attribute__((weak));
struct gpu_limit {
	uint64_t now, most;
};
extern int getrlimit(int resource, struct gpu_limit *limit) __attribute__((weak));
extern int64_t lseek(int fd, int64_t offset, int whence) __attribute__((weak));

#define O_WRITE_APPEND_CLOEXEC 02002001
#define SIG_BLOCK_	       0
#define SIG_SETMASK_	       2
#define SIGXFSZ_	       25
#define RLIMIT_FSIZE_	       1
#define SEEK_END_	       2

#define WINDOW_NS	       100000000
#define CONTEXTS	       16
#define REASONS		       64
#define REASON_BYTES	       128 /* CUPTI_STALL_REASON_STRING_SIZE */
#define RECORDS		       512
#define VERSION_WITH_LARGE     22 /* CUPTI of CUDA 12.4: struct data and struct record have grown */

/* -- the profiling library --------------------------------------------------------------------- */

/* CUpti_PCSamplingStallReason */
struct stall {
	uint32_t reason, samples;
};

/* CUpti_PCSamplingPCData */
struct record {
	size_t size;
	uint64_t code; /* as hash_code() has it */
	uint64_t offset;
	uint32_t index, unused;
	const char *function;
	size_t count;
	struct stall *stalls;
	uint64_t correlation;
};
#define RECORD_SMALL 56

/* CUpti_PCSamplingData */
struct data {
	size_t size, most;
	uint64_t total, dropped;
	size_t count, left;
	uint64_t range;
	uint8_t *records;
	uint64_t of_driver;
	uint64_t is_full;
};
#define DATA_SMALL 72

/* What all functions get begins so. */
struct parameters {
	size_t size;
	void *unused, *context;
	union {
		void *data;
		size_t *count_to;
		size_t count;
	};
	void *second, *third;
};

/* CUpti_PCSamplingConfigurationInfo */
struct attribute {
	uint32_t type, status;
	uint64_t value[3];
};
enum {
	ATTRIBUTE_REASONS = 2,
	ATTRIBUTE_MODE = 5,
	ATTRIBUTE_BUFFER = 8,
	MODE_CONTINUOUS = 1,
};

static struct {
	int (*version)(uint32_t *version);
	int (*register_hash)(void (*hash)(const void *, size_t, uint64_t *));
	int (*enable)(struct parameters *);
	int (*disable)(struct parameters *);
	int (*configure)(struct parameters *);
	int (*count_reasons)(struct parameters *);
	int (*get_reasons)(struct parameters *);
	int (*get_data)(struct parameters *);
} sampling;

/* In the order of the functions above. */
static const char *const names[] = {
	"cuptiGetVersion",
	"cuptiRegisterComputeCrcCallback",
	"cuptiPCSamplingEnable",
	"cuptiPCSamplingDisable",
	"cuptiPCSamplingSetConfigurationAttribute",
	"cuptiPCSamplingGetNumStallReasons",
	"cuptiPCSamplingGetStallReasons",
	"cuptiPCSamplingGetData",
};
_Static_assert(sizeof(sampling) == sizeof(names), "each has a name");

/* Where the samples of a context are collected, and where they are read to. */
struct buffer {
	struct data data;
	struct stall stalls[RECORDS][REASONS];
	uint8_t records[RECORDS * sizeof(struct record)];
};

struct context {
	void *context; /* null: none, or gone (also while its samples are read) */
	size_t reasons;
	uint32_t indices[REASONS];
	uint64_t hashes[REASONS]; /* of their names */
	struct buffer collected;
};

static struct context contexts[CONTEXTS];
static struct buffer buffer;
static char reason_texts[REASONS][REASON_BYTES];
static int (*flush_kernels)(uint32_t flag);
static const char *code_path;
static bool is_large, is_over;
static int lock; /* held for as long as the profiling library takes to hand over what it has */

static size_t record_size(void)
{
	return is_large ? sizeof(struct record) : RECORD_SMALL;
}

static void prepare(struct buffer *to)
{
	to->data = (struct data){.size = is_large ? sizeof(struct data) : DATA_SMALL,
				 .most = RECORDS,
				 .records = to->records};
	for (size_t i = 0; i < RECORDS; i++) {
		struct record *record = (void *)(to->records + i * record_size());

		record->size = record_size();
		record->stalls = to->stalls[i];
		record->count = 0;
	}
}

/* -- code -------------------------------------------------------------------------------------- */

static void hash_code(const void *code, size_t size, uint64_t *hash)
{
	*hash = gpu_code_hash(code, size);
}

/*
 * Whether a file may get that much longer. What is longer than the program's limit of files
 * (RLIMIT_FSIZE) would be written in part.
 */
static bool has_room(int fd, size_t size)
{
	struct gpu_limit limit;
	int64_t end = lseek(fd, 0, SEEK_END_);

	return end >= 0 && !getrlimit(RLIMIT_FSIZE_, &limit) && (uint64_t)end + size >= size &&
	       (uint64_t)end + size <= limit.now;
}

/* All or nothing; and no signal ends the program if another thread has lowered the limit. */
static bool append(int fd, const struct gpu_piece *pieces, size_t size)
{
	uint64_t signals[GPU_SIGNAL_WORDS] = {1ull << (SIGXFSZ_ - 1)}, before[GPU_SIGNAL_WORDS];
	const struct gpu_pause none = {0, 0};
	bool is_done;

	if (!has_room(fd, size))
		return false;
	pthread_sigmask(SIG_BLOCK_, signals, before);
	is_done = writev(fd, pieces, 2) == (long)size;
	if (!is_done && !(before[0] & signals[0]))
		sigtimedwait(signals, NULL, &none);
	pthread_sigmask(SIG_SETMASK_, before, NULL);
	return is_done;
}

static void hand_over_code(const uint8_t *module)
{
	struct gpu_code_head head = {.magic = GPU_CODE_MAGIC,
				     .size = *(const size_t *)(module + 8)};
	const void *code = *(const void *const *)(module + 16);
	const struct gpu_piece pieces[] = {{&head, sizeof(head)}, {code, head.size}};
	int fd;

	if (!code_path || !code || !head.size)
		return;
	fd = head.size <= GPU_CODE_MAX ? open(code_path, O_WRITE_APPEND_CLOEXEC) : -1;
	if (fd < 0 || !append(fd, pieces, sizeof(head) + head.size))
		gpu_report_state(GPU_STATE_CODE_LOST, 1);
	if (fd >= 0)
		close(fd);
}

/* -- contexts ---------------------------------------------------------------------------------- */

static int read_reasons(struct context *context)
{
	char *texts[REASONS];
	struct parameters parameters = {
		.size = 32, .context = context->context, .count_to = &context->reasons};
	int err = sampling.count_reasons(&parameters);

	for (size_t i = 0; i < REASONS; i++)
		texts[i] = reason_texts[i];
	if (err || context->reasons > REASONS)
		return err ? err : 1;
	parameters = (struct parameters){.size = 48,
					 .context = context->context,
					 .count = context->reasons,
					 .second = context->indices,
					 .third = texts};
	err = sampling.get_reasons(&parameters);
	for (size_t i = 0; i < context->reasons && !err; i++) {
		reason_texts[i][REASON_BYTES - 1] = 0;
		context->hashes[i] = gpu_name_hash(reason_texts[i]);
		gpu_report_name(context->hashes[i], reason_texts[i]);
	}
	return err;
}

static int configure(struct context *context)
{
	struct attribute attributes[] = {
		{.type = ATTRIBUTE_MODE, .value = {MODE_CONTINUOUS}},
		{.type = ATTRIBUTE_REASONS,
		 .value = {context->reasons, (uint64_t)context->indices}},
		{.type = ATTRIBUTE_BUFFER, .value = {(uint64_t)&context->collected.data}},
	};
	struct parameters parameters = {
		.size = 40,
		.context = context->context,
		.count = sizeof(attributes) / sizeof(attributes[0]),
		.second = attributes,
	};

	prepare(&context->collected);
	return sampling.configure(&parameters);
}

/* The context with that handle of the driver; with null, a free one. Null: not found. */
static struct context *context_of(const void *driver_context)
{
	for (size_t i = 0; i < CONTEXTS; i++)
		if (contexts[i].context == driver_context)
			return &contexts[i];
	return NULL;
}

static void begin_context(void *driver_context)
{
	struct parameters parameters = {.size = 24, .context = driver_context};
	struct context *context = context_of(NULL);
	int err;

	if (!context) {
		gpu_report_state(GPU_STATE_NOT_SAMPLED, 0);
		return;
	}
	err = sampling.enable(&parameters);
	if (!err) {
		context->context = driver_context;
		err = read_reasons(context);
		if (!err)
			err = configure(context);
		if (err) {
			sampling.disable(&parameters);
			context->context = NULL;
		}
	}
	if (err)
		gpu_report_state(GPU_STATE_NOT_SAMPLED, (uint64_t)err);
}

/* -- samples ----------------------------------------------------------------------------------- */

static __attribute__((noinline)) void
report_samples(uint64_t code, uint64_t function, uint64_t offset, uint64_t reason, uint64_t count)
{
	register uint64_t r8 __asm__("r8") = count;

	__asm__ volatile(".globl stackcam_gpu_samples\n\t"
			 ".hidden stackcam_gpu_samples\n"
			 "stackcam_gpu_samples: nop"
			 :
			 : "D"(code), "S"(function), "d"(offset), "c"(reason), "r"(r8)
			 : "memory");
}

static uint64_t reason_of(const struct context *context, uint32_t index)
{
	for (size_t i = 0; i < context->reasons; i++)
		if (context->indices[i] == index)
			return context->hashes[i];
	return 0;
}

static void report_record(const struct context *context, const struct record *record)
{
	uint64_t function = gpu_name_hash(record->function);

	if (record->function)
		gpu_report_name(function, record->function);
	for (size_t i = 0; i < record->count && i < REASONS; i++)
		if (record->stalls[i].samples)
			report_samples(record->code, function, record->offset,
				       reason_of(context, record->stalls[i].reason),
				       record->stalls[i].samples);
}

/* Reads as often as a full hardware buffer needs. Returns whether there is more. */
static bool read_context(struct context *context)
{
	struct parameters parameters = {
		.size = 32, .context = context->context, .data = &buffer.data};

	for (int i = 0; i < 1000; i++) {
		int err;

		if (!__atomic_load_n(&context->context, __ATOMIC_RELAXED))
			return false;
		prepare(&buffer);
		err = sampling.get_data(&parameters);
		if (err) {
			gpu_report_state(GPU_STATE_NOT_READ, (uint64_t)err);
			return false;
		}
		for (size_t k = 0; k < buffer.data.count && k < RECORDS; k++)
			report_record(context, (void *)(buffer.records + k * record_size()));
		if (buffer.data.dropped)
			gpu_report_state(GPU_STATE_SAMPLES_DROPPED, buffer.data.dropped);
		if (buffer.data.of_driver)
			gpu_report_state(GPU_STATE_SAMPLES_OF_DRIVER, buffer.data.of_driver);
		if (!buffer.data.left)
			return false;
	}
	return true;
}

/* is_last: the program ends, and with it what the profiling library needs. */
static void read_all(bool is_last)
{
	uint64_t begin;

	if (!gpu_lock(&lock)) {
		/* its owner may go on for a while, but does not begin again */
		if (is_last) {
			__atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
			gpu_report_state(GPU_STATE_NOT_READ, 0);
		}
		return;
	}
	if (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
		flush_kernels(0);
		begin = gpu_budget_begin();
		/* the samples of a window go to what ran in it */
		gpu_graphs_report(true);
		for (size_t i = 0; i < CONTEXTS; i++)
			if (contexts[i].context && read_context(&contexts[i]) && is_last)
				gpu_report_state(GPU_STATE_NOT_READ, 0);
		gpu_report_state(GPU_STATE_WINDOW, gpu_now());
		gpu_budget_end(begin);
	}
	if (is_last)
		__atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
	gpu_unlock(&lock);
}

static void *read_windows(void *unused)
{
	for (;;) {
		uint64_t ns = gpu_budget_pause(WINDOW_NS);
		const struct gpu_pause pause = {(int64_t)(ns / GPU_SECOND_NS),
						(int64_t)(ns % GPU_SECOND_NS)};

		nanosleep(&pause, NULL);
		read_all(false);
	}
	return unused;
}

/* -- start and end ----------------------------------------------------------------------------- */

bool gpu_instructions_find(void *library)
{
	uint32_t version = 0;

	if (!getenv || !open || !close || !writev || !nanosleep || !pthread_sigmask ||
	    !sigtimedwait || !getrlimit || !lseek)
		return false;
	code_path = getenv(GPU_CODE_VARIABLE);
	if (!code_path)
		return false;
	if (!gpu_find_functions(library, names, (void **)&sampling,
				sizeof(names) / sizeof(names[0])) ||
	    sampling.version(&version) || sampling.register_hash(hash_code)) {
		gpu_report_state(GPU_STATE_NOT_SAMPLED, 0);
		return false;
	}
	is_large = version >= VERSION_WITH_LARGE;
	return true;
}

void gpu_instructions_start(int (*flush)(uint32_t flag))
{
	flush_kernels = flush;
	if (!gpu_start_thread(read_windows))
		gpu_report_state(GPU_STATE_NOT_SAMPLED, 0);
}

static void end_context(struct context *context)
{
	struct parameters parameters = {.size = 24, .context = context->context};

	if (read_context(context))
		gpu_report_state(GPU_STATE_NOT_READ, 0);
	sampling.disable(&parameters);
	context->context = NULL;
}

void gpu_instructions_resource(uint32_t id, const uint8_t *data)
{
	void *driver_context = *(void *const *)data;
	struct context *ends = NULL;

	if (id == GPU_MODULE_LOADED) {
		hand_over_code(*(const uint8_t *const *)(data + 16));
		return;
	}
	if (id == GPU_CONTEXT_ENDS)
		ends = context_of(driver_context);
	if (!gpu_lock(&lock)) {
		if (ends || id == GPU_CONTEXT_CREATED)
			gpu_report_state(ends ? GPU_STATE_NOT_READ : GPU_STATE_NOT_SAMPLED, 0);
		/* what is gone must not be asked for samples any more, whoever reads now */
		if (ends)
			__atomic_store_n(&ends->context, NULL, __ATOMIC_RELAXED);
		return;
	}
	if (id == GPU_CONTEXT_CREATED && !is_over)
		begin_context(driver_context);
	if (ends && !is_over)
		end_context(ends);
	gpu_unlock(&lock);
}

void gpu_instructions_end(void)
{
	if (flush_kernels)
		read_all(true);
}
