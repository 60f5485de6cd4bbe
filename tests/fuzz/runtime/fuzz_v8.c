// SPDX-License-Identifier: Apache-2.0
/*
 * Frames of V8 named from memory that holds anything. Addresses wrap around, so that each leads
 * somewhere.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "v8_heap.h"
#include "wrapped_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct runtime_names names;
	struct v8_facts facts = v8_facts_11_3;
	struct v8_state state = {0};
	struct runtime_at at = {.facts = &facts};
	struct memory memory;
	struct v8_reader r = {&at, &facts, &state};
	struct v8_shared shared;
	uint64_t words[2];
	uint32_t variant;

	if (size < sizeof(words) + 64)
		return 0;
	memcpy(words, data, sizeof(words));
	memory = (struct memory){data + sizeof(words), size - sizeof(words), 0};
	at.memory = (struct runtime_memory){read_memory, &memory};
	facts.code_is_apart = words[0] >> 60 & 1;
	facts.scope_position_first = facts.scope_flags_plain = words[0] >> 61 & 1;
	facts.shared_is_wrapped = words[0] >> 59 & 1;
	facts.places_flagged = words[0] >> 58 & 1;
	for (variant = 0; variant < 4; variant++) {
		names.count = names.used = 0;
		words[0] = UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_V8, variant, words[0]);
		runtime_v8.name_of(&at, &state, words, &names);
	}
	/* what a checksum keeps from being reached */
	names.count = names.used = 0;
	if (!v8_shared_read(&r, words[1] | 1, &shared) && !v8_shared_name(&r, &shared)) {
		v8_bytecode_place(&r, v8_shared_bytecode(&r, &shared), 64);
		v8_shared_add(&r, &shared, v8_shared_line(&r, &shared, shared.start), &names);
		v8_code_add(&r, words[0] & UNWIND_VALUE_MASK, &shared, false, &names);
	}
	names.count = names.used = 0;
	v8_wasm_add(&r, words[0] & UNWIND_VALUE_MASK, words[1], &names);
	v8_wasm_forget(&state);
	v8_scripts_forget(&state);
	vec_free(&state.scripts);
	map_free(&state.by_script);
	return 0;
}
