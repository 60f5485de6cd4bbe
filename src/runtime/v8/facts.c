// SPDX-License-Identifier: Apache-2.0
/*
 * What is to be known of an image with V8: offsets, numbers of types, the place of the builtins.
 *
 * V8 is built with data for debuggers that look into core files (tools/gen-postmortem-metadata.py):
 * exported variables v8dbg_*, each with one offset or number. What they have is read from the
 * image's file. What they lack is known for the versions of the releases of Node.js with long-term
 * support, and only for those.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/v8/internal.h"

#define MISSING UINT32_MAX

/*
 * The versions. Sources of what is not published, in V8's tree: src/objects/code.h,
 * bytecode-array.tq, script.tq, scope-info.tq. Those of WebAssembly were seen in the memory of each
 * version; what is read with them proves itself (v8/wasm.c).
 */
struct version {
	uint32_t major, minor;
	struct v8_facts facts;
};

/* clang-format off */
/* as far as versions do not say otherwise */
#define COMMON                                                                              \
	.array_length = 8, .array_data = 16, .script_first_line = 24, .external_data = 24, \
	.scope_names_max = 75, .deopt_literals = 2, .deopt_shared = 6, .deopt_inlining = 7

static const struct version versions[] = {
	/* Node.js 18 */
	{10, 2, {COMMON, .frame_types = 24, .bytecode_positions = 32, .code_start = 128, .code_size = 40, .code_flags = 48,
		 .code_deoptimization = 16, .code_positions = 24, .code_head = 128,
		 .wasm = {.module = {208}, .script = 40, .bytes = 312, .codes = 424, .size = 32, .function = 48}}},
	/* Node.js 20 */
	{11, 3, {COMMON, .frame_types = 28, .bytecode_positions = 32, .code_is_apart = true, .code_start = 40, .code_size = 56,
		 .code_flags = 48, .code_deoptimization = 16, .code_positions = 24, .code_head = 16,
		 .wasm = {.module = {208}, .script = 32, .bytes = 200, .codes = 312, .size = 24, .function = 44}}},
	/* Node.js 22 */
	{12, 4, {COMMON, .frame_types = 30, .bytecode_positions = 24, .code_is_apart = true, .code_start = 40, .code_size = 52,
		 .code_flags = 48, .code_deoptimization = 8, .code_positions = 16, .code_head = 32,
		 .scope_counted = 3,
		 .wasm = {.module = {160, 32}, .script = 32, .bytes = 200, .codes = 400, .size = 24, .function = 44}}},
	/* Node.js 24 */
	{13, 6, {COMMON, .frame_types = 32, .bytecode_positions = 24, .code_is_apart = true, .code_start = 40, .code_size = 56,
		 .code_flags = 52, .code_deoptimization = 8, .code_positions = 16, .code_head = 32,
		 .scope_counted = 5, .scope_position_first = true, .scope_flags_plain = true, .shared_is_wrapped = true,
		 .wasm = {.module = {152, 32}, .script = 32, .bytes = 240, .codes = 320, .size = 32, .function = 56}}},
	/*
	 * Node.js 26. Objects are as in 13.6: seen in the memory of both, side by side, with the
	 * addresses that %DebugPrint() tells, and scopes against what the image's
	 * _v8_internal_Print_Object() prints of them. Types of frames have other numbers; their
	 * count is one more than v8dbg_frametype_WasmSegmentStartFrame, the largest. How tables of
	 * places are written is read off the image's SourcePositionTableBuilder::AddPosition().
	 */
	{14, 6, {COMMON, .frame_types = 35, .bytecode_positions = 24, .code_is_apart = true, .code_start = 40, .code_size = 56,
		 .code_flags = 52, .code_deoptimization = 8, .code_positions = 16, .code_head = 32,
		 .scope_counted = 5, .scope_position_first = true, .scope_flags_plain = true, .shared_is_wrapped = true,
		 .places_flagged = true,
		 .wasm = {.module = {104, 32}, .script = 32, .bytes = 232, .codes = 312, .size = 32, .function = 56}}},
};
/* clang-format on */

struct published {
	const char *name;
	size_t field; /* in struct v8_facts */
};

#define AT(field) offsetof(struct v8_facts, field)

/* Names change from version to version; a field may have several. */
static const struct published published[] = {
	{"v8dbg_class_Map__instance_type__uint16_t", AT(map_type)},
	{"v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", AT(type_shared)},
	{"v8dbg_type_Script__SCRIPT_TYPE", AT(type_script)},
	{"v8dbg_type_DebugInfo__DEBUG_INFO_TYPE", AT(type_debug_info)},
	{"v8dbg_type_Oddball__ODDBALL_TYPE", AT(type_oddball)},
	{"v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE", AT(type_scope_info)},
	{"v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE", AT(type_bytecode)},
	{"v8dbg_type_FixedArray__FIXED_ARRAY_TYPE", AT(type_fixed_array)},
	{"v8dbg_type_ByteArray__BYTE_ARRAY_TYPE", AT(type_bytes)},
	{"v8dbg_type_ByteArray__BYTE_ARRAY_TYPE", AT(type_places)},
	{"v8dbg_type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE", AT(type_places)},
	{"v8dbg_type_Code__CODE_TYPE", AT(type_code)},
	{"v8dbg_frametype_EntryFrame", AT(frame_entry)},
	{"v8dbg_frametype_ConstructEntryFrame", AT(frame_construct_entry)},
	{"v8dbg_frametype_WasmFrame", AT(frame_wasm)},
	{"v8dbg_class_JSFunction__shared__SharedFunctionInfo", AT(function_shared)},
	{"v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object", AT(shared_name)},
	{"v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_", AT(shared_name)},
	{"v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_",
	 AT(shared_name)},
	{"v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject", AT(shared_script)},
	{"v8dbg_class_SharedFunctionInfo__script__Tagged_HeapObject_", AT(shared_script)},
	{"v8dbg_class_SharedFunctionInfo__length__uint16_t", AT(shared_numbers)},
	{"v8dbg_scopeinfo_idx_ncontextlocals", AT(scope_locals)},
	{"v8dbg_scopeinfo_idx_first_vars", AT(scope_first)},
	{"v8dbg_class_UncompiledData__start_position__int32_t", AT(uncompiled_start)},
	{"v8dbg_class_Script__source__Object", AT(script_source)},
	{"v8dbg_class_Script__name__Object", AT(script_name)},
	{"v8dbg_class_String__length__int32_t", AT(string_length)},
	{"v8dbg_class_SeqOneByteString__chars__char", AT(string_chars)},
	{"v8dbg_class_ConsString__first__String", AT(cons_first)},
	{"v8dbg_class_ConsString__second__String", AT(cons_second)},
	{"v8dbg_class_ThinString__actual__String", AT(thin_actual)},
	{"v8dbg_class_SlicedString__parent__String", AT(sliced_parent)},
	{"v8dbg_class_SlicedString__offset__SMI", AT(sliced_offset)},
	{"v8dbg_class_BytecodeArray__data__uintptr_t", AT(bytecode_data)},
	{"v8dbg_CodeKindBaseline", AT(kind_baseline)},
};

#define PUBLISHED (sizeof(published) / sizeof(*published))

/* What overrides the version's if it is published. */
static const struct published optional[] = {
	{"v8dbg_frametype_IrregexpFrame", AT(frame_regexp)},
	{"v8dbg_frametype_WasmToJsFrame", AT(frame_from_wasm)},
	{"v8dbg_type_WasmModuleObject__WASM_MODULE_OBJECT_TYPE", AT(type_wasm_module)},
	{"v8dbg_type_WasmExportedFunctionData__WASM_EXPORTED_FUNCTION_DATA_TYPE",
	 AT(type_wasm_exported)},
	{"v8dbg_DeoptimizationDataLiteralArrayIndex", AT(deopt_literals)},
	{"v8dbg_DeoptimizationDataSharedFunctionInfoIndex", AT(deopt_shared)},
	{"v8dbg_DeoptimizationDataWrappedSharedFunctionInfoIndex", AT(deopt_shared)},
	{"v8dbg_DeoptimizationDataInliningPositionsIndex", AT(deopt_inlining)},
};

#define OPTIONAL (sizeof(optional) / sizeof(*optional))

/* What the step and the naming of strings have built in: another value is another design. */
static const struct {
	const char *name;
	int32_t value;
} expected[] = {
	{"v8dbg_HeapObjectTag", 1},
	{"v8dbg_HeapObjectTagMask", 3},
	{"v8dbg_SmiTag", 0},
	{"v8dbg_SmiShiftSize", 31},
	{"v8dbg_SmiValueShift", 1},
	{"v8dbg_off_fp_context", -8},
	{"v8dbg_off_fp_function", -16},
	{"v8dbg_off_fp_bytecode_array", -32},
	{"v8dbg_off_fp_bytecode_offset", -40},
	{"v8dbg_FirstNonstringType", 0x80},
	{"v8dbg_StringEncodingMask", 8},
	{"v8dbg_OneByteStringTag", 8},
	{"v8dbg_StringRepresentationMask", 7},
	{"v8dbg_SeqStringTag", 0},
	{"v8dbg_ConsStringTag", 1},
	{"v8dbg_ExternalStringTag", 2},
	{"v8dbg_SlicedStringTag", 3},
	{"v8dbg_ThinStringTag", 5},
	{"v8dbg_CodeKindFieldMask", 15},
	{"v8dbg_CodeKindFieldShift", 0},
};

#define EXPECTED (sizeof(expected) / sizeof(*expected))

enum {
	MAJOR,
	MINOR,
	BUILTINS,
	BUILTINS_SIZE,
	CODE_RANGE,
	OTHERS
};

/*
 * Variables and functions by their mangled names: static members of v8::internal::Version and
 * Isolate, and v8::Isolate::GetEmbeddedCodeRange().
 */
static const char *const others[OTHERS] = {
	[MAJOR] = "_ZN2v88internal7Version6major_E",
	[MINOR] = "_ZN2v88internal7Version6minor_E",
	[BUILTINS] = "_ZN2v88internal7Isolate23CurrentEmbeddedBlobCodeEv",
	[BUILTINS_SIZE] = "_ZN2v88internal7Isolate27CurrentEmbeddedBlobCodeSizeEv",
	[CODE_RANGE] = "_ZN2v87Isolate20GetEmbeddedCodeRangeEPPKvPm",
};

#define SYMBOLS (PUBLISHED + EXPECTED + OPTIONAL + OTHERS)

/*
 * The variable that an accessor returns: "mov variable(%rip), %rax" or, for a size, %eax; 0: it is
 * no such function. The builtins are asked for at run time, since relocations decide where they
 * are.
 */
static uint64_t variable_of(const struct image *image, uint64_t accessor, bool *is_size)
{
	/* push %rbp; mov %rsp, %rbp */
	static const uint8_t frame[] = {0x55, 0x48, 0x89, 0xe5};
	uint8_t code[12];
	int32_t distance;
	size_t at = 0;

	if (!accessor || runtime_read_image(image, code, sizeof(code), accessor))
		return 0;
	if (!memcmp(code, frame, sizeof(frame)))
		at = sizeof(frame);
	*is_size = code[at] != 0x48;
	if (!*is_size)
		at++;
	if (code[at] != 0x8b || code[at + 1] != 0x05)
		return 0;
	memcpy(&distance, code + at + 2, sizeof(distance));
	return accessor + at + 6 + (uint64_t)(int64_t)distance;
}

/*
 * How much of the function is looked at, and the accessors that it calls. They are the arguments of
 * a constructor: code, its size, data, its size. Compilers take them in this order (clang) or from
 * the last one on (gcc).
 */
#define RANGE_BYTES 96
#define RANGE_CALLS 4

/* V8 13 does not export the accessors any more, but a function that calls them. */
static void find_by_calls(const struct image *image, uint64_t function, struct v8_facts *facts)
{
	uint64_t variables[RANGE_CALLS];
	uint8_t code[RANGE_BYTES];
	int32_t distance;
	size_t i, calls = 0;
	bool is_size, first_is_size = false;

	if (!function || runtime_read_image(image, code, sizeof(code), function))
		return;
	for (i = 0; i + 5 <= sizeof(code) && calls < RANGE_CALLS; i++) {
		memcpy(&distance, code + i + 1, sizeof(distance));
		if (code[i] != 0xe8)
			continue;
		variables[calls] = variable_of(
			image, function + i + 5 + (uint64_t)(int64_t)distance, &is_size);
		if (!variables[calls])
			continue;
		if (!calls)
			first_is_size = is_size;
		if (is_size != (first_is_size == !(calls & 1)))
			return;
		calls++;
	}
	if (calls < RANGE_CALLS)
		return;
	facts->builtins_at = variables[first_is_size ? 3 : 0];
	facts->builtins_size_at = variables[first_is_size ? 2 : 1];
}

static void find_builtins(const struct image *image, const struct runtime_symbol *others_found,
			  struct v8_facts *facts)
{
	bool is_size = true, size_is_size = false;

	facts->builtins_at = variable_of(image, others_found[BUILTINS].address, &is_size);
	facts->builtins_size_at =
		variable_of(image, others_found[BUILTINS_SIZE].address, &size_is_size);
	if (!facts->builtins_at || !facts->builtins_size_at || is_size || !size_is_size) {
		facts->builtins_at = facts->builtins_size_at = 0;
		find_by_calls(image, others_found[CODE_RANGE].address, facts);
	}
}

static const struct version *version_of(uint32_t major, uint32_t minor)
{
	size_t i;

	for (i = 0; i < sizeof(versions) / sizeof(*versions); i++)
		if (versions[i].major == major && versions[i].minor == minor)
			return &versions[i];
	return NULL;
}

/* The first name of which nothing is published and nothing known; null: all are there. */
static const char *fill(struct v8_facts *facts, const uint32_t values[SYMBOLS])
{
	uint32_t kept;
	size_t i;

	for (i = 0; i < PUBLISHED; i++)
		memcpy((char *)facts + published[i].field, &(uint32_t){MISSING}, sizeof(uint32_t));
	for (i = 0; i < PUBLISHED; i++) {
		if (values[i] != MISSING)
			memcpy((char *)facts + published[i].field, &values[i], sizeof(values[i]));
	}
	for (i = 0; i < PUBLISHED; i++) {
		memcpy(&kept, (char *)facts + published[i].field, sizeof(kept));
		if (kept == MISSING)
			return published[i].name;
	}
	for (i = 0; i < OPTIONAL; i++) {
		kept = values[PUBLISHED + EXPECTED + i];
		if (kept != MISSING)
			memcpy((char *)facts + optional[i].field, &kept, sizeof(kept));
	}
	for (i = 0; i < EXPECTED; i++)
		if (values[PUBLISHED + i] != (uint32_t)expected[i].value)
			return expected[i].name;
	return NULL;
}

/* Offsets that no object has would lead the kernel side astray. */
static bool is_sound(const struct v8_facts *f)
{
	return f->map_type < 64 && f->function_shared < 128 && f->shared_name < 64 &&
	       f->shared_script < 64 && f->shared_numbers < 64 && f->frame_types < 128 &&
	       f->frame_entry < 128 && f->frame_construct_entry < 128 && f->frame_wasm < 128 &&
	       f->scope_first < V8_SCOPE_WORDS && f->scope_first >= 2 &&
	       f->scope_locals < f->scope_first && f->scope_locals + 1 < V8_SCOPE_WORDS &&
	       f->type_shared <= UINT16_MAX && f->type_bytecode <= UINT16_MAX &&
	       f->string_length == V8_STRING_HEAD + 4 && f->string_chars < 64 &&
	       f->cons_first < 64 && f->cons_second < 64 && f->thin_actual < 64 &&
	       f->sliced_parent < 64 && f->sliced_offset < 64 && f->script_source < 256 &&
	       f->script_name < 256 && f->uncompiled_start < 64 && f->deopt_literals < 64 &&
	       f->deopt_shared < 64 && f->deopt_inlining < 64 && f->bytecode_data < 256 &&
	       !(f->shared_name & 7) && !(f->shared_script & 7) && !(f->shared_numbers & 7);
}

struct v8_scope_layout v8_facts_scope(const struct v8_facts *facts)
{
	/* the Map is a word too */
	return (struct v8_scope_layout){
		.first = (uint8_t)(1 + facts->scope_first),
		.locals = (uint8_t)(1 + facts->scope_locals),
		.names_max = (uint8_t)facts->scope_names_max,
		.flags_plain = facts->scope_flags_plain,
		.counted = (uint8_t)facts->scope_counted,
	};
}

struct v8_facts *v8_facts_open(const struct image *image, struct budget *budget, struct fail *why)
{
	struct runtime_symbol symbols[SYMBOLS] = {0};
	const struct runtime_symbol *other = symbols + SYMBOLS - OTHERS;
	uint32_t values[SYMBOLS], major, minor;
	const struct version *version;
	struct v8_facts *facts;
	const char *lacking;
	size_t i;

	for (i = 0; i < PUBLISHED; i++)
		symbols[i].name = published[i].name;
	for (i = 0; i < EXPECTED; i++)
		symbols[PUBLISHED + i].name = expected[i].name;
	for (i = 0; i < OPTIONAL; i++)
		symbols[PUBLISHED + EXPECTED + i].name = optional[i].name;
	for (i = 0; i < OTHERS; i++)
		symbols[SYMBOLS - OTHERS + i].name = others[i];
	runtime_find_symbols(image, budget, symbols, SYMBOLS);
	if (budget->spent) {
		budget_refuse(budget, why, "the symbols of V8");
		return NULL;
	}
	/* what is zero lies in memory that the file does not have */
	runtime_read_numbers(image, symbols, SYMBOLS, MISSING, values);
	major = values[SYMBOLS - OTHERS + MAJOR];
	minor = values[SYMBOLS - OTHERS + MINOR];
	version = version_of(major, minor);
	if (!version) {
		if (major == MISSING)
			fail(why, -ENOTSUP, NULL, "V8 of an unknown version");
		else
			fail(why, -ENOTSUP, NULL, "V8 %u.%u is not known", major, minor);
		return NULL;
	}
	facts = malloc(sizeof(*facts));
	if (!facts)
		return NULL;
	*facts = version->facts;
	facts->major = major;
	facts->minor = minor;
	facts->shared_data = 8;
	lacking = fill(facts, values);
	if (lacking || !is_sound(facts)) {
		fail(why, -ENOTSUP, NULL, "V8 %u.%u without the metadata for debuggers (%s)", major,
		     minor, lacking ? lacking : "offsets out of range");
		goto refused;
	}
	find_builtins(image, other, facts);
	if (!facts->builtins_at || !facts->builtins_size_at) {
		fail(why, -ENOTSUP, NULL, "V8 %u.%u whose builtins are not found", major, minor);
		goto refused;
	}
	facts->witness_at = other[MAJOR].address;
	facts->witness = major;
	return facts;
refused:
	free(facts);
	return NULL;
}
