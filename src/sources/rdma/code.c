// SPDX-License-Identifier: Apache-2.0
#include "sources/rdma/code.h"

#include <errno.h>
#include <string.h>

#include "arch/insn.h"
#include "elf/image.h"
#include "unwind/cfi.h"

/* -- functions --------------------------------------------------------------------------------- */

/* The virtual address of an offset in the file. False: no code is there. */
static bool find_address(const struct elf_image *elf, uint64_t offset, uint64_t *address)
{
	for (unsigned int i = 0; i < elf->codes; i++) {
		const struct elf_range *code = &elf->code[i];

		if (offset >= code->offset && offset - code->offset < code->in_file) {
			*address = code->start + (offset - code->offset);
			return true;
		}
	}
	return false;
}

static bool find_function(const struct elf_image *elf, uint64_t address, uint64_t *size)
{
	const struct cfi_section section = {
		.at = elf->eh_frame.at,
		.size = elf->eh_frame.size,
		.address = elf->eh_frame.address,
		.to_the_end = elf->eh_frame.to_the_end,
	};
	struct cfi_cies cies = {0};
	uint64_t offset = 0, at;
	struct cfi_fde fde;

	while (section.at && cfi_next(&section, &offset, &at) > 0)
		if (!cfi_read_fde(&section, &cies, at, &fde) && fde.start == address) {
			*size = fde.size;
			return true;
		}
	return false;
}

int rdma_function_at(const struct image *image, uint64_t offset, uint64_t *size, struct fail *why)
{
	struct elf_image elf;
	uint64_t address;
	int err = elf_image_open_file(&elf, image->fd, why);

	if (!err && (!find_address(&elf, offset, &address) || !find_function(&elf, address, size)))
		err = fail(why, -ENOENT, NULL, "%s: no function begins at offset 0x%llx",
			   image->path, (unsigned long long)offset);
	elf_image_close(&elf);
	return err;
}

/* -- instructions ------------------------------------------------------------------------------ */

struct reading {
	struct rdma_code *code;
	const uint8_t *bytes;
	uint16_t left[RDMA_CODE_MAX]; /* where to read on */
	size_t count;
	uint8_t is_known[RDMA_CODE_MAX];
};

static void read_on(struct reading *reading, uint64_t at)
{
	if (at >= reading->code->size || reading->is_known[at])
		return;
	reading->is_known[at] = 1;
	reading->left[reading->count++] = (uint16_t)at;
}

static bool read_one(struct reading *reading, uint16_t at)
{
	struct rdma_code *code = reading->code;
	struct rdma_insn *to = &code->insns[at];
	struct insn insn;

	if (!insn_read(&insn, reading->bytes + at, code->size - at, at) || !insn.size)
		return false;
	*to = (struct rdma_insn){
		.size = insn.size,
		.falls = !insn_ends(&insn),
		.has_target = insn.has_target && insn.target < code->size &&
			      (insn.kind == INSN_BRANCH || insn.kind == INSN_JUMP),
		.writes = insn.writes,
	};
	if (to->has_target) {
		to->target = (uint16_t)insn.target;
		read_on(reading, to->target);
	}
	if (to->falls)
		read_on(reading, (uint64_t)at + insn.size);
	return true;
}

/* Whether one begins within another one: then it is not known which of them are executed. */
static bool overlap(const struct rdma_code *code)
{
	uint32_t end = 0;

	for (uint32_t at = 0; at < code->size; at++) {
		if (!code->insns[at].size)
			continue;
		if (at < end)
			return true;
		end = at + code->insns[at].size;
	}
	return false;
}

bool rdma_code_read(struct rdma_code *code, const uint8_t *bytes, size_t size)
{
	struct reading reading = {.code = code, .bytes = bytes};

	memset(code, 0, sizeof(*code));
	if (size > RDMA_CODE_MAX)
		return false;
	code->size = (uint32_t)size;
	read_on(&reading, 0);
	while (reading.count)
		if (!read_one(&reading, reading.left[--reading.count]))
			return false;
	/* a breakpoint within an instruction would change what the program does */
	if (overlap(code))
		return false;
	for (uint32_t at = 0; at < code->size && code->site_count < RDMA_SITES; at++)
		if (code->insns[at].has_target)
			code->sites[code->site_count++] = (uint16_t)at;
	return code->site_count != 0;
}

/* -- loops ------------------------------------------------------------------------------------- */

/* What may follow an instruction: how many, of at most two. */
static unsigned int next_of(const struct rdma_code *code, uint32_t at, uint32_t next[2])
{
	const struct rdma_insn *insn = &code->insns[at];
	unsigned int count = 0;

	if (insn->falls && at + insn->size < code->size)
		next[count++] = at + insn->size;
	if (insn->has_target)
		next[count++] = insn->target;
	return count;
}

/* Marks in leads what leads to a site, by any way. */
static void mark_leads(const struct rdma_code *code, uint32_t site, uint8_t leads[RDMA_CODE_MAX])
{
	bool changed = true;
	uint32_t next[2];

	memset(leads, 0, RDMA_CODE_MAX);
	while (changed) {
		changed = false;
		for (uint32_t at = code->size; at--;) {
			if (leads[at])
				continue;
			for (unsigned int i = next_of(code, at, next); i--;)
				leads[at] |= next[i] == site || leads[next[i]];
			changed |= leads[at] != 0;
		}
	}
}

/*
 * The registers that are written in the loop around a site: by what leads to it, and is reached
 * from it. 0: it is in none.
 */
static uint16_t written_in_loop(const struct rdma_code *code, uint32_t site)
{
	uint8_t leads[RDMA_CODE_MAX], is_reached[RDMA_CODE_MAX] = {0};
	uint16_t writes = 0;
	bool changed = true;
	uint32_t next[2];

	mark_leads(code, site, leads);
	if (!leads[site])
		return 0;
	is_reached[site] = 1;
	while (changed) {
		changed = false;
		for (uint32_t at = 0; at < code->size; at++) {
			if (!is_reached[at])
				continue;
			for (unsigned int i = next_of(code, at, next); i--;) {
				changed |= leads[next[i]] && !is_reached[next[i]];
				is_reached[next[i]] |= leads[next[i]];
			}
		}
	}
	for (uint32_t at = 0; at < code->size; at++)
		if (is_reached[at])
			writes |= code->insns[at].writes;
	return writes;
}

/* -- the choice -------------------------------------------------------------------------------- */

static bool is_of_completions(const struct rdma_learning *learning, const struct rdma_poll *polls,
			      uint32_t number)
{
	if (learning->in_empty[number])
		return false;
	for (uint32_t i = 0; i < learning->kept; i++) {
		const struct rdma_site *site = &polls[i].sites[number];

		if (site->call != polls[i].call || site->hits != polls[i].found ||
		    memcmp(site->completion, polls[i].after, sizeof(polls[i].after)) != 0)
			return false;
	}
	return true;
}

/* A register that was as far from the completion in all calls. -1: there is none. */
static int find_register(const struct rdma_learning *learning, const struct rdma_poll *polls,
			 uint32_t number, uint16_t written)
{
	for (int reg = 0; reg < ARCH_REGISTERS; reg++) {
		const int16_t distance = polls[0].sites[number].distance[reg];
		bool is_same = distance != RDMA_FAR && written >> reg & 1;

		for (uint32_t i = 1; i < learning->kept && is_same; i++)
			is_same = polls[i].sites[number].distance[reg] == distance;
		if (is_same)
			return reg;
	}
	return -1;
}

bool rdma_code_choose(const struct rdma_code *code, const struct rdma_learning *learning,
		      const struct rdma_poll *polls, struct rdma_spot *spot)
{
	uint32_t order = 0;

	if (!learning->kept || learning->kept > RDMA_KEPT)
		return false;
	for (uint32_t i = 0; i < code->site_count; i++) {
		const struct rdma_site *site = &polls[0].sites[i];
		int reg;

		if (site->order <= order || !is_of_completions(learning, polls, i))
			continue;
		reg = find_register(learning, polls, i, written_in_loop(code, code->sites[i]));
		if (reg < 0)
			continue;
		order = site->order;
		spot->offset = code->sites[i];
		spot->reg = (uint8_t)reg;
		spot->distance = site->distance[reg];
	}
	return order != 0;
}
