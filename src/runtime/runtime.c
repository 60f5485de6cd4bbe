// SPDX-License-Identifier: Apache-2.0
#include "runtime/runtime.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

const struct runtime_type *const runtime_types[] = {
	&runtime_python, &runtime_hotspot, &runtime_go,	  &runtime_lua,
	&runtime_luajit, &runtime_v8,	   &runtime_otel, NULL};

/*
 * Bytes; steps: instructions, or comparing a symbol with what is looked for. What is known takes
 * less than an eighth of that: the interpreters of Lua 5.1 to 5.4, of LuaJIT, and of programs that
 * have one in them; V8's 80 symbols among all of node.
 */
#define CODE_BYTES  (16 * BUDGET_MIB)
#define CODE_STEPS  (2u << 20)
#define CODE_MEMORY (16 * BUDGET_MIB)
#define CODE_CPU_NS 1000000000ull

void runtime_budget(struct budget *budget)
{
	budget_begin(budget, CODE_MEMORY, CODE_BYTES, CODE_STEPS, CODE_CPU_NS);
}

int runtime_read(const struct runtime_at *at, void *to, size_t size, uint64_t address)
{
	return at->memory.read(at->memory.context, to, size, address);
}

int runtime_read_u64(const struct runtime_at *at, uint64_t *to, uint64_t address)
{
	return runtime_read(at, to, sizeof(*to), address);
}

int runtime_read_u32(const struct runtime_at *at, uint32_t *to, uint64_t address)
{
	return runtime_read(at, to, sizeof(*to), address);
}

int runtime_read_string(const struct runtime_at *at, char *to, size_t size, uint64_t address)
{
	size_t held = 0;

	/* page by page: the string may end right before one that is not there */
	while (held < size - 1) {
		size_t piece = 4096 - ((address + held) & 4095);
		int err;

		if (piece > size - 1 - held)
			piece = size - 1 - held;
		err = runtime_read(at, to + held, piece, address + held);
		if (err)
			return err;
		if (memchr(to + held, 0, piece))
			return 0;
		held += piece;
	}
	to[held] = 0;
	return 0;
}

uint64_t runtime_address(const struct runtime_at *at, uint64_t image_address)
{
	return at->mapping->bias + image_address;
}

void runtime_code_of_image(const struct runtime_at *at, uint64_t *start, uint64_t *size)
{
	const struct process *process = at->process;
	uint64_t end = at->mapping->end;
	size_t i;

	for (i = 0; process && i < process->mapping_count; i++)
		if (process->mappings[i].image == at->mapping->image &&
		    process->mappings[i].end > end)
			end = process->mappings[i].end;
	*start = at->mapping->start;
	*size = end - *start;
}

int32_t runtime_find_key(const struct runtime_at *at, uint64_t thread, uint64_t value)
{
	uint64_t values[2 * RUNTIME_GLIBC_KEYS - 1];
	int32_t i;

	if (runtime_read(at, values, sizeof(values), thread + RUNTIME_GLIBC_VALUE(0)))
		return 0;
	for (i = 0; i < RUNTIME_GLIBC_KEYS; i++)
		if (values[2 * i] == value)
			return RUNTIME_GLIBC_VALUE(i);
	return 0;
}

static const char *keep(struct runtime_names *names, const char *s)
{
	size_t length = strnlen(s, RUNTIME_TEXT_MAX - 1);
	char *to = names->text + names->used;

	if (length + 1 > sizeof(names->text) - names->used)
		return NULL;
	memcpy(to, s, length);
	to[length] = 0;
	names->used += length + 1;
	return to;
}

void runtime_names_add(struct runtime_names *names, const char *function, const char *file,
		       uint32_t line)
{
	const char *kept;

	if (names->count >= RUNTIME_NAMES_MAX)
		return;
	kept = keep(names, function);
	if (!kept)
		return;
	names->at[names->count].function = kept;
	names->at[names->count].file = file ? keep(names, file) : NULL;
	names->at[names->count].line = line;
	names->count++;
}

void runtime_names_image(struct runtime_names *names, const char *image)
{
	names->image = keep(names, image);
}

int runtime_read_process(void *pid, void *to, size_t size, uint64_t address)
{
	struct iovec here = {to, size}, there = {(void *)(uintptr_t)address, size};
	ssize_t got = process_vm_readv((pid_t)(intptr_t)pid, &here, 1, &there, 1, 0);

	if (got < 0)
		return errno == ESRCH ? -ESRCH : -EFAULT;
	return (size_t)got == size ? 0 : -EFAULT;
}
