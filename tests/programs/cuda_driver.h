/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CUDA_DRIVER_H
#define CUDA_DRIVER_H

/*
 * The interface of the library that stands for a driver's (cuda_driver.c): functions of the driver,
 * and what it knows.
 */

#include <stddef.h>
#include <stdint.h>

#define DRIVER_TAGS    4
#define DRIVER_LARGEST (1ull << 36) /* bytes: there is no more */

/* Bytes, by the tag that their caller had set. */
struct driver_truth {
	uint64_t allocated[DRIVER_TAGS], in_use[DRIVER_TAGS];
	uint64_t kernels_ns[DRIVER_TAGS];  /* and copies */
	uint64_t captured_ns[DRIVER_TAGS]; /* of graphs, by the tag at their capture */
	uint64_t copied[DRIVER_TAGS];
	uint64_t waited_ns[DRIVER_TAGS]; /* in synchronisations */
	/*
	 * of instructions, that the library which stands for the profiling one has made: of axpy,
	 * and others
	 */
	uint64_t samples[2];
	uint64_t handed_over; /* buffers of records */
	uint64_t recorded_ns; /* of kernels and copies, in all records that it has made */
};

/* From that stream on, they are of the second device. */
#define DRIVER_SECOND_DEVICE 12

/* Kernels and copies of a stream "run" one after the other, each for a time of its own. */
struct driver_kernel {
	const char *name;
	uint64_t ns;
};

/* Ten bytes are copied in a nanosecond. */
#define DRIVER_COPY_NS(bytes) ((bytes) / 10)

/* What has run, or will have. */
struct driver_ran {
	const char *name; /* of a kernel; null: a copy */
	uint8_t direction,
		from; /* of a copy: CUpti_ActivityMemcpyKind and …MemoryKind; 15: memset */
	uint32_t number, graph, stream, device;
	uint64_t node, bytes, begin, end;
};

/* A thread has waited; type: CUpti_ActivitySynchronizationType. */
struct driver_waited {
	uint32_t type, number, stream, event;
	uint64_t begin, end;
};

/* An event was put into a stream. */
struct driver_event {
	uint32_t number, stream, event;
};

/* One that is captured, or one that can be launched: its nodes are copies then. */
#define DRIVER_NODES 64
struct driver_graph {
	int count;
	const struct driver_kernel *kernels[DRIVER_NODES];
	uint64_t nodes[DRIVER_NODES]; /* their handles; 0: made before anybody looked */
	int tags[DRIVER_NODES];
};

/* What the library that stands for the profiling one (cuda_profiler.c) hears of. */
struct driver_hooks {
	void (*launch)(uint32_t callback,
		       uint32_t number); /* before it; callback: of cupti_driver_cbid.h */
	/* of a call that copies and waits, or that makes a graph */
	void (*end)(uint32_t callback, uint32_t number);
	void (*ran)(const struct driver_ran *ran);
	void (*waited)(const struct driver_waited *waited);
	void (*event)(const struct driver_event *event);
	/* of a graph; callback: CUpti_CallbackIdResource */
	void (*node)(uint32_t callback, uint64_t node, uint64_t original);
	uint64_t (*now)(void); /* its clock; null: any */
	void (*context)(void *context, int begins);
	void (*module)(void *context, const void *code, size_t size);
	void (*truth)(struct driver_truth *truth); /* fills in what it knows */
};
int driver_hook(const struct driver_hooks *hooks);

struct driver_array {
	size_t width, height;
	unsigned int format, channels;
};

#define DRIVER_FLOAT 0x20

/* Of the calling thread. */
void driver_tag(int tag);
void driver_truth_of(struct driver_truth *truth);

int cuInit(unsigned int flags);
int cuCtxCreate_v2(void **context, unsigned int flags, int device);
int cuModuleLoad(void **module, const char *path);
int cuLaunchKernel(const struct driver_kernel *kernel, unsigned int grid_x, unsigned int grid_y,
		   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
		   unsigned int block_z, unsigned int shared, void *stream, void **parameters,
		   void **extra);
int cuStreamBeginCapture_v2(void *stream, int mode);
int cuStreamEndCapture(void *stream, struct driver_graph **graph);
int cuGraphInstantiateWithFlags(struct driver_graph **to, const struct driver_graph *graph,
				unsigned long long flags);
int cuGraphExecDestroy(struct driver_graph *graph);
int cuGraphLaunch(const struct driver_graph *graph, void *stream);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes);
int cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context,
		      size_t bytes, void *stream);
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream);
int cuCtxSynchronize(void);
int cuEventRecord(void *event, void *stream);
int cuEventSynchronize(void *event);
int cuStreamSynchronize(void *stream);
int cuMemAlloc_v2(uint64_t *to, size_t bytes);
int cuMemAllocManaged(uint64_t *to, size_t bytes, unsigned int flags);
int cuMemAllocPitch_v2(uint64_t *to, size_t *pitch, size_t width, size_t height,
		       unsigned int element);
int cuMemAllocAsync(uint64_t *to, size_t bytes, void *stream);
int cuMemAllocFromPoolAsync(uint64_t *to, size_t bytes, void *pool, void *stream);
int cuMemFree_v2(uint64_t address);
int cuMemFreeAsync(uint64_t address, void *stream);
int cuArrayCreate_v2(uint64_t *to, const struct driver_array *array);
int cuArrayDestroy(uint64_t array);
int cuMemCreate(uint64_t *to, size_t bytes, const void *properties, uint64_t flags);
int cuMemRelease(uint64_t handle);
int cuMemMap(uint64_t address, size_t bytes, size_t offset, uint64_t handle, uint64_t flags);
int cuMemUnmap(uint64_t address, size_t bytes);

#endif
