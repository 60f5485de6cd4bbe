// SPDX-License-Identifier: Apache-2.0
#include "arch/shapes.h"

#include <string.h>

#include "arch/isa.h"

#define HLT 0xf4

bool shape_makes_frame(const uint8_t *code, size_t size)
{
	/* push %rbp; mov %rsp, %rbp */
	static const uint8_t frame[] = {0x55, 0x48, 0x89, 0xe5};

	return size >= sizeof(frame) && !memcmp(code, frame, sizeof(frame));
}

/* "mov" from one register to another, of 64 bits. */
static bool moves_register(const uint8_t *code)
{
	return (code[0] & 0xf8) == 0x48 && code[1] == 0x89 && code[2] >= 0xc0;
}

/*
 * "push %r15", "push %r14", "push %r13", perhaps with an argument moved away in between.
 */
bool shape_saves_registers(const uint8_t *code, size_t size)
{
	static const uint8_t registers[] = {0x57, 0x56, 0x55};

	for (size_t i = 0; i < sizeof(registers); i++) {
		if (i && size >= 3 && moves_register(code)) {
			code += 3;
			size -= 3;
		}
		if (size < 2 || code[0] != 0x41 || code[1] != registers[i])
			return false;
		code += 2;
		size -= 2;
	}
	return true;
}

bool shape_begins_function(const uint8_t *code, size_t size)
{
	if (size < 4)
		return false;
	return isa_landing(code, size) || code[0] == 0x55 || code[0] == 0x53 ||
	       (code[0] == 0x41 && code[1] >= 0x54 && code[1] <= 0x57) ||
	       (code[0] == 0x48 && (code[1] == 0x83 || code[1] == 0x81) && code[2] == 0xec);
}

/* push, jmp to where memory says */
bool shape_begins_stubs(const uint8_t *code, size_t size)
{
	return size >= 12 && code[0] == 0xff && code[1] == 0x35 &&
	       ((code[6] == 0xff && code[7] == 0x25) ||
		(code[6] == 0xf2 && code[7] == 0xff && code[8] == 0x25));
}

bool shape_returned(const uint8_t *code)
{
	return code[-1] == 0xc3;
}

size_t shape_of_start(const uint8_t *code, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		bool jump_to_register = i && code[i - 1] == 0xff && (code[i] & 0xf8) == 0xe0;

		if (code[i] == HLT || jump_to_register)
			return i + 1;
	}
	return size;
}

/* mov register, %rsp */
bool shape_begins_stack(const uint8_t *code, size_t size)
{
	return code[size - 1] == HLT && code[0] == 0x48 && code[1] == 0x89 &&
	       (code[2] & 0xc7) == 0xc4;
}

size_t shape_drops_word(const uint8_t *code, size_t size)
{
	static const uint8_t lea[] = {0x48, 0x8d, 0x64, 0x24, 0x08}; /* lea 8(%rsp), %rsp */
	static const uint8_t add[] = {0x48, 0x83, 0xc4, 0x08};	     /* add $8, %rsp */

	if (size >= sizeof(lea) && !memcmp(code, lea, sizeof(lea)))
		return sizeof(lea);
	return size >= sizeof(add) && !memcmp(code, add, sizeof(add)) ? sizeof(add) : 0;
}
