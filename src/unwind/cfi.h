/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "bpf/unwind/abi.h"

/*
 * Call frame information (DWARF 5, section 6.4; for .eh_frame the Linux Standard Base, section
 * 10.6): finds the entries of a section and runs their instructions. Everything is bounds checked;
 * the section is hostile.
 */

struct cfi_section {
	const uint8_t *at;
	size_t size;
	uint64_t address; /* where at is loaded, for pointers relative to themselves */
	bool debug_frame; /* the layout of .debug_frame, not of .eh_frame */
	bool to_the_end;  /* the size is only a bound, a length of 0 ends the section */
};

/*
 * What DWARF says at one place of a function, as far as it matters here. An expression for the CFA
 * leaves the register and offset as they were: some assembler code names only one of them later
 * and counts on the other, and the unwinder of libgcc takes it so.
 */
struct cfi_state {
	uint8_t cfa; /* enum unwind_cfa; SP stands for any register + offset */
	uint8_t fp;  /* enum unwind_fp */
	uint8_t ra;  /* enum cfi_ra */
	bool sp_is_cfa;
	uint64_t ra_register;
	uint64_t cfa_register; /* DWARF number; not to be trusted to be one */
	int64_t cfa_offset;
	uint64_t expression_register;
	uint64_t index_register; /* of INDEXED */
	int64_t expression_offset, deref_offset;
	int64_t fp_offset;
	bool saved_lost;
	int64_t saved_offset; /* saved at CFA + saved_offset; 0: not touched */
};

enum cfi_ra {
	CFI_RA_UNSET,	  /* no rule at all: as undefined */
	CFI_RA_UNDEFINED, /* there is no caller */
	CFI_RA_BELOW_CFA, /* saved at CFA - 8 */
	CFI_RA_REGISTER,  /* in ra_register */
	CFI_RA_ELSEWHERE,
};

struct cfi_cie {
	uint64_t offset; /* in the section */
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding; /* of the addresses in its FDEs, DW_EH_PE_* */
	bool augmented;	  /* its FDEs have augmentation data with a length */
	bool signal;	  /* its FDEs describe signal frames */
	struct cfi_state start;
};

struct cfi_fde {
	uint64_t start, size;
	const struct cfi_cie *cie;
	struct bytes instructions;
	uint64_t instructions_address; /* where they are loaded */
};

/* CIEs that were read before: many thousand FDEs share a few. All zero is empty. */
#define CFI_CIES 64
struct cfi_cies {
	struct cfi_cie cie[CFI_CIES];
	uint8_t state[CFI_CIES]; /* 0 free, 1 good, 2 damaged */
};

/*
 * Finds the FDE at or behind *offset and moves *offset behind it. Returns 1 and where the FDE lies
 * in *fde_offset, 0 at the end, -EINVAL if the section is damaged so that nothing behind can be
 * found.
 */
int cfi_next(const struct cfi_section *section, uint64_t *offset, uint64_t *fde_offset);

/* Reads the FDE at offset. fde->cie lives until the next call. 0 or -EINVAL: it is damaged. */
int cfi_read_fde(const struct cfi_section *section, struct cfi_cies *cies, uint64_t offset,
		 struct cfi_fde *fde);

/* From offset (bytes from the function's start) on, this rule holds; its until is 0. */
struct cfi_row {
	uint32_t offset;
	struct unwind_rule rule;
};

/* The most that a function has: those of large interpreters have some thousand. */
#define CFI_ROWS_MAX (1u << 18)

struct cfi_rows {
	struct cfi_row *at;
	size_t count, room;
};

/*
 * Runs an FDE of 1 byte to 4 GiB of code: sets rows to its rules, sorted, the first one at offset
 * 0, neighbours different. 0, -ENOMEM, or -EINVAL: it is damaged; from there on the rows say
 * unsupported.
 */
int cfi_run(const struct cfi_fde *fde, struct cfi_rows *rows);

static inline uint64_t cfi_uleb(struct bytes *in)
{
	if (in->at < in->end && *in->at < 0x80)
		return *in->at++;
	return bytes_varint(in);
}

static inline int64_t cfi_sleb(struct bytes *in)
{
	if (in->at < in->end && *in->at < 0x80)
		return (int64_t)((uint64_t)*in->at++ << 57) >> 57;
	return bytes_svarint(in);
}

#endif
