/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_HOTSPOT_HOTSPOT_H
#define RUNTIME_HOTSPOT_HOTSPOT_H

#include "base/vec.h"
#include "bpf/runtime/hotspot/abi.h"
#include "runtime/runtime.h"

/*
 * What the files of HotSpot share. Where its structures have their fields is not known here: each
 * JVM carries tables that tell it (share/runtime/vmStructs.cpp; gHotSpotVMStructs, gHotSpotVMTypes
 * and gHotSpotVMIntConstants are exported for the serviceability agent). They are read from the
 * living process, since they are filled at its start.
 */

/*
 * The fields that are used: offset in the type, or the address of a static one. A field that has
 * moved to another type or changed its name has several lines.
 */
#define HOTSPOT_FACTS(X)                                                  \
	X(MAJOR_VERSION, "Abstract_VM_Version", "_vm_major_version")      \
	X(HEAP, "CodeCache", "_heap")                                     \
	X(HEAPS, "CodeCache", "_heaps")                                   \
	X(ARRAY_LENGTH, "GrowableArrayBase", "_len")                      \
	X(ARRAY_LENGTH, "GenericGrowableArray", "_len")                   \
	X(ARRAY_DATA, "GrowableArray<int>", "_data")                      \
	X(HEAP_MEMORY, "CodeHeap", "_memory")                             \
	X(HEAP_SEGMAP, "CodeHeap", "_segmap")                             \
	X(HEAP_SHIFT, "CodeHeap", "_log2_segment_size")                   \
	X(BLOCK_LENGTH, "HeapBlock::Header", "_length")                   \
	X(BLOCK_USED, "HeapBlock::Header", "_used")                       \
	X(SPACE_LOW, "VirtualSpace", "_low_boundary")                     \
	X(SPACE_HIGH, "VirtualSpace", "_high_boundary")                   \
	X(BLOB_NAME, "CodeBlob", "_name")                                 \
	X(BLOB_KIND, "CodeBlob", "_kind")                                 \
	X(BLOB_CODE, "CodeBlob", "_code_begin")                           \
	X(BLOB_CODE_OFFSET, "CodeBlob", "_code_offset")                   \
	X(BLOB_FRAME_SIZE, "CodeBlob", "_frame_size")                     \
	X(BLOB_FRAME_COMPLETE, "CodeBlob", "_frame_complete_offset")      \
	X(BLOB_RELOCATION_SIZE, "CodeBlob", "_relocation_size")           \
	X(BLOB_MUTABLE_DATA, "CodeBlob", "_mutable_data")                 \
	X(NMETHOD_METHOD, "nmethod", "_method")                           \
	X(NMETHOD_METHOD, "CompiledMethod", "_method")                    \
	X(NMETHOD_COMPILE_ID, "nmethod", "_compile_id")                   \
	X(NMETHOD_LEVEL, "nmethod", "_comp_level")                        \
	X(NMETHOD_ORIGINAL_PC, "nmethod", "_orig_pc_offset")              \
	X(NMETHOD_DEOPT, "CompiledMethod", "_deopt_handler_begin")        \
	X(NMETHOD_DEOPT, "nmethod", "_deopt_handler_begin")               \
	X(NMETHOD_DEOPT_OFFSET, "nmethod", "_deoptimize_offset")          \
	X(NMETHOD_DEOPT_OFFSET, "nmethod", "_deopt_handler_offset")       \
	X(NMETHOD_DEOPT_OFFSET, "nmethod", "_deopt_handler_entry_offset") \
	X(NMETHOD_DEOPT_MH, "CompiledMethod", "_deopt_mh_handler_begin")  \
	X(NMETHOD_DEOPT_MH, "nmethod", "_deopt_mh_handler_begin")         \
	X(NMETHOD_DEOPT_MH_OFFSET, "nmethod", "_deoptimize_mh_offset")    \
	X(NMETHOD_DEOPT_MH_OFFSET, "nmethod", "_deopt_mh_handler_offset") \
	X(NMETHOD_METADATA, "nmethod", "_metadata_offset")                \
	X(NMETHOD_SCOPES, "nmethod", "_scopes_data_offset")               \
	X(NMETHOD_SCOPES_BEGIN, "CompiledMethod", "_scopes_data_begin")   \
	X(NMETHOD_SCOPES_BEGIN, "nmethod", "_scopes_data_begin")          \
	X(NMETHOD_PCS, "nmethod", "_scopes_pcs_offset")                   \
	X(NMETHOD_PCS_END, "nmethod", "_dependencies_offset")             \
	X(NMETHOD_IMMUTABLE, "nmethod", "_immutable_data")                \
	X(NMETHOD_IMMUTABLE_SIZE, "nmethod", "_immutable_data_size")      \
	X(PC_OFFSET, "PcDesc", "_pc_offset")                              \
	X(PC_SCOPE, "PcDesc", "_scope_decode_offset")                     \
	X(METHOD_CONST, "Method", "_constMethod")                         \
	X(CONST_CONSTANTS, "ConstMethod", "_constants")                   \
	X(CONST_CODE_SIZE, "ConstMethod", "_code_size")                   \
	X(CONST_NAME, "ConstMethod", "_name_index")                       \
	X(CONST_FLAGS, "ConstMethod", "_flags")                           \
	X(CONST_FLAGS, "ConstMethod", "_flags._flags")                    \
	X(POOL_HOLDER, "ConstantPool", "_pool_holder")                    \
	X(POOL_LENGTH, "ConstantPool", "_length")                         \
	X(POOL_FILE, "ConstantPool", "_source_file_name_index")           \
	X(CLASS_FILE, "InstanceKlass", "_source_file_name_index")         \
	X(CLASS_NAME, "Klass", "_name")                                   \
	X(SYMBOL_LENGTH, "Symbol", "_length")                             \
	X(SYMBOL_BODY, "Symbol", "_body")                                 \
	X(SYMBOL_BODY, "Symbol", "_body[0]")                              \
	X(INTERPRETER, "AbstractInterpreter", "_code")                    \
	X(QUEUE_BUFFER, "StubQueue", "_stub_buffer")                      \
	X(QUEUE_LIMIT, "StubQueue", "_buffer_limit")                      \
	X(QUEUE_END, "StubQueue", "_queue_end")                           \
	X(CODELET_SIZE, "InterpreterCodelet", "_size")                    \
	X(CODELET_WORDS, "InterpreterCodelet", "_description")            \
	X(CALL_STUB, "StubRoutines", "_call_stub_return_address")         \
	X(ENTRY_RETURN, "ContinuationEntry", "_return_pc")                \
	X(THREADS, "ThreadsSMRSupport", "_java_thread_list")              \
	X(THREADS_LENGTH, "ThreadsList", "_length")                       \
	X(THREADS_ARRAY, "ThreadsList", "_threads")                       \
	X(THREADS_FIRST, "Threads", "_thread_list")                       \
	X(THREAD_NEXT, "JavaThread", "_next")                             \
	X(THREAD_OS, "Thread", "_osthread")                               \
	X(THREAD_OS, "JavaThread", "_osthread")                           \
	X(THREAD_ANCHOR, "JavaThread", "_anchor")                         \
	X(OS_NUMBER, "OSThread", "_thread_id")                            \
	X(THREAD_PENDING, "JavaThread", "_current_pending_monitor")       \
	X(THREAD_STACK, "JavaThread", "_stack_base")                      \
	X(THREAD_STACK_SIZE, "JavaThread", "_stack_size")                 \
	X(THREAD_OWNER_ID, "JavaThread", "_monitor_owner_id")             \
	X(MONITOR_OWNER, "ObjectMonitor", "_owner")                       \
	X(THREAD_OBJECT, "JavaThread", "_threadObj")                      \
	X(OOP_BASE, "CompressedOops", "_narrow_oop._base")                \
	X(OOP_BASE, "CompressedOops", "_base")                            \
	X(OOP_SHIFT, "CompressedOops", "_narrow_oop._shift")              \
	X(OOP_SHIFT, "CompressedOops", "_shift")                          \
	X(KLASS_BASE, "CompressedKlassPointers", "_narrow_klass._base")   \
	X(KLASS_BASE, "CompressedKlassPointers", "_base")                 \
	X(KLASS_SHIFT, "CompressedKlassPointers", "_narrow_klass._shift") \
	X(KLASS_SHIFT, "CompressedKlassPointers", "_shift")               \
	X(OBJECT_KLASS, "oopDesc", "_metadata._klass")                    \
	X(JAVA_LANG_OBJECT, "vmClasses",                                  \
	  "_klasses[static_cast<int>(vmClassID::Object_klass_knum)]")     \
	X(JAVA_LANG_THREAD, "vmClasses",                                  \
	  "_klasses[static_cast<int>(vmClassID::Thread_klass_knum)]")     \
	X(CLASS_SUPER, "Klass", "_super")                                 \
	X(CLASS_SUBCLASS, "Klass", "_subklass")                           \
	X(CLASS_SIBLING, "Klass", "_next_sibling")                        \
	X(CLASS_CONSTANTS, "InstanceKlass", "_constants")                 \
	X(CLASS_FIELDS, "InstanceKlass", "_fields")                       \
	X(CLASS_FIELD_COUNT, "InstanceKlass", "_java_fields_count")       \
	X(CLASS_FIELD_STREAM, "InstanceKlass", "_fieldinfo_stream")       \
	X(HEAP_OBJECTS, "Universe", "_collectedHeap")                     \
	X(COLLECTION_RUNS, "CollectedHeap", "_is_gc_active")              \
	X(COLLECTION_RUNS, "CollectedHeap", "_is_stw_gc_active")          \
	X(COLLECTIONS, "CollectedHeap", "_total_collections")             \
	X(FLAGS, "JVMFlag", "flags")                                      \
	X(FLAG_COUNT, "JVMFlag", "numFlags")                              \
	X(FLAG_NAME, "JVMFlag", "_name")                                  \
	X(FLAG_ADDRESS, "JVMFlag", "_addr")                               \
	X(OS_ID, "OSThread", "_pthread_id")                               \
	X(WRAPPER_ANCHOR, "JavaCallWrapper", "_anchor")                   \
	X(ANCHOR_SP, "JavaFrameAnchor", "_last_Java_sp")                  \
	X(ANCHOR_PC, "JavaFrameAnchor", "_last_Java_pc")                  \
	X(ANCHOR_FP, "JavaFrameAnchor", "_last_Java_fp")                  \
	X(GC_RESERVED, "CollectedHeap", "_reserved")                      \
	X(GC_REGION_START, "MemRegion", "_start")                         \
	X(GC_REGION_WORDS, "MemRegion", "_word_size")                     \
	X(G1_GRAIN, "HeapRegion", "GrainBytes")                           \
	X(G1_GRAIN, "G1HeapRegion", "GrainBytes")                         \
	X(G1_MANAGER, "G1CollectedHeap", "_hrm")                          \
	X(G1_REGIONS, "HeapRegionManager", "_regions")                    \
	X(G1_REGIONS, "G1HeapRegionManager", "_regions")                  \
	X(G1_TABLE, "G1HeapRegionTable", "_base")                         \
	X(G1_LENGTH, "G1HeapRegionTable", "_length")                      \
	X(G1_BOTTOM, "HeapRegion", "_bottom")                             \
	X(G1_BOTTOM, "G1HeapRegion", "_bottom")                           \
	X(G1_TOP, "HeapRegion", "_top")                                   \
	X(G1_TOP, "G1HeapRegion", "_top")                                 \
	X(G1_END, "HeapRegion", "_end")                                   \
	X(G1_END, "G1HeapRegion", "_end")                                 \
	X(PARALLEL_YOUNG, "ParallelScavengeHeap", "_young_gen")           \
	X(PARALLEL_OLD, "ParallelScavengeHeap", "_old_gen")               \
	X(PARALLEL_EDEN, "PSYoungGen", "_eden_space")                     \
	X(PARALLEL_FROM, "PSYoungGen", "_from_space")                     \
	X(PARALLEL_TO, "PSYoungGen", "_to_space")                         \
	X(PARALLEL_OBJECTS, "PSOldGen", "_object_space")                  \
	X(MUTABLE_BOTTOM, "MutableSpace", "_bottom")                      \
	X(MUTABLE_TOP, "MutableSpace", "_top")                            \
	X(MUTABLE_END, "MutableSpace", "_end")                            \
	X(SERIAL_YOUNG, "GenCollectedHeap", "_young_gen")                 \
	X(SERIAL_YOUNG, "SerialHeap", "_young_gen")                       \
	X(SERIAL_OLD, "GenCollectedHeap", "_old_gen")                     \
	X(SERIAL_OLD, "SerialHeap", "_old_gen")                           \
	X(SERIAL_EDEN, "DefNewGeneration", "_eden_space")                 \
	X(SERIAL_FROM, "DefNewGeneration", "_from_space")                 \
	X(SERIAL_TO, "DefNewGeneration", "_to_space")                     \
	X(SERIAL_OBJECTS, "TenuredGeneration", "_the_space")              \
	X(CONTIGUOUS_BOTTOM, "Space", "_bottom")                          \
	X(CONTIGUOUS_BOTTOM, "ContiguousSpace", "_bottom")                \
	X(CONTIGUOUS_TOP, "ContiguousSpace", "_top")                      \
	X(CONTIGUOUS_END, "Space", "_end")                                \
	X(CONTIGUOUS_END, "ContiguousSpace", "_end")                      \
	X(BARRIERS, "BarrierSet", "_barrier_set")                         \
	X(CARDS, "CardTableBarrierSet", "_card_table")                    \
	X(CARDS_HEAP, "CardTable", "_whole_heap")                         \
	X(CARDS_MAP, "CardTable", "_byte_map")                            \
	X(CARDS_BYTES, "CardTable", "_byte_map_size")                     \
	X(LOADERS, "ClassLoaderDataGraph", "_head")                       \
	X(LOADER_NEXT, "ClassLoaderData", "_next")                        \
	X(LOADER_CLASSES, "ClassLoaderData", "_klasses")                  \
	X(CLASS_NEXT, "Klass", "_next_link")                              \
	X(CLASS_LOADER, "Klass", "_class_loader_data")

/* Sizes of types and constants, in the same table. */
#define HOTSPOT_SIZES(X)                    \
	X(SIZE_HEAP_BLOCK, "HeapBlock")     \
	X(SIZE_CONST_METHOD, "ConstMethod") \
	X(SIZE_POOL, "ConstantPool")        \
	X(SIZE_FLAG, "JVMFlag")             \
	X(SIZE_PC_DESC, "PcDesc")

#define HOTSPOT_CONSTANTS(X)                                         \
	X(HAS_LINES, "ConstMethod::_has_linenumber_table")           \
	X(HAS_LINES, "ConstMethodFlags::_misc_has_linenumber_table") \
	X(KIND_NMETHOD, "CodeBlobKind::Nmethod")                     \
	X(WRAPPER_WORDS, "frame::entry_frame_call_wrapper_offset")

/* A value for each name above: those with the same name share it. */
enum hotspot_fact {
	HOTSPOT_MAJOR_VERSION,
	HOTSPOT_HEAP,
	HOTSPOT_HEAPS,
	HOTSPOT_ARRAY_LENGTH,
	HOTSPOT_ARRAY_DATA,
	HOTSPOT_HEAP_MEMORY,
	HOTSPOT_HEAP_SEGMAP,
	HOTSPOT_HEAP_SHIFT,
	HOTSPOT_BLOCK_LENGTH,
	HOTSPOT_BLOCK_USED,
	HOTSPOT_SPACE_LOW,
	HOTSPOT_SPACE_HIGH,
	HOTSPOT_BLOB_NAME,
	HOTSPOT_BLOB_KIND,
	HOTSPOT_BLOB_CODE,
	HOTSPOT_BLOB_CODE_OFFSET,
	HOTSPOT_BLOB_FRAME_SIZE,
	HOTSPOT_BLOB_FRAME_COMPLETE,
	HOTSPOT_BLOB_RELOCATION_SIZE,
	HOTSPOT_BLOB_MUTABLE_DATA,
	HOTSPOT_NMETHOD_METHOD,
	HOTSPOT_NMETHOD_COMPILE_ID,
	HOTSPOT_NMETHOD_LEVEL,
	HOTSPOT_NMETHOD_ORIGINAL_PC,
	HOTSPOT_NMETHOD_DEOPT,
	HOTSPOT_NMETHOD_DEOPT_OFFSET,
	HOTSPOT_NMETHOD_DEOPT_MH,
	HOTSPOT_NMETHOD_DEOPT_MH_OFFSET,
	HOTSPOT_NMETHOD_METADATA,
	HOTSPOT_NMETHOD_SCOPES,
	HOTSPOT_NMETHOD_SCOPES_BEGIN,
	HOTSPOT_NMETHOD_PCS,
	HOTSPOT_NMETHOD_PCS_END,
	HOTSPOT_NMETHOD_IMMUTABLE,
	HOTSPOT_NMETHOD_IMMUTABLE_SIZE,
	HOTSPOT_PC_OFFSET,
	HOTSPOT_PC_SCOPE,
	HOTSPOT_METHOD_CONST,
	HOTSPOT_CONST_CONSTANTS,
	HOTSPOT_CONST_CODE_SIZE,
	HOTSPOT_CONST_NAME,
	HOTSPOT_CONST_FLAGS,
	HOTSPOT_POOL_HOLDER,
	HOTSPOT_POOL_LENGTH,
	HOTSPOT_POOL_FILE,
	HOTSPOT_CLASS_FILE,
	HOTSPOT_CLASS_NAME,
	HOTSPOT_SYMBOL_LENGTH,
	HOTSPOT_SYMBOL_BODY,
	HOTSPOT_INTERPRETER,
	HOTSPOT_QUEUE_BUFFER,
	HOTSPOT_QUEUE_LIMIT,
	HOTSPOT_QUEUE_END,
	HOTSPOT_CODELET_SIZE,
	HOTSPOT_CODELET_WORDS,
	HOTSPOT_CALL_STUB,
	HOTSPOT_ENTRY_RETURN,
	HOTSPOT_THREADS,
	HOTSPOT_THREADS_LENGTH,
	HOTSPOT_THREADS_ARRAY,
	HOTSPOT_THREADS_FIRST,
	HOTSPOT_THREAD_NEXT,
	HOTSPOT_THREAD_OS,
	HOTSPOT_THREAD_ANCHOR,
	HOTSPOT_OS_NUMBER,
	HOTSPOT_THREAD_PENDING,
	HOTSPOT_THREAD_STACK,
	HOTSPOT_THREAD_STACK_SIZE,
	HOTSPOT_THREAD_OWNER_ID,
	HOTSPOT_MONITOR_OWNER,
	HOTSPOT_THREAD_OBJECT,
	HOTSPOT_OOP_BASE,
	HOTSPOT_OOP_SHIFT,
	HOTSPOT_KLASS_BASE,
	HOTSPOT_KLASS_SHIFT,
	HOTSPOT_OBJECT_KLASS,
	HOTSPOT_JAVA_LANG_OBJECT,
	HOTSPOT_JAVA_LANG_THREAD,
	HOTSPOT_CLASS_SUPER,
	HOTSPOT_CLASS_SUBCLASS,
	HOTSPOT_CLASS_SIBLING,
	HOTSPOT_CLASS_CONSTANTS,
	HOTSPOT_CLASS_FIELDS,
	HOTSPOT_CLASS_FIELD_COUNT,
	HOTSPOT_CLASS_FIELD_STREAM,
	HOTSPOT_HEAP_OBJECTS,
	HOTSPOT_COLLECTION_RUNS,
	HOTSPOT_COLLECTIONS,
	HOTSPOT_FLAGS,
	HOTSPOT_FLAG_COUNT,
	HOTSPOT_FLAG_NAME,
	HOTSPOT_FLAG_ADDRESS,
	HOTSPOT_OS_ID,
	HOTSPOT_WRAPPER_ANCHOR,
	HOTSPOT_ANCHOR_SP,
	HOTSPOT_ANCHOR_PC,
	HOTSPOT_ANCHOR_FP,
	HOTSPOT_GC_RESERVED,
	HOTSPOT_GC_REGION_START,
	HOTSPOT_GC_REGION_WORDS,
	HOTSPOT_G1_GRAIN,
	HOTSPOT_G1_MANAGER,
	HOTSPOT_G1_REGIONS,
	HOTSPOT_G1_TABLE,
	HOTSPOT_G1_LENGTH,
	HOTSPOT_G1_BOTTOM,
	HOTSPOT_G1_TOP,
	HOTSPOT_G1_END,
	HOTSPOT_PARALLEL_YOUNG,
	HOTSPOT_PARALLEL_OLD,
	HOTSPOT_PARALLEL_EDEN,
	HOTSPOT_PARALLEL_FROM,
	HOTSPOT_PARALLEL_TO,
	HOTSPOT_PARALLEL_OBJECTS,
	HOTSPOT_MUTABLE_BOTTOM,
	HOTSPOT_MUTABLE_TOP,
	HOTSPOT_MUTABLE_END,
	HOTSPOT_SERIAL_YOUNG,
	HOTSPOT_SERIAL_OLD,
	HOTSPOT_SERIAL_EDEN,
	HOTSPOT_SERIAL_FROM,
	HOTSPOT_SERIAL_TO,
	HOTSPOT_SERIAL_OBJECTS,
	HOTSPOT_CONTIGUOUS_BOTTOM,
	HOTSPOT_CONTIGUOUS_TOP,
	HOTSPOT_CONTIGUOUS_END,
	HOTSPOT_BARRIERS,
	HOTSPOT_CARDS,
	HOTSPOT_CARDS_HEAP,
	HOTSPOT_CARDS_MAP,
	HOTSPOT_CARDS_BYTES,
	HOTSPOT_LOADERS,
	HOTSPOT_LOADER_NEXT,
	HOTSPOT_LOADER_CLASSES,
	HOTSPOT_CLASS_NEXT,
	HOTSPOT_CLASS_LOADER,
	HOTSPOT_SIZE_HEAP_BLOCK,
	HOTSPOT_SIZE_CONST_METHOD,
	HOTSPOT_SIZE_POOL,
	HOTSPOT_SIZE_FLAG,
	HOTSPOT_SIZE_PC_DESC,
	HOTSPOT_HAS_LINES,
	HOTSPOT_KIND_NMETHOD,
	HOTSPOT_WRAPPER_WORDS,
	HOTSPOT_FACT_COUNT
};

#define HOTSPOT_ABSENT UINT64_MAX

/* What is known of an image: where its tables are. */
struct hotspot_image {
	uint64_t structs, types,
		int_constants;	  /* addresses of the pointers to them, in the image */
	uint64_t struct_entry[7]; /* of the numbers that describe an entry; see hotspot/tables.c */
	uint64_t type_entry[3], constant_entry[3];
	/* Those that only an image with all of its symbols has; 0: not found. */
	uint64_t return_barrier; /* StubRoutines::_cont_returnBarrier */
	uint64_t stub_list;	 /* StubCodeDesc::_list */
	uint64_t entry_return; /* ContinuationEntry::_return_pc, also in the tables since JDK 25 */
};

/* A piece of code within the blobs of StubRoutines, which has a name of its own. */
struct hotspot_stub {
	uint64_t start, end;
	char name[64];
};

/* How objects are laid out, and whether they move only while all threads stand. */
struct hotspot_objects {
	bool are_known;
	bool is_narrow, is_class_narrow; /* references to objects and to classes have 4 bytes */
	bool is_compact;		 /* the class is in the mark word */
	bool move_at_stops;
};

/* What is known of a process. */
struct hotspot {
	uint64_t facts[HOTSPOT_FACT_COUNT];
	unsigned int version; /* of the JDK: 8, 17 */
	/*
	 * CodeBlob::_frame_complete_offset (share/code/codeBlob.hpp) is an int, or since JDK 23 an
	 * int16_t.
	 */
	bool short_frame_complete;
	struct hotspot_data data;
	vec(struct hotspot_stub) stubs; /* if they can be found */
	struct hotspot_objects objects;
};

/*
 * Reads the tables of a process. 0; -EAGAIN: it is only starting; another error: they cannot be
 * read or are not what they should be, with *why filled.
 */
int hotspot_read_tables(const struct runtime_at *at, struct hotspot *jvm, struct fail *why);

/*
 * Finds out how a thread's last Java frame is found (bpf/runtime/hotspot/restart.h), and notes it
 * in jvm->data; what is not found stays 0. -EAGAIN: there is no thread yet.
 */
int hotspot_read_threads(const struct runtime_at *at, struct hotspot *jvm);

/* The locks of struct runtime_type: monitors of Java objects. */
bool hotspot_locks(const struct runtime_at *at, const void *state, struct lock_runtime *locks);
bool hotspot_lock_thread(const struct runtime_at *at, const void *state, uint64_t thread);
uint32_t hotspot_lock_owner(const struct runtime_at *at, const void *state, uint64_t owner);

/* Reads jvm->objects from the flags of the command line; what cannot be read is not known. */
void hotspot_read_objects(const struct runtime_at *at, struct hotspot *jvm);

/*
 * Where the owners of locks of java.util.concurrent are read (hotspot/parks.c). False: they cannot
 * be read with proof.
 */
bool hotspot_parks(const struct runtime_at *at, const struct hotspot *jvm, struct lock_park *park);

/*
 * Only where hotspot_read_objects() has found objects to be known: java.lang.Object's own subclass
 * of that name, or that of another class; the offset of a field that a class itself declares. 0, or
 * false: it is not known.
 */
uint64_t hotspot_class(const struct runtime_at *at, const struct hotspot *jvm, const char *name);
uint64_t hotspot_subclass(const struct runtime_at *at, const struct hotspot *jvm, uint64_t of,
			  const char *name);
bool hotspot_field(const struct runtime_at *at, const struct hotspot *jvm, uint64_t klass,
		   const char *name, uint16_t *offset);

/* The vthreads of struct runtime_type. */
int hotspot_vthreads(const struct runtime_at *at, const void *state, uint32_t object,
		     struct vthreads_process *to, struct fail *why);

/* Whether objects of a class, as it stands in them, are such locks. */
bool hotspot_park_class(const struct runtime_at *at, const void *state, uint64_t klass);

/* The addresses of at most `most` JavaThreads. Returns how many; negative: they cannot be read. */
int hotspot_list_threads(const struct runtime_at *at, const struct hotspot *jvm, uint64_t *threads,
			 int most);

/*
 * Names code of the blob at blob, `offset` bytes into it, and the frame of a compiled or
 * interpreted function.
 */
int hotspot_name(const struct runtime_at *at, const struct hotspot *jvm, const uint64_t words[2],
		 struct runtime_names *names);

/* Adds the method at `method`, at bytecode index bci (negative: not known). */
int hotspot_name_method(const struct runtime_at *at, const struct hotspot *jvm, uint64_t method,
			int bci, struct runtime_names *names);

/* The class_name of struct runtime_type. */
int hotspot_class_name(const struct runtime_at *at, const void *state, uint64_t klass, char *to,
		       size_t size);

/* The spans of struct runtime_type. */
void hotspot_spans(const struct runtime_at *at, const void *state, struct runtime_spans *spans);

/* Reads a number of size bytes (1, 2, 4 or 8). */
int hotspot_read_number(const struct runtime_at *at, uint64_t address, unsigned int size,
			uint64_t *value);

/*
 * The next number of the coding UNSIGNED5 (share/utilities/unsigned5.hpp), of at most size bytes at
 * *at, which moves on. excluded: 1 since JDK 20, as no byte is zero there. False: it does not end.
 */
bool hotspot_unsigned5(const uint8_t **at, const uint8_t *end, unsigned int excluded,
		       uint32_t *value);

/* What its functions mean (film/roles.h). */
extern const struct film_role_row hotspot_roles[];

#endif
