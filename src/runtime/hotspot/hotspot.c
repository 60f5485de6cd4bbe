// SPDX-License-Identifier: Apache-2.0
/*
 * HotSpot: what the kernel side must know of a JVM. How to find its frames stands in
 * bpf/runtime/hotspot/hotspot.h.
 */
#include "runtime/hotspot/hotspot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Versions of the JDK that are known: in between, where all blobs have moved twice, and after. */
#define OLDEST	 8
#define GAP_FROM 23
#define GAP_TO	 24
#define NEWEST	 27

/* The interpreter's code is about 300 KiB; what is larger is none. */
#define INTERPRETER_MAX (4u << 20)
#define CODELETS_MAX	4096
#define CODELET_MAX	(64u << 10)

/* Pieces of code whose names are remembered. */
#define STUBS_MAX 4096

static const char *const exports[] = {"gHotSpotVMStructs", NULL};

static void *open_image(const struct image *image, struct budget *budget, struct fail *why)
{
	struct runtime_symbol symbols[] = {
		{.name = "gHotSpotVMStructs"},
		{.name = "gHotSpotVMTypes"},
		{.name = "gHotSpotVMIntConstants"},
		{.name = "gHotSpotVMStructEntryArrayStride"},
		{.name = "gHotSpotVMStructEntryTypeNameOffset"},
		{.name = "gHotSpotVMStructEntryFieldNameOffset"},
		{.name = "gHotSpotVMStructEntryIsStaticOffset"},
		{.name = "gHotSpotVMStructEntryOffsetOffset"},
		{.name = "gHotSpotVMStructEntryAddressOffset"},
		{.name = "gHotSpotVMTypeEntryArrayStride"},
		{.name = "gHotSpotVMTypeEntryTypeNameOffset"},
		{.name = "gHotSpotVMTypeEntrySizeOffset"},
		{.name = "gHotSpotVMIntConstantEntryArrayStride"},
		{.name = "gHotSpotVMIntConstantEntryNameOffset"},
		{.name = "gHotSpotVMIntConstantEntryValueOffset"},
		{.name = "gHotSpotVMStructEntryTypeStringOffset"},
		/* from here on, those that only an image with all of its symbols has */
		{.name = "_ZN12StubRoutines19_cont_returnBarrierE"},
		{.name = "_ZN12StubCodeDesc5_listE"},
		{.name = "_ZN17ContinuationEntry10_return_pcE"},
	};
	const size_t needed = 16, count = sizeof(symbols) / sizeof(symbols[0]);
	struct hotspot_image *known;
	size_t i;

	runtime_find_symbols(image, budget, symbols, count);
	if (budget->spent) {
		budget_refuse(budget, why, "the symbols of HotSpot");
		return NULL;
	}
	for (i = 0; i < needed; i++) {
		if (symbols[i].address)
			continue;
		fail(why, -ENOENT, NULL, "%s has no %s", image->path, symbols[i].name);
		return NULL;
	}
	known = calloc(1, sizeof(*known));
	if (!known)
		return NULL;
	known->structs = symbols[0].address;
	known->types = symbols[1].address;
	known->int_constants = symbols[2].address;
	for (i = 0; i < 6; i++)
		known->struct_entry[i] = symbols[3 + i].address;
	known->struct_entry[6] = symbols[15].address;
	for (i = 0; i < 3; i++) {
		known->type_entry[i] = symbols[9 + i].address;
		known->constant_entry[i] = symbols[12 + i].address;
	}
	known->return_barrier = symbols[16].address;
	known->stub_list = symbols[17].address;
	known->entry_return = symbols[18].address;
	return known;
}

static bool has(const struct hotspot *jvm, enum hotspot_fact fact)
{
	return jvm->facts[fact] != HOTSPOT_ABSENT;
}

int hotspot_read_number(const struct runtime_at *at, uint64_t address, unsigned int size,
			uint64_t *value)
{
	*value = 0;
	return runtime_read(at, value, size, address);
}

/* A number at an offset within something. 0, or an error. */
static int get(const struct runtime_at *at, const struct hotspot *jvm, uint64_t base,
	       enum hotspot_fact fact, unsigned int size, uint64_t *value)
{
	if (!has(jvm, fact))
		return -EINVAL;
	return hotspot_read_number(at, base + jvm->facts[fact], size, value);
}

/* JDK 8 is HotSpot 25, of all numbers; but it has a single heap of code. */
static int find_version(const struct runtime_at *at, struct hotspot *jvm, struct fail *why)
{
	uint64_t major;
	int err;

	if (has(jvm, HOTSPOT_HEAP)) {
		jvm->version = 8;
		return 0;
	}
	if (!has(jvm, HOTSPOT_MAJOR_VERSION))
		return fail(why, -EINVAL, NULL, "its tables do not tell its version");
	err = hotspot_read_number(at, jvm->facts[HOTSPOT_MAJOR_VERSION], 4, &major);
	if (err)
		return fail_errno(why, err, NULL, "its version cannot be read");
	jvm->version = (unsigned int)major;
	if (major <= OLDEST || major > NEWEST || (major >= GAP_FROM && major <= GAP_TO))
		return fail(why, -ENOTSUP, NULL, "JDK %u is not known", jvm->version);
	return 0;
}

static int read_heap(const struct runtime_at *at, struct hotspot *jvm, uint64_t heap,
		     struct hotspot_heap *to)
{
	uint64_t memory = heap + jvm->facts[HOTSPOT_HEAP_MEMORY], start, end, segmap, shift;
	int err;

	err = get(at, jvm, memory, HOTSPOT_SPACE_LOW, 8, &start);
	if (!err)
		err = get(at, jvm, memory, HOTSPOT_SPACE_HIGH, 8, &end);
	if (!err)
		err = get(at, jvm, heap + jvm->facts[HOTSPOT_HEAP_SEGMAP], HOTSPOT_SPACE_LOW, 8,
			  &segmap);
	if (!err)
		err = get(at, jvm, heap, HOTSPOT_HEAP_SHIFT, 4, &shift);
	if (err)
		return err;
	if (!start || !segmap)
		return -EAGAIN;
	if (end <= start || end - start > 1ull << 32 || shift < 4 || shift > 16)
		return -EINVAL;
	*to = (struct hotspot_heap){start, end, segmap, (uint32_t)shift,
				    (uint32_t)jvm->facts[HOTSPOT_SIZE_HEAP_BLOCK]};
	return 0;
}

static int read_heaps(const struct runtime_at *at, struct hotspot *jvm)
{
	struct hotspot_data *data = &jvm->data;
	uint64_t heaps, array = 0, count = 1, i;
	int err;

	if (jvm->version == 8) {
		err = hotspot_read_number(at, jvm->facts[HOTSPOT_HEAP], 8, &heaps);
		if (err || !heaps)
			return err ? err : -EAGAIN;
		err = read_heap(at, jvm, heaps, &data->heaps[0]);
		goto bounds;
	}
	err = has(jvm, HOTSPOT_HEAPS)
		      ? hotspot_read_number(at, jvm->facts[HOTSPOT_HEAPS], 8, &heaps)
		      : -EINVAL;
	if (err || !heaps)
		return err ? err : -EAGAIN;
	err = get(at, jvm, heaps, HOTSPOT_ARRAY_LENGTH, 4, &count);
	if (!err)
		err = get(at, jvm, heaps, HOTSPOT_ARRAY_DATA, 8, &array);
	if (err || !count || !array)
		return err ? err : -EAGAIN;
	if (count > HOTSPOT_HEAPS_MAX)
		return -EINVAL;
	for (i = 0; i < count && !err; i++) {
		uint64_t heap;

		err = hotspot_read_number(at, array + i * 8, 8, &heap);
		if (!err)
			err = read_heap(at, jvm, heap, &data->heaps[i]);
	}
bounds:
	if (err)
		return err;
	data->code_start = data->heaps[0].start;
	data->code_end = data->heaps[0].end;
	for (i = 1; i < count; i++) {
		/* the first heap's tells how far a block reaches */
		if (data->heaps[i].shift != data->heaps[0].shift)
			data->block_used.size = 0;
		if (data->heaps[i].start < data->code_start)
			data->code_start = data->heaps[i].start;
		if (data->heaps[i].end > data->code_end)
			data->code_end = data->heaps[i].end;
	}
	return data->code_end - data->code_start > 1ull << 32 ? -EINVAL : 0;
}

/* Where things are in the code of an entry of the interpreter: see struct hotspot_entry. */
static bool find_places(const uint8_t *code, size_t size, struct hotspot_entry *entry)
{
	static const uint8_t enter[] = {0x55, 0x48, 0x8b, 0xec};     /* push rbp; mov rbp, rsp */
	static const uint8_t enter_too[] = {0x55, 0x48, 0x89, 0xe5}; /* the other coding */
	static const uint8_t push_null[] = {0x68, 0, 0, 0, 0, 0x53};
	size_t i, k;

	for (i = 0; i + 64 < size; i++)
		if (!memcmp(code + i, enter, sizeof(enter)) ||
		    !memcmp(code + i, enter_too, sizeof(enter_too)))
			break;
	if (i + 64 >= size)
		return false;
	entry->enter = (uint32_t)i;
	/* pop rax; lea r14, [rsp + …] */
	entry->pop = (uint32_t)i;
	for (k = 0; k + 3 < i; k++)
		if (code[k] == 0x58 && code[k + 1] == 0x4c && code[k + 2] == 0x8d)
			entry->pop = (uint32_t)k;
	/* "lea r13, [r13 + n]; push rbx", or "push 0; push rbx" */
	for (k = i + 4; k < i + 56; k++) {
		bool lea = code[k] == 0x4d && code[k + 1] == 0x8d && code[k + 2] == 0x6d;

		if ((lea && code[k + 4] == 0x53) || !memcmp(code + k, push_null, sizeof(push_null)))
			break;
	}
	if (k == i + 56)
		return false;
	entry->framed = (uint32_t)(code[k] == 0x4d ? k + 5 : k + sizeof(push_null));
	return true;
}

static int look_at_entry(const struct runtime_at *at, struct hotspot *jvm, uint64_t codelet,
			 uint32_t size)
{
	struct hotspot_data *data = &jvm->data;
	struct hotspot_entry entry = {0}, *last = data->entries + data->entry_count - 1;
	uint32_t base = (uint32_t)(codelet - data->interpreter_start);
	uint8_t code[1024];
	int err;

	err = runtime_read(at, code, size < sizeof(code) ? size : sizeof(code), codelet);
	if (err)
		return err;
	if (!find_places(code, size < sizeof(code) ? size : sizeof(code), &entry)) {
		/* those without a frame mostly stand side by side */
		if (data->entry_count && last->pop == last->framed && last->framed == base) {
			last->pop = last->enter = last->framed = base + size;
			return 0;
		}
		entry.pop = entry.enter = entry.framed = size;
	}
	if (data->entry_count < HOTSPOT_ENTRIES_MAX)
		data->entries[data->entry_count++] = (struct hotspot_entry){
			base, base + entry.pop, base + entry.enter, base + entry.framed};
	return 0;
}

/* The interpreter's code is a queue of codelets; its entries make frames. */
static int read_interpreter(const struct runtime_at *at, struct hotspot *jvm)
{
	uint64_t queue, buffer, limit, end, codelet, size, words;
	struct hotspot_data *data = &jvm->data;
	bool complete = false;
	char text[64];
	int err, n;

	err = has(jvm, HOTSPOT_INTERPRETER)
		      ? hotspot_read_number(at, jvm->facts[HOTSPOT_INTERPRETER], 8, &queue)
		      : -EINVAL;
	if (err || !queue)
		return err ? err : -EAGAIN;
	err = get(at, jvm, queue, HOTSPOT_QUEUE_BUFFER, 8, &buffer);
	if (!err)
		err = get(at, jvm, queue, HOTSPOT_QUEUE_LIMIT, 4, &limit);
	if (!err)
		err = get(at, jvm, queue, HOTSPOT_QUEUE_END, 4, &end);
	if (err)
		return err;
	if (limit > INTERPRETER_MAX || end > limit || buffer < data->code_start ||
	    buffer > data->code_end - limit)
		return -EINVAL;
	data->interpreter_start = buffer;
	data->interpreter_end = buffer + limit;
	codelet = buffer;
	for (n = 0; n < CODELETS_MAX && codelet < buffer + end; n++, codelet += size) {
		err = get(at, jvm, codelet, HOTSPOT_CODELET_SIZE, 4, &size);
		if (!err)
			err = get(at, jvm, codelet, HOTSPOT_CODELET_WORDS, 8, &words);
		if (err)
			return err;
		if (size < 16 || size > CODELET_MAX)
			return -EAGAIN;
		if (!words || runtime_read_string(at, text, sizeof(text), words))
			continue;
		if (strstr(text, "method entry point"))
			err = look_at_entry(at, jvm, codelet, (uint32_t)size);
		if (err)
			return err;
		complete |= strstr(text, "native_synchronized") != NULL;
	}
	/* it is being made */
	return complete ? 0 : -EAGAIN;
}

/* A field of a blob, as the kernel side gets it. */
struct blob_field {
	enum hotspot_field_number number;
	enum hotspot_fact fact;
	unsigned int size;
};

/* Chooses what is read of a blob, and tells where in that each field is. */
static int place_fields(struct hotspot *jvm, const struct blob_field *fields, size_t count)
{
	struct hotspot_data *data = &jvm->data;
	uint64_t from = HOTSPOT_ABSENT, end = 0, at;
	size_t i;

	for (i = 0; i < count; i++) {
		at = jvm->facts[fields[i].fact];
		if (at > 4096)
			return -EINVAL;
		if (at < from)
			from = at & ~3ull;
		if (at + fields[i].size > end)
			end = at + fields[i].size;
	}
	if (end - from > UNWIND_PIECE_BYTES)
		return -EINVAL;
	data->blob_from = (uint32_t)from;
	data->blob_bytes = (uint32_t)(end - from);
	for (i = 0; i < count; i++)
		data->fields[fields[i].number] = (struct hotspot_field){
			(uint16_t)(jvm->facts[fields[i].fact] - from), (uint16_t)fields[i].size};
	return 0;
}

/*
 * The block around a blob, if it can be read in one piece with it. Its length has 4 bytes since JDK
 * 25, before it had 8.
 */
static void place_block(struct hotspot *jvm)
{
	uint64_t length = jvm->facts[HOTSPOT_BLOCK_LENGTH], used = jvm->facts[HOTSPOT_BLOCK_USED],
		 header = jvm->facts[HOTSPOT_SIZE_HEAP_BLOCK], size = used - length;
	struct hotspot_data *data = &jvm->data;

	if (header > UNWIND_PIECE_BYTES || header & 3 || length & 3 || used >= header ||
	    (size != 4 && size != 8) ||
	    header + data->blob_from + data->blob_bytes > UNWIND_PIECE_BYTES)
		return;
	data->block_length = (struct hotspot_field){(uint16_t)length, (uint16_t)size};
	data->block_used = (struct hotspot_field){(uint16_t)used, 1};
}

static int place_blob(struct hotspot *jvm)
{
	bool offsets = has(jvm, HOTSPOT_BLOB_CODE_OFFSET);
	struct blob_field fields[HOTSPOT_FIELDS] = {
		{HOTSPOT_NAME, HOTSPOT_BLOB_NAME, 8},
		{HOTSPOT_CODE, offsets ? HOTSPOT_BLOB_CODE_OFFSET : HOTSPOT_BLOB_CODE,
		 offsets ? 4 : 8},
		{HOTSPOT_FRAME_SIZE, HOTSPOT_BLOB_FRAME_SIZE, 4},
		{HOTSPOT_FRAME_COMPLETE, HOTSPOT_BLOB_FRAME_COMPLETE,
		 jvm->short_frame_complete ? 2 : 4},
		{HOTSPOT_COMPILE_ID, HOTSPOT_NMETHOD_COMPILE_ID, 4},
		/* an int or a byte, of a small number */
		{HOTSPOT_LEVEL, HOTSPOT_NMETHOD_LEVEL, 1},
		{HOTSPOT_ORIGINAL_PC, HOTSPOT_NMETHOD_ORIGINAL_PC, 4},
		{HOTSPOT_DEOPT, offsets ? HOTSPOT_NMETHOD_DEOPT_OFFSET : HOTSPOT_NMETHOD_DEOPT,
		 offsets ? 4 : 8},
	};
	size_t count = 8;
	enum hotspot_fact mh = offsets ? HOTSPOT_NMETHOD_DEOPT_MH_OFFSET : HOTSPOT_NMETHOD_DEOPT_MH;

	if (has(jvm, mh))
		fields[count++] = (struct blob_field){HOTSPOT_DEOPT_MH, mh, offsets ? 4 : 8};
	if (has(jvm, HOTSPOT_BLOB_KIND))
		fields[count++] = (struct blob_field){HOTSPOT_KIND, HOTSPOT_BLOB_KIND, 1};
	jvm->data.code_is_offset = offsets;
	jvm->data.nmethod_kind = (uint8_t)jvm->facts[HOTSPOT_KIND_NMETHOD];
	if (place_fields(jvm, fields, count))
		return -EINVAL;
	place_block(jvm);
	return 0;
}

/* What the kernel side reads of an interpreted function. */
static int place_method(struct hotspot *jvm)
{
	struct hotspot_data *data = &jvm->data;
	uint64_t constants = jvm->facts[HOTSPOT_CONST_CONSTANTS],
		 code_size = jvm->facts[HOTSPOT_CONST_CODE_SIZE],
		 name = jvm->facts[HOTSPOT_CONST_NAME], text = jvm->facts[HOTSPOT_SYMBOL_BODY],
		 length = jvm->facts[HOTSPOT_SYMBOL_LENGTH];

	if (constants > HOTSPOT_CONST_METHOD - 8 || code_size > HOTSPOT_CONST_METHOD - 2 ||
	    name > HOTSPOT_CONST_METHOD - 2 || constants & 3 ||
	    jvm->facts[HOTSPOT_METHOD_CONST] > 256 || jvm->facts[HOTSPOT_SIZE_CONST_METHOD] > 256 ||
	    jvm->facts[HOTSPOT_SIZE_POOL] > 256 || jvm->facts[HOTSPOT_POOL_HOLDER] > 256 ||
	    jvm->facts[HOTSPOT_CLASS_NAME] > 256 || !text || text > 8 || length > 6)
		return -EINVAL;
	data->constants = (uint32_t)constants;
	data->code_size = (uint32_t)code_size;
	data->name_index = (uint32_t)name;
	data->const_method = (uint32_t)jvm->facts[HOTSPOT_METHOD_CONST];
	data->pool_size = (uint32_t)jvm->facts[HOTSPOT_SIZE_POOL];
	data->pool_holder = (uint32_t)jvm->facts[HOTSPOT_POOL_HOLDER];
	data->class_name = (uint32_t)jvm->facts[HOTSPOT_CLASS_NAME];
	data->symbol_body = (uint8_t)text;
	data->symbol_length = (uint8_t)length;
	data->const_method_size = (uint32_t)jvm->facts[HOTSPOT_SIZE_CONST_METHOD];
	/* since JDK 9, the mirror of the class is kept too (frame_x86.hpp) */
	data->bcp_slot = jvm->version == 8 ? 7 : 8;
	return 0;
}

static int read_stubs(const struct runtime_at *at, struct hotspot *jvm)
{
	const struct hotspot_image *image = at->facts;
	uint64_t call_stub, entry_return = 0, barrier = 0;
	int err;

	if (!has(jvm, HOTSPOT_CALL_STUB))
		return -EINVAL;
	err = hotspot_read_number(at, jvm->facts[HOTSPOT_CALL_STUB], 8, &call_stub);
	if (!err && !call_stub)
		return -EAGAIN;
	if (!err && has(jvm, HOTSPOT_ENTRY_RETURN))
		err = hotspot_read_number(at, jvm->facts[HOTSPOT_ENTRY_RETURN], 8, &entry_return);
	else if (!err && image->entry_return)
		err = runtime_read_u64(at, &entry_return, runtime_address(at, image->entry_return));
	if (!err && image->return_barrier)
		err = runtime_read_u64(at, &barrier, runtime_address(at, image->return_barrier));
	jvm->data.call_stub = call_stub;
	jvm->data.entry_return = entry_return;
	jvm->data.return_barrier = barrier;
	return err;
}

/*
 * Pieces of code that are described in a list (StubCodeDesc: the next one, group, name, begin,
 * end). It serves names only: what does not look like it ends it.
 */
static void read_stub_list(const struct runtime_at *at, struct hotspot *jvm)
{
	const struct hotspot_image *image = at->facts;
	const struct hotspot_data *data = &jvm->data;
	struct hotspot_stub stub;
	uint64_t piece, words[5];
	size_t n;

	if (!image->stub_list ||
	    runtime_read_u64(at, &piece, runtime_address(at, image->stub_list)))
		return;
	for (n = 0; n < STUBS_MAX && piece; n++) {
		if (runtime_read(at, words, sizeof(words), piece) || words[3] >= words[4])
			return;
		piece = words[0];
		stub.start = words[3];
		stub.end = words[4];
		/* also what is not in the code cache any more, or not yet */
		if (stub.start < data->code_start || stub.end > data->code_end)
			continue;
		if (runtime_read_string(at, stub.name, sizeof(stub.name), words[2]) ||
		    !vec_push(&jvm->stubs, stub))
			return;
	}
}

static void detach(void *state)
{
	struct hotspot *jvm = state;

	vec_free(&jvm->stubs);
	free(jvm);
}

static int attach(const struct runtime_at *at, void *data, void **state, struct fail *why)
{
	struct hotspot *jvm = calloc(1, sizeof(*jvm));
	int err;

	_Static_assert(sizeof(struct hotspot_data) <= UNWIND_DATA_BYTES, "it has room");
	if (!jvm)
		return fail_errno(why, -ENOMEM, NULL, "HotSpot cannot be looked at");
	err = hotspot_read_tables(at, jvm, why);
	if (!err)
		err = find_version(at, jvm, why);
	if (err)
		goto failed;
	err = place_blob(jvm);
	if (!err)
		err = place_method(jvm);
	if (!err)
		err = read_heaps(at, jvm);
	if (!err)
		err = read_interpreter(at, jvm);
	if (!err)
		err = read_stubs(at, jvm);
	if (!err)
		err = hotspot_read_threads(at, jvm);
	if (err && err != -EAGAIN)
		fail_errno(why, err, NULL, "structures of JDK %u are not what they should be",
			   jvm->version);
	if (err)
		goto failed;
	read_stub_list(at, jvm);
	hotspot_read_objects(at, jvm);
	memcpy(data, &jvm->data, sizeof(jvm->data));
	*state = jvm;
	return 0;
failed:
	detach(jvm);
	return err;
}

static bool owns(const struct runtime_at *at, const void *state, const struct mapping *mapping)
{
	const struct hotspot *jvm = state;

	(void)at;
	return mapping->start < jvm->data.code_end && mapping->end > jvm->data.code_start;
}

static int name_of(const struct runtime_at *at, void *state, const uint64_t words[2],
		   struct runtime_names *names)
{
	return hotspot_name(at, state, words, names);
}

const struct runtime_type runtime_hotspot = {
	.name = "hotspot",
	.id = UNWIND_RUNTIME_HOTSPOT,
	.frame_kind = FILM_FRAME_JAVA,
	.restarts = true,
	.exports = exports,
	.open = open_image,
	.close = free,
	.attach = attach,
	.detach = detach,
	.owns = owns,
	.name_of = name_of,
	.locks = hotspot_locks,
	.lock_owner = hotspot_lock_owner,
	.lock_thread = hotspot_lock_thread,
	.lock_park_class = hotspot_park_class,
	.vthreads = hotspot_vthreads,
	.class_name = hotspot_class_name,
	.spans = hotspot_spans,
	.spans_file = "libjvm.so",
	.roles = hotspot_roles,
	.lock_kind = FILM_LOCK_MONITOR,
	.lock_sure = FILM_HOLDER_OWNER,
};
