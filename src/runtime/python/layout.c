// SPDX-License-Identifier: Apache-2.0
/*
 * The layout of CPython's structures, by version.
 *
 * Up to 3.12 it is a table of facts: Include/cpython/pystate.h, Include/cpython/code.h (3.8:
 * Include/code.h), Include/frameobject.h, Include/cpython/funcobject.h,
 * Include/internal/pycore_frame.h, pycore_runtime.h, pycore_interp.h of each version, on x86-64.
 * Within a minor version they do not change once it is released. Since 3.13 _PyRuntime begins with
 * struct _Py_DebugOffsets, which tells most offsets (pycore_runtime.h, pycore_debug_offsets.h);
 * that struct itself has another layout in each minor version.
 */
#include "runtime/python/layout.h"

#include <errno.h>
#include <string.h>

/* What all versions up to 3.12 share. */
#define COMMON .interpreter_next = 0, .thread_next = 8, .thread_interpreter = 16

static const struct python_layout known_layouts[] = {
	{
		.minor = 8,
		.data = {.shape = PYTHON_FRAME_OBJECTS,
			 COMMON,
			 .frame_from = 24,
			 .frame_bytes = 88,
			 .interpreter_threads = 8,
			 .thread_id = 176,
			 .thread_frame = 24,
			 .frame_previous = 0,
			 .frame_code = 8,
			 .frame_instruction = 80,
			 .frame_owner = 0,
			 .code_from = 40,
			 .code_flags = 36,
			 .code_words = 0x7ff},
		.runtime_current = 1368,
		.runtime_interpreters = 32,
		.code_size = 176,
		.code_first_line = 40,
		.code_filename = 104,
		.code_name = 112,
		.code_lines = 120,
	},
	{
		.minor = 9,
		.data = {.shape = PYTHON_FRAME_OBJECTS,
			 COMMON,
			 .frame_from = 24,
			 .frame_bytes = 88,
			 .interpreter_threads = 8,
			 .thread_id = 176,
			 .thread_frame = 24,
			 .frame_previous = 0,
			 .frame_code = 8,
			 .frame_instruction = 80,
			 .frame_owner = 0,
			 .code_from = 40,
			 .code_flags = 36,
			 .code_words = 0x7ff},
		.runtime_current = 568,
		.runtime_interpreters = 32,
		.code_size = 176,
		.code_first_line = 40,
		.code_filename = 104,
		.code_name = 112,
		.code_lines = 120,
	},
	{
		.minor = 10,
		.data = {.shape = PYTHON_FRAME_OBJECTS,
			 COMMON,
			 .frame_from = 24,
			 .frame_bytes = 80,
			 .interpreter_threads = 8,
			 .thread_id = 176,
			 .thread_frame = 24,
			 .frame_previous = 0,
			 .frame_code = 8,
			 .frame_instruction = 72,
			 .frame_owner = 0,
			 .code_from = 40,
			 .code_flags = 36,
			 .code_words = 0x7ff},
		.runtime_current = 568,
		.runtime_interpreters = 32,
		.code_size = 176,
		.code_first_line = 40,
		.code_filename = 104,
		.code_name = 112,
		.code_lines = 120,
	},
	{
		.minor = 11,
		.data = {.shape = PYTHON_CFRAMES_ENTRY,
			 COMMON,
			 .frame_bytes = 80,
			 .interpreter_threads = 16,
			 .thread_id = 152,
			 .thread_frame = 56,
			 .cframe_current = 8,
			 .cframe_previous = 16,
			 .frame_code = 32,
			 .frame_previous = 48,
			 .frame_instruction = 56,
			 .frame_owner = 68 /* is_entry */,
			 .frame_function = 0,
			 .function_number = 128,
			 .code_from = 56,
			 .code_flags = 48,
			 .code_words = 0x7ff,
			 .code_first_byte = 184},
		.runtime_current = 576,
		.runtime_interpreters = 40,
		.code_size = 184,
		.code_first_line = 72,
		.code_filename = 112,
		.code_name = 120,
		.code_qualname = 128,
		.code_lines = 136,
	},
	{
		.minor = 12,
		.data = {.shape = PYTHON_CFRAMES,
			 COMMON,
			 .frame_bytes = 80,
			 .interpreter_threads = 72,
			 .thread_id = 136,
			 .thread_frame = 56,
			 .cframe_current = 0,
			 .cframe_previous = 8,
			 .frame_code = 0,
			 .frame_previous = 8,
			 .frame_instruction = 56,
			 .frame_owner = 70,
			 .code_from = 56,
			 .code_flags = 48,
			 /* without flags and co_version */
			 .code_words = 0x7ef,
			 .code_number = 5,
			 .code_first_byte = 192},
		.runtime_interpreters = 40,
		.code_size = 192,
		.code_first_line = 68,
		.code_filename = 112,
		.code_name = 120,
		.code_qualname = 128,
		.code_lines = 136,
	},
};

/* Functions that a version was the first to export. */
static const struct {
	unsigned int minor;
	const char *export;
} firsts[] = {
	{7, "_PyRuntime"},
	{8, "PyCode_NewWithPosOnlyArgs"},
	{9, "PyFrame_GetBack"},
	{10, "PyModule_AddObjectRef"},
	{11, "PyCode_Addr2Location"},
	{12, "PyType_FromMetaclass"},
};

/* Words of struct _Py_DebugOffsets, by what they tell of. */
enum debug_word {
	RUNTIME_INTERPRETERS,
	INTERPRETER_NEXT,
	INTERPRETER_THREADS,
	THREAD_NEXT,
	THREAD_INTERPRETER,
	THREAD_FRAME,
	THREAD_ID,
	FRAME_SIZE,
	FRAME_PREVIOUS,
	FRAME_CODE,
	FRAME_INSTRUCTION,
	FRAME_OWNER,
	CODE_FILENAME,
	CODE_NAME,
	CODE_QUALNAME,
	CODE_LINES,
	CODE_FIRST_LINE,
	CODE_LOCALS,
	CODE_LOCAL_KINDS,
	CODE_BYTES,
	BYTES_LENGTH,
	BYTES_DATA,
	STRING_STATE,
	STRING_LENGTH,
	STRING_ASCII,
	DEBUG_WORDS
};

#define OFFSETS_WORDS 96

static const struct {
	unsigned int minor;
	uint8_t places[DEBUG_WORDS];
} debug_offsets[] = {
	{13, {5,  8,  9,  21, 22, 23, 24, 28, 29, 30, 31, 33, 35,
	      36, 37, 38, 39, 41, 42, 43, 65, 66, 68, 69, 70}},
	{14, {5,  8,  9,  24, 25, 26, 27, 31, 32, 33, 34, 36, 40,
	      41, 42, 43, 44, 46, 47, 48, 75, 76, 78, 79, 80}},
	{15, {5,  8,  9,  24, 25, 26, 30, 39, 40, 41, 42, 44, 48,
	      49, 50, 51, 52, 54, 55, 56, 87, 88, 90, 91, 92}},
};

static int refuse(struct fail *why, const char *words, unsigned int minor)
{
	return fail(why, -ENOTSUP, NULL, "CPython 3.%u%s", minor, words);
}

/* The words as offsets. False: they make no sense. */
static bool read_offsets(struct python_layout *layout, const uint64_t at[DEBUG_WORDS])
{
	struct python_data *data = &layout->data;
	uint16_t first = at[CODE_FIRST_LINE] & ~7u;
	static const enum debug_word lasting[] = {CODE_FILENAME,   CODE_NAME,	    CODE_QUALNAME,
						  CODE_LINES,	   CODE_FIRST_LINE, CODE_LOCALS,
						  CODE_LOCAL_KINDS};
	size_t i;

	for (i = 0; i < DEBUG_WORDS; i++)
		if (at[i] > UINT16_MAX / 2 ||
		    (i != FRAME_OWNER && i != CODE_FIRST_LINE && at[i] & 7))
			return false;
	data->shape = layout->minor < 15 ? PYTHON_FRAMES : PYTHON_FRAMES_BASED;
	data->interpreter_next = at[INTERPRETER_NEXT];
	data->interpreter_threads = at[INTERPRETER_THREADS];
	data->thread_next = at[THREAD_NEXT];
	data->thread_interpreter = at[THREAD_INTERPRETER];
	data->thread_frame = at[THREAD_FRAME];
	data->thread_id = at[THREAD_ID];
	data->frame_bytes = at[FRAME_SIZE];
	data->frame_previous = at[FRAME_PREVIOUS];
	data->frame_code = at[FRAME_CODE];
	data->frame_instruction = at[FRAME_INSTRUCTION];
	data->frame_owner = at[FRAME_OWNER];
	if (data->frame_bytes > 8 * PYTHON_WORDS || data->frame_previous >= data->frame_bytes ||
	    data->frame_code >= data->frame_bytes || data->frame_owner >= data->frame_bytes ||
	    data->frame_instruction >= data->frame_bytes)
		return false;
	data->code_from = first;
	/* five counts of 4 bytes stand between them (Include/cpython/code.h) */
	data->code_flags = at[CODE_FIRST_LINE] >= 20 ? at[CODE_FIRST_LINE] - 20 : 0;
	data->code_first_byte = at[CODE_BYTES];
	for (i = 0; i < sizeof(lasting) / sizeof(lasting[0]); i++) {
		uint64_t offset = at[lasting[i]];

		if (offset < first || offset - first >= 8 * PYTHON_WORDS)
			return false;
		data->code_words |= 1u << (offset - first) / 8;
	}
	/* co_version stands right before co_localsplusnames */
	if (at[CODE_LOCALS] >= first + 8u)
		data->code_number = (at[CODE_LOCALS] - 8 - first) / 8 + 1;
	if (!data->code_first_byte)
		return false;
	layout->runtime_interpreters = at[RUNTIME_INTERPRETERS];
	layout->code_filename = at[CODE_FILENAME];
	layout->code_name = at[CODE_NAME];
	layout->code_qualname = at[CODE_QUALNAME];
	layout->code_lines = at[CODE_LINES];
	layout->code_first_line = at[CODE_FIRST_LINE];
	layout->bytes_length = at[BYTES_LENGTH];
	layout->bytes_data = at[BYTES_DATA];
	layout->string_state = at[STRING_STATE];
	layout->string_length = at[STRING_LENGTH];
	layout->string_ascii = at[STRING_ASCII];
	layout->string_wide = at[STRING_ASCII] + 16; /* utf8_length, utf8 */
	return true;
}

static int read_debug_offsets(const struct image *image, struct python_layout *layout,
			      struct fail *why)
{
	uint64_t offsets[OFFSETS_WORDS], at[DEBUG_WORDS];
	uint32_t version;
	size_t i, n;

	if (runtime_read_image(image, offsets, sizeof(offsets), layout->runtime) ||
	    memcmp(offsets, "xdebugpy", 8) != 0)
		return fail(why, -ENOTSUP, NULL, "CPython without a table of its own offsets");
	version = (uint32_t)offsets[1];
	layout->minor = version >> 16 & 255;
	if (version >> 24 != 3)
		return fail(why, -ENOTSUP, NULL, "CPython of an unknown version (%#x)", version);
	/*
	 * before a release candidate, structures still change (PY_VERSION_HEX: 0xa and 0xb, alpha
	 * and beta)
	 */
	if ((version >> 4 & 15) < 0xc)
		return refuse(why, ", alpha or beta", layout->minor);
	if (offsets[2])
		return refuse(why, " without the global lock", layout->minor);
	for (i = 0; i < sizeof(debug_offsets) / sizeof(debug_offsets[0]); i++) {
		if (debug_offsets[i].minor != layout->minor)
			continue;
		for (n = 0; n < DEBUG_WORDS; n++)
			at[n] = offsets[debug_offsets[i].places[n]];
		return read_offsets(layout, at)
			       ? 0
			       : refuse(why, " with impossible offsets", layout->minor);
	}
	return refuse(why, ": this version is not known", layout->minor);
}

static int use_known(struct python_layout *layout, unsigned int minor, struct fail *why)
{
	uint64_t runtime = layout->runtime, code_type = layout->code_type;
	size_t i;

	for (i = 0; i < sizeof(known_layouts) / sizeof(known_layouts[0]); i++) {
		if (known_layouts[i].minor != minor)
			continue;
		*layout = known_layouts[i];
		layout->runtime = runtime;
		layout->code_type = code_type;
		layout->bytes_length = 16;
		layout->bytes_data = 32;
		layout->string_length = 16;
		layout->string_state = 32;
		layout->string_ascii = minor < 12 ? 48 : 40;
		layout->string_wide = minor < 12 ? 72 : 56;
		return 0;
	}
	return refuse(why, minor < 8 ? ": not supported" : ": this version is not known", minor);
}

uint16_t python_shown_name(const struct python_layout *layout)
{
	return layout->code_qualname ? layout->code_qualname : layout->code_name;
}

/* What goes into the checksum of a code object besides its own words. */
static void choose_name(struct python_layout *layout)
{
	layout->data.code_name = (python_shown_name(layout) - layout->data.code_from) / 8;
	layout->data.code_file = (layout->code_filename - layout->data.code_from) / 8;
	/* PyASCIIObject: length, then hash (Include/cpython/unicodeobject.h) */
	layout->data.name_hash = layout->string_length + 8;
	layout->data.name_text = layout->string_ascii;
}

/*
 * Before 3.7 there was no _PyRuntime. What a version was the first, or the last, to export tells
 * which one it is.
 */
static int refuse_old(const struct image *image, struct budget *budget, struct fail *why)
{
	struct runtime_symbol symbols[] = {{.name = "PyCode_Type"},
					   {.name = "PyInt_FromLong"},
					   {.name = "PyCapsule_New"},
					   {.name = "_PyEval_EvalFrameDefault"}};

	runtime_find_symbols(image, budget, symbols, 4);
	if (!symbols[0].address)
		return -ENOENT;
	return fail(why, -ENOTSUP, NULL, "CPython %s: not supported",
		    symbols[1].address && symbols[2].address ? "2.7"
		    : symbols[1].address		     ? "2.6 or older"
		    : symbols[3].address		     ? "3.6"
							     : "3.5 or older");
}

static int find_layout(const struct image *image, struct python_layout *layout,
		       struct budget *budget, struct fail *why)
{
	enum {
		FIRSTS = sizeof(firsts) / sizeof(firsts[0]),
		VERSION = FIRSTS,
		CODE_TYPE,
		COUNT
	};
	struct runtime_symbol symbols[COUNT];
	unsigned int minor = 0;
	uint64_t version;
	size_t i;

	for (i = 0; i < FIRSTS; i++)
		symbols[i].name = firsts[i].export;
	symbols[VERSION].name = "Py_Version";
	symbols[CODE_TYPE].name = "PyCode_Type";
	runtime_find_symbols(image, budget, symbols, COUNT);
	if (!symbols[0].address)
		return refuse_old(image, budget, why);
	if (!symbols[CODE_TYPE].address)
		return -ENOENT;
	*layout = (struct python_layout){0};
	layout->runtime = symbols[0].address;
	layout->code_type = symbols[CODE_TYPE].address;
	/* since 3.11 it says so itself */
	if (symbols[VERSION].address) {
		if (runtime_read_image(image, &version, sizeof(version), symbols[VERSION].address))
			return fail(why, -ENOTSUP, NULL, "CPython whose version cannot be read");
		if (version >> 24 != 3)
			return fail(why, -ENOTSUP, NULL, "CPython of an unknown version (%#x)",
				    (unsigned int)version);
		minor = version >> 16 & 255;
		if (minor >= 13)
			return read_debug_offsets(image, layout, why);
		return use_known(layout, minor, why);
	}
	for (i = 0; i < FIRSTS; i++)
		if (symbols[i].address)
			minor = firsts[i].minor;
	return use_known(layout, minor, why);
}

int python_layout_of(const struct image *image, struct python_layout *layout, struct budget *budget,
		     struct fail *why)
{
	int err = find_layout(image, layout, budget, why);

	if (!err)
		choose_name(layout);
	return err;
}
