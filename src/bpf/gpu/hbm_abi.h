/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_GPU_HBM_ABI_H
#define BPF_GPU_HBM_ABI_H

/* What hbm.bpf.c tells of the memory of devices, as their driver library is asked for it. */

#include "bpf/capture/abi.h"

enum {
	/*
	 * An allocation begins: a capture_record. Its key is a number of the call, which its
	 * hbm_end has, too. Without a user stack where more than a number of them were taken in
	 * that second.
	 */
	HBM_BEGIN = CAPTURE_KIND(CAPTURE_SOURCE_HBM, 0),
	HBM_END = CAPTURE_KIND(CAPTURE_SOURCE_HBM, 1),	  /* a struct hbm_end */
	HBM_CHANGE = CAPTURE_KIND(CAPTURE_SOURCE_HBM, 2), /* a struct hbm_change */
};

/* What is called where a probe stands: its cookie, with the bit below at its return. */
enum hbm_call {
	/* (where its address is put, bytes, …) */
	HBM_CALL_ALLOCATE = 1,
	/* (where its address is put, where the bytes of a row are put, bytes asked for of a row,
	 * rows, …) */
	HBM_CALL_ALLOCATE_ROWS,
	/* (where its handle is put, bytes, …): memory without an address */
	HBM_CALL_CREATE,
	/* (where its handle is put, a description), of up to two dimensions, of up to three, */
	HBM_CALL_ARRAY,
	HBM_CALL_ARRAY_3D,
	/* and (where its handle is put, a description, levels) */
	HBM_CALL_MIPMAPS,
	HBM_CALL_FREE,	  /* (address or handle) */
	HBM_CALL_RELEASE, /* (handle) */
	HBM_CALL_RETAIN,  /* (where the handle is put, address) */
	HBM_CALL_MAP,	  /* (address, bytes, offset, handle, …) */
	HBM_CALL_UNMAP,	  /* (address, bytes) */
	HBM_CALL_LEAVE,	  /* a context of the device is destroyed */
};
#define HBM_CALL_MASK  0xff
#define HBM_CALL_ENDED 0x100

/* The most stacks of a second, of all CPUs. */
#define HBM_STACKS 1000

/* What an array was asked to be: all 0 is none. (CUDA_ARRAY3D_DESCRIPTOR of cuda.h) */
struct hbm_array {
	__u64 width, height, depth; /* of a dimension that is not there: 0 */
	__u32 format;		    /* CUarray_format */
	__u32 channels;
	__u32 levels; /* of a mipmap; of others 0 */
	__u32 unused;
};

/* An allocation has ended. */
struct hbm_end {
	struct capture_head head;
	__u64 key;     /* of the record with which it began */
	__u64 address; /* or handle; 0: it could not be read */
	__u64 bytes;   /* of an array: 0 */
	struct hbm_array array;
	__u32 pid;
	__u32 call;	 /* enum hbm_call */
	__u32 result;	 /* of the driver; 0: done */
	__u32 undecided; /* as in a record's identity */
};

/* Memory changes in another way: HBM_CALL_FREE and what stands behind it. */
struct hbm_change {
	struct capture_head head;
	__u64 address, bytes, handle; /* as far as the call has them */
	__u32 pid;
	__u32 call;	 /* enum hbm_call */
	__u32 undecided; /* as in a record's identity */
	__u32 unused;
	char comm[16];
};

#endif
