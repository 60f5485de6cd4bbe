// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Holds a program at its start, and at each library that it maps later, until user space has set
 * its probes.
 *
 * The kernel calls hold_wait() on the thread's way back to user mode (task work, Linux 6.18):
 * behind the whole execve() or mmap(), with no lock held, where it may sleep and be preempted. It
 * waits there by running in circles. So no program can see the hold but by its time: the thread is
 * neither stopped nor traced nor frozen, no signal is sent, and no parent or debugger notices.
 * It ends by itself: when user space says so, after hold_limit, when the recorder dies, or when the
 * thread is to die.
 */
#include "bpf/capture/capture.h"
#include "bpf/filter.h"
#include "bpf/hold_abi.h"

/* As linux/bpf.h has them since 6.18 and 6.4. */
struct bpf_task_work {
	__u64 opaque;
} __attribute__((aligned(8)));

struct bpf_iter_num {
	__u64 opaque;
} __attribute__((aligned(8)));

extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym __weak;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym __weak;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym __weak;
extern int bpf_task_work_schedule_resume_impl(struct task_struct *task, struct bpf_task_work *work,
					      void *map,
					      int (*callback)(struct bpf_map *, void *, void *),
					      void *unused) __ksym __weak;
/* since 7.0 */
extern int
bpf_task_work_schedule_resume(struct task_struct *task, struct bpf_task_work *work, void *map,
			      int (*callback)(struct bpf_map *, void *, void *)) __ksym __weak;
extern struct task_struct *bpf_task_from_pid(__s32 pid) __ksym __weak;
extern void bpf_task_release(struct task_struct *task) __ksym __weak;

/* Set before loading. */
const volatile __u64 hold_limit; /* ns */
const volatile __s32 hold_recorder;
const volatile bool hold_resumes; /* the kernel has bpf_task_work_schedule_resume() */

/*
 * What the names of wanted programs begin with: most processes of the machine need not be asked
 * about. And those of libraries that are to be held: most are looked at while they run.
 */
#define HOLD_NAMES	8
#define HOLD_NAME_BYTES 16

const volatile __u32 hold_name_count; /* 0: any */
const volatile char hold_names[HOLD_NAMES][HOLD_NAME_BYTES];

const volatile __u32 hold_library_count; /* 0: any */
const volatile char hold_libraries[HOLD_NAMES][HOLD_NAME_BYTES];

/* The recorder ends, and answers no more. */
__u32 hold_over;

/* Children of what is meant are held when they are born. */
__u32 hold_children;

struct hold_work {
	struct bpf_task_work work;
};

/*
 * Memory that user space shares cannot hold a task's work: so there are two maps. A slot has two
 * works: one that runs cannot be scheduled again, but can schedule the other one.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * HOLD_SLOTS);
	__type(key, __u32);
	__type(value, struct hold_work);
} hold_works SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, HOLD_SLOTS);
	__type(key, __u32);
	__type(value, struct hold_slot);
} hold_slots SEC(".maps");

/* Files whose probes are set, or that need none. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, HOLD_KNOWN_MAX);
	__type(key, struct hold_file);
	__type(value, __u8);
} hold_known SEC(".maps");

/*
 * So often a work runs in circles, for some 20 us. Then the next one is scheduled: in between, the
 * kernel does what else is to be done for the thread (it closes files, lets others run), and what
 * waits for BPF programs to end can go on: to remove a probe, say, which the recorder may have to
 * do before it can let the thread go. (The thread must hold nothing while it waits: its memory map
 * is locked to set probes into it.)
 */
#define CIRCLES 512

/* linux/sched/signal.h, linux/sched.h, linux/mman.h, linux/stat.h */
#define SIGNAL_GROUP_EXIT 4
#define MAP_ANONYMOUS	  0x20
#define S_IFMT		  0170000
#define S_IFREG		  0100000

static __always_inline void name_file(struct file *file, struct hold_file *name)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	name->inode = BPF_CORE_READ(inode, i_ino);
	name->device = BPF_CORE_READ(inode, i_sb, s_dev);
	name->generation = BPF_CORE_READ(inode, i_generation);
}

static __always_inline bool recorder_lives(void)
{
	struct task_struct *recorder = bpf_task_from_pid(hold_recorder);
	bool lives;

	if (!recorder)
		return false;
	lives = !(recorder->flags & PF_EXITING);
	bpf_task_release(recorder);
	return lives;
}

/*
 * Pointers of the task are read as numbers: where a program follows one, the kernel searches all of
 * its types by name, each time that it comes by while it verifies, for some milliseconds.
 */
static __always_inline bool is_dying(struct task_struct *task)
{
	return !BPF_CORE_READ(task, mm) || task->flags & PF_EXITING ||
	       BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT;
}

static __always_inline void free_slot(struct hold_slot *slot)
{
	__sync_lock_test_and_set(&slot->state, HOLD_FREE);
}

/* Does it begin as one of those names does? */
static __always_inline bool has_prefix(const volatile char names[HOLD_NAMES][HOLD_NAME_BYTES],
				       __u32 count, const char *name)
{
	__u32 i, j;

	if (!count)
		return true;
	for (i = 0; i < HOLD_NAMES && i < count; i++) {
		for (j = 0; j < HOLD_NAME_BYTES; j++)
			if (!names[i][j] || names[i][j] != name[j])
				break;
		if (j == HOLD_NAME_BYTES || !names[i][j])
			return true;
	}
	return false;
}

/* name: HOLD_NAME_BYTES, all zero; one that is longer is cut */
static __always_inline void read_name(struct file *file, char *name)
{
	bpf_probe_read_kernel_str(name, HOLD_NAME_BYTES,
				  BPF_CORE_READ(file, f_path.dentry, d_name.name));
}

struct found_mapping {
	struct hold_file file;
	__u64 start, offset;
	__u32 mode;
	char name[HOLD_NAME_BYTES];
};

static long find_file(struct task_struct *task, struct vm_area_struct *area, void *context)
{
	struct found_mapping *found = context;
	struct file *file = BPF_CORE_READ(area, vm_file);

	if (!file)
		return 0;
	found->mode = BPF_CORE_READ(file, f_inode, i_mode);
	found->start = BPF_CORE_READ(area, vm_start);
	found->offset = BPF_CORE_READ(area, vm_pgoff);
	name_file(file, &found->file);
	read_name(file, found->name);
	return 0;
}

/* errno-base.h */
#define EBUSY 16

/* Does the thread wait? */
enum waits {
	WAITS_NOT,
	WAITS,
	WAITS_PERHAPS, /* that cannot be seen now */
};

/*
 * Is what was mapped the beginning of an ELF file? Fills in which. While another thread changes
 * this process's mappings (the recorder does, where it sets or removes probes), they cannot be
 * looked at.
 */
static __always_inline enum waits maps_elf(struct task_struct *task, __u64 address,
					   struct hold_file *file)
{
	struct found_mapping found = {};
	__u32 magic = 0;
	long err = bpf_find_vma(task, address, find_file, &found, 0);

	if (err)
		return err == -EBUSY ? WAITS_PERHAPS : WAITS_NOT;
	if ((found.mode & S_IFMT) != S_IFREG || found.start != address || found.offset ||
	    !has_prefix(hold_libraries, hold_library_count, found.name))
		return WAITS_NOT;
	*file = found.file;
	return !bpf_map_lookup_elem(&hold_known, file) &&
			       !bpf_copy_from_user(&magic, sizeof(magic), (void *)address) &&
			       magic == 0x464c457f
		       ? WAITS
		       : WAITS_NOT;
}

/* Fills in the rest of a slot, and wakes the recorder to look at it. */
static __always_inline bool notify_recorder(struct hold_slot *slot, enum filter_answer answer,
					    __u32 state)
{
	__u32 cpu = bpf_get_smp_processor_id();
	void *ring = bpf_map_lookup_elem(&capture_rings, &cpu);
	struct capture_head wake = {CAPTURE_HOLD, sizeof(wake), bpf_ktime_get_ns()};

	slot->pid = bpf_get_current_pid_tgid() >> 32;
	slot->undecided = answer == FILTER_ASK;
	slot->began = slot->ended = wake.time;
	bpf_get_current_comm(slot->comm, sizeof(slot->comm));
	__sync_lock_test_and_set(&slot->state, state);
	if (ring && !bpf_ringbuf_output(ring, &wake, sizeof(wake), BPF_RB_FORCE_WAKEUP))
		return true;
	capture_count_loss(CAPTURE_SOURCE_NONE, CAPTURE_LOSS_HOLD);
	return false;
}

static __always_inline bool schedule(struct task_struct *task, __u32 number,
				     int (*step)(struct bpf_map *, void *, void *))
{
	struct hold_work *work = bpf_map_lookup_elem(&hold_works, &number);

	if (!work)
		return false;
	if (hold_resumes)
		return !bpf_task_work_schedule_resume(task, &work->work, &hold_works, step);
	return !bpf_task_work_schedule_resume_impl(task, &work->work, &hold_works, step, NULL);
}

/* It does not wait any longer. Unless user space has just let it go, it has to know. */
static __always_inline void expire(struct hold_slot *slot)
{
	slot->ended = bpf_ktime_get_ns();
	if (__sync_val_compare_and_swap(&slot->state, HOLD_WAITING, HOLD_EXPIRED) != HOLD_WAITING)
		free_slot(slot);
}

/*
 * One round. (The kernel's verifier wants no loop with a callback here, since the function
 * schedules itself; and it would go through each circle of a plain one, which takes it longer than
 * all of the rest.)
 */
static int hold_wait(struct bpf_map *map, void *key, void *value)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 number = *(__u32 *)key, slot_number = number & (HOLD_SLOTS - 1);
	struct hold_slot *slot = bpf_map_lookup_elem(&hold_slots, &slot_number);
	struct bpf_iter_num circles;
	__u64 now = 0;

	if (!slot)
		return 0;
	bpf_iter_num_new(&circles, 0, CIRCLES);
	while (bpf_iter_num_next(&circles) && *(volatile __u32 *)&slot->state == HOLD_WAITING)
		now = bpf_ktime_get_ns();
	bpf_iter_num_destroy(&circles);
	if (slot->state != HOLD_WAITING || is_dying(task) || !recorder_lives() ||
	    now - slot->began > hold_limit || !schedule(task, number ^ HOLD_SLOTS, hold_wait))
		expire(slot);
	return 0;
}

/* The thread is on its way back. */
static __always_inline enum waits has_to_wait(struct task_struct *task, struct hold_slot *slot)
{
	enum filter_answer answer = filter_current();
	enum waits waits = WAITS;

	if (hold_over || answer == FILTER_NO || is_dying(task))
		return WAITS_NOT;
	if (slot->kind == HOLD_MAP)
		waits = maps_elf(task, slot->address, &slot->file);
	if (waits != WAITS)
		return waits;
	return notify_recorder(slot, answer, HOLD_WAITING) ? WAITS : WAITS_NOT;
}

static int hold_begin(struct bpf_map *map, void *key, void *value)
{
	__u32 number = *(__u32 *)key, slot_number = number & (HOLD_SLOTS - 1);
	struct hold_slot *slot = bpf_map_lookup_elem(&hold_slots, &slot_number);
	struct task_struct *task = bpf_get_current_task_btf();
	enum waits waits;

	if (!slot)
		return 0;
	waits = has_to_wait(task, slot);
	if (waits == WAITS_PERHAPS && bpf_ktime_get_ns() - slot->began <= hold_limit &&
	    schedule(task, number ^ HOLD_SLOTS, hold_begin))
		return 0;
	if (waits == WAITS_PERHAPS)
		capture_count_loss(CAPTURE_SOURCE_NONE, CAPTURE_LOSS_HOLD);
	if (waits != WAITS)
		free_slot(slot);
	else if (!schedule(task, number ^ HOLD_SLOTS, hold_wait))
		expire(slot);
	return 0;
}

struct slot_search {
	__u32 kind, number; /* number: of the slot; HOLD_SLOTS: none is free */
	__u64 address;
};

static long try_slot(__u32 i, void *context)
{
	struct slot_search *slot_search = context;
	struct hold_slot *slot = bpf_map_lookup_elem(&hold_slots, &i);

	if (!slot || slot->state != HOLD_FREE ||
	    __sync_val_compare_and_swap(&slot->state, HOLD_FREE, HOLD_TAKEN) != HOLD_FREE)
		return 0;
	slot_search->number = i;
	slot->kind = slot_search->kind;
	slot->address = slot_search->address;
	slot->by_thread = 0;
	slot->began = bpf_ktime_get_ns();
	return 1;
}

/* Gets a slot for the thread; null: none is free. file: null: not known yet */
static __always_inline struct hold_slot *get_slot(__u32 kind, __u64 address,
						  const struct hold_file *file, __u32 *number)
{
	struct slot_search slot_search = {.kind = kind, .number = HOLD_SLOTS, .address = address};
	struct hold_slot *slot;

	bpf_loop(HOLD_SLOTS, try_slot, &slot_search, 0);
	slot = bpf_map_lookup_elem(&hold_slots, &slot_search.number);
	if (!slot)
		capture_count_loss(CAPTURE_SOURCE_NONE, CAPTURE_LOSS_HOLD);
	else if (file)
		slot->file = *file;
	*number = slot_search.number;
	return slot;
}

/* On its way back to user mode, the thread will wait. */
static __always_inline void hold(struct task_struct *task, __u32 kind, __u64 address,
				 const struct hold_file *file, bool by_thread)
{
	__u32 number;
	struct hold_slot *slot = get_slot(kind, address, file, &number);

	if (slot)
		slot->by_thread = by_thread;
	if (!slot || schedule(task, number, hold_begin))
		return;
	capture_count_loss(CAPTURE_SOURCE_NONE, CAPTURE_LOSS_HOLD);
	free_slot(slot);
}

/* A process that user space has to decide on goes by its name, or by that of its file. */
static __always_inline bool may_be_wanted(struct task_struct *task, struct file *exe)
{
	char name[HOLD_NAME_BYTES] = {};

	bpf_get_current_comm(name, sizeof(name));
	if (has_prefix(hold_names, hold_name_count, name))
		return true;
	__builtin_memset(name, 0, sizeof(name));
	read_name(exe, name);
	/* both are cut at 15 bytes */
	return has_prefix(hold_names, hold_name_count, name);
}

/* The task executes a program. Is it one without probes, which may need some? */
static __always_inline bool is_new_program(struct task_struct *task, struct hold_file *file)
{
	enum filter_answer answer = filter_current();
	struct file *exe = BPF_CORE_READ(task, mm, exe_file);

	if (answer == FILTER_NO || !exe)
		return false;
	if (answer == FILTER_ASK && !may_be_wanted(task, exe))
		return false;
	name_file(exe, file);
	return answer == FILTER_ASK || !bpf_map_lookup_elem(&hold_known, file);
}

/* Where the kernel cannot hold a program, user space learns that it begins. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(hold_tell_exec, struct task_struct *task, int old_pid)
{
	struct hold_file file = {};
	struct hold_slot *slot;
	__u32 number;

	if (!is_new_program(task, &file))
		return 0;
	slot = get_slot(HOLD_EXEC, BPF_CORE_READ(task, mm, start_code), &file, &number);
	if (slot)
		slot->by_thread = old_pid != task->pid;
	if (slot && !notify_recorder(slot, filter_current(), HOLD_EXPIRED))
		free_slot(slot);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(hold_exec, struct task_struct *task, int old_pid)
{
	struct hold_file file = {};

	if (!is_new_program(task, &file))
		return 0;
	hold(task, HOLD_EXEC, BPF_CORE_READ(task, mm, start_code), &file, old_pid != task->pid);
	return 0;
}

/*
 * A child has its parent's breakpoints in its memory, but probes that are bound to its parent do
 * not run for it.
 */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(hold_fork, struct task_struct *parent, struct task_struct *child)
{
	struct hold_file none = {};

	if (!hold_children || parent->tgid == child->tgid || filter_current() != FILTER_YES)
		return 0;
	hold(child, HOLD_FORK, 0, &none, false);
	return 0;
}

/*
 * A loader maps a library: all of its place first, wherever there is room, then its parts within.
 * The kernel says where the place will be; include/trace/events/mmap.h.
 */
SEC("tp_btf/vm_unmapped_area")
int BPF_PROG(hold_map, unsigned long address)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct probe_regs *regs = (void *)bpf_task_pt_regs(task);

	if (address & 4095 || filter_current() != FILTER_YES)
		return 0;
	/* memory without a file is asked for far more often */
	if (REGS_CALL(regs) != SYSCALL_MMAP || REGS_CALL_ARG4(regs) & MAP_ANONYMOUS)
		return 0;
	hold(task, HOLD_MAP, address, NULL, false);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
