/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the allocator as a program calls them. Each takes the way that costs nothing:
 * the next function of that name, by a jump, unless this allocation has used up the thread's bytes
 * (struct memory_thread), or the address that is given back is one of a sample.
 *
 * The probes are nops of one byte. One of five bytes would cost a third (Linux 6.18 turns it into
 * a call), but a child that was forked after that has the call and not what it calls, and crashes.
 * Each stands where the stack is as it was when the function began, so that a stack begins with
 * malloc() and its caller, and no frame of this library's own.
 *
 * What registers have at a probe says memory_places.h; those that calls keep are as they were.
 */
#include "memory_places.h"

.macro begin_here name
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	endbr64
.endm

.macro begin name
	.text
	.p2align 6
	begin_here \name
.endm

/* Its way to the next function (see there) begins a line of the cache. */
.macro begin_hot name
	.text
	.p2align 6
	.skip (\name - .Lnext_\name) & 63, 0xcc
	begin_here \name
.endm

.macro end name
	.cfi_endproc
	.size \name, . - \name
.endm

/* Where a probe is, from the table of all on. */
.macro place number
	.pushsection .rodata.stackcam, "a", @progbits
	.quad 9f - stackcam_memory_places, \number
	.popsection
9:	nop
.if \number == MEMORY_PLACE_ALLOC
	note alloc, "8@%rdi 8@%r8 8@%r9"
.endif
.if \number == MEMORY_PLACE_FREE
	note free, "8@%rdi"
.endif
.endm

/*
 * The same place for others: probes of OpenTelemetry's contract (otel_memory), as USDT describes
 * them in a note: https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation
 */
.macro note name, arguments
	.pushsection .note.stapsdt, "", @note
	.balign 4
	.long 8, .Lend\@ - .Lbegin\@, 3
	.asciz "stapsdt"
.Lbegin\@:
	.quad 9b, .Lstapsdt_base, 0
	.asciz "otel_memory"
	.asciz "\name"
	.asciz "\arguments"
.Lend\@:
	.balign 4
	.popsection
.endm

	.section .stapsdt.base, "a", @progbits
.Lstapsdt_base:
	.space 1

	.section .rodata.stackcam, "a", @progbits
	.globl stackcam_memory_places
	.type stackcam_memory_places, @object
	.p2align 3
stackcam_memory_places:

/*
 * Takes what \bytes has off the bytes of the thread; flag S is set where there were less, now or
 * before: of two threads with one slot, one may have put back what the other had used up. Uses r11.
 */
.macro spend bytes, scratch
	imulq $MEMORY_THREAD_HASH, %fs:0, \scratch
	leaq memory_threads(%rip), %r11
	shrq $MEMORY_THREAD_SHIFT, \scratch
	andl $MEMORY_THREAD_MASK, \scratch\()d
	subq \bytes, (%r11,\scratch)
.endm

/*
 * Goes on to the next function, by a jump in a line of the cache of its own: behind a branch that
 * was taken once, it takes Zen about half a nanosecond more. The function begins as far before it
 * as it needs, so that no instruction fills the line up.
 */
.macro next name, word
.Lnext_\name:
	jmp *\word(%rip)
.endm

/* The same where the dynamic linker loaded the library. Uses r10. */
.macro spend_own bytes
	movq memory_own@gottpoff(%rip), %r10
	subq \bytes, %fs:(%r10)
.endm

/* What the thread has left is at %fs:(%r10) then. */
.macro find_own
	movq memory_own@gottpoff(%rip), %r10
.endm

/*
 * Here begins the function as a recorder calls it that put the library into a running process:
 * without the dynamic linker, nothing knows where memory_own is.
 */
.macro without_linker name
	.p2align 5
.Lown_\name:
	endbr64
.endm

/*
 * Is the address that of a sample, maybe? Flag C is set where it is. Uses rax, rcx and r10. The
 * filter has a bit for it (memory_table.c).
 */
.macro look_up address=%rdi
	movq memory_table(%rip), %rcx
	imulq $MEMORY_HASH, \address, %rax
	movq %rax, %r10
	shrq $37, %r10
	shrq $32, %rax
	andq (%rcx), %r10
	movq MEMORY_FILTER(%rcx,%r10,8), %rcx
	btq %rax, %rcx
.endm

.macro grow by
	subq $\by, %rsp
	.cfi_adjust_cfa_offset \by
.endm

.macro shrink by
	addq $\by, %rsp
	.cfi_adjust_cfa_offset -\by
.endm

/*
 * Of what C says of a sample in rdx: its bytes, by which mean it was taken (56 bits behind), and
 * whether it is followed. rsi becomes that mean, r8 and r9 the bytes and what they stand for, and
 * rdx the bytes with MEMORY_UNFOLLOWED; rax and rdi stay.
 */
.macro weigh
	pushq %rax
	.cfi_adjust_cfa_offset 8
	pushq %rdi
	.cfi_adjust_cfa_offset 8
	pushq %rdx
	.cfi_adjust_cfa_offset 8
	movq %rdx, %rdi
	shlq $8, %rdi
	shrq $8, %rdi
	movq %rdx, %rsi
	shrq $56, %rsi
	andl $7, %esi
	call memory_weight
	movq %rax, %r9
	popq %rdx
	.cfi_adjust_cfa_offset -8
	popq %rdi
	.cfi_adjust_cfa_offset -8
	popq %rax
	.cfi_adjust_cfa_offset -8
	movq %rdx, %rcx
	shrq $56, %rcx
	andl $7, %ecx
	movq memory_interval(%rip), %rsi
	shlq %cl, %rsi
	movq %rdx, %r8
	shlq $8, %r8
	shrq $8, %r8
	shrq $63, %rdx
	shlq $63, %rdx
	orq %r8, %rdx
.endm

/* Makes the allocation by a function in C, which returns it and, in rdx, what it is worth. */
.macro sampled name
	grow 8
	call memory_\name
	shrink 8
	testq %rdx, %rdx
	jz 2f
	weigh
	movq %rax, %rdi
	place MEMORY_PLACE_ALLOC
2:	ret
.endm

/* A function whose bytes are its argument in \bytes. */
.macro allocates name, bytes
begin_hot \name
	spend_own \bytes
	js 1f
	next \name, memory_next_\name
without_linker \name
	spend \bytes, %r10
	js 1f
	jmp *memory_next_\name(%rip)
1:	sampled \name
end \name
.endm

allocates malloc, %rdi
allocates valloc, %rdi
allocates pvalloc, %rdi
allocates memalign, %rsi
allocates aligned_alloc, %rsi

begin_hot calloc
	movq %rdi, %rax
	mulq %rsi
	jo 3f
	spend_own %rax
	js 1f
	next calloc, memory_next_calloc
without_linker calloc
	movq %rdi, %rax
	mulq %rsi
	jo 3f
	spend %rax, %r10
	js 1f
3:	jmp *memory_next_calloc(%rip)
1:	sampled calloc
end calloc

/* Its result is an error, and the address where its first argument says. */
begin_hot posix_memalign
	spend_own %rdx
	js 1f
	next posix_memalign, memory_next_posix_memalign
without_linker posix_memalign
	spend %rdx, %r10
	js 1f
	jmp *memory_next_posix_memalign(%rip)
1:	pushq %rdi
	.cfi_adjust_cfa_offset 8
	call memory_posix_memalign
	popq %rdi
	.cfi_adjust_cfa_offset -8
	testq %rdx, %rdx
	jz 2f
	weigh
	movq (%rdi), %rdi
	place MEMORY_PLACE_ALLOC
2:	ret
end posix_memalign

/* A free, and an allocation of all that it is to have. */
begin_hot realloc
	look_up
	jc 1f
	spend_own %rsi
	js 3f
	next realloc, memory_next_realloc
without_linker realloc
	look_up
	jc 1f
	spend %rsi, %r10
	js 3f
	jmp *memory_next_realloc(%rip)
1:	pushq %rdi
	.cfi_adjust_cfa_offset 8
	pushq %rsi
	.cfi_adjust_cfa_offset 8
	grow 8
	call memory_free
	shrink 8
	popq %rsi
	.cfi_adjust_cfa_offset -8
	popq %rdi
	.cfi_adjust_cfa_offset -8
	testl %eax, %eax
	jle 2f
	place MEMORY_PLACE_FREE
	movl $6, %edx
	jmp 4f
2:	movl $4, %edx
	jmp 4f
3:	movl $1, %edx
4:	sampled realloc
end realloc

begin reallocarray
	movq %rsi, %rax
	movq %rdx, %rcx
	mulq %rcx
	jo 1f
	movq %rax, %rsi
	jmp realloc
without_linker reallocarray
	movq %rsi, %rax
	movq %rdx, %rcx
	mulq %rcx
	jo 1f
	movq %rax, %rsi
	jmp .Lown_realloc
1:	movq %rcx, %rdx
	jmp *memory_next_reallocarray(%rip)
end reallocarray

begin_hot free
.Lown_free:
	look_up
	jc 1f
	next free, memory_next_free
1:	pushq %rdi
	.cfi_adjust_cfa_offset 8
	call memory_free
	popq %rdi
	.cfi_adjust_cfa_offset -8
	testl %eax, %eax
	js 3f
	jz 2f
	place MEMORY_PLACE_FREE
2:	jmp *memory_next_free(%rip)
3:	ret
end free

/*
 * C++: an allocator may have operators of its own, which do not call malloc() as those of the C++
 * library do. Then what the thread has left is as before, and the allocation is taken off here.
 * Otherwise the next operator is reached by a jump, so that stacks are as they are without this
 * library.
 */
.macro next_operator index
0:	movq memory_operators+8*\index(%rip), %r11
	testq %r11, %r11
	jnz 5f
	pushq %rdi
	.cfi_adjust_cfa_offset 8
	pushq %rsi
	.cfi_adjust_cfa_offset 8
	pushq %rdx
	.cfi_adjust_cfa_offset 8
	call memory_find_operators
	popq %rdx
	.cfi_adjust_cfa_offset -8
	popq %rsi
	.cfi_adjust_cfa_offset -8
	popq %rdi
	.cfi_adjust_cfa_offset -8
	jmp 0b
5:	cmpb $0, memory_operators_own(%rip)
.endm

.macro operator_new name, index
begin \name
	next_operator \index
	jne 4f
	jmp *%r11
4:	pushq %rdi
	.cfi_adjust_cfa_offset 8
	find_own
	pushq %fs:(%r10)
	.cfi_adjust_cfa_offset 8
	grow 8
	call *%r11
	shrink 8
	find_own
	popq %rcx
	.cfi_adjust_cfa_offset -8
	popq %rdi
	.cfi_adjust_cfa_offset -8
	cmpq %rcx, %fs:(%r10)
	jne 9f
	subq %rdi, %fs:(%r10)
	js .Lsampled_new
9:	ret
.if \index == 0
.Lsampled_new:
	movq %rdi, %rsi
	movq %rax, %rdi
	sampled operated
.endif
end \name
.endm

.macro operator_delete name, index
begin \name
	next_operator \index
	je 2f
	look_up
	jc 1f
2:	jmp *%r11
1:	pushq %rdi
	.cfi_adjust_cfa_offset 8
	pushq %rsi
	.cfi_adjust_cfa_offset 8
	pushq %rdx
	.cfi_adjust_cfa_offset 8
	pushq %r11
	.cfi_adjust_cfa_offset 8
	grow 8
	call memory_free
	shrink 8
	popq %r11
	.cfi_adjust_cfa_offset -8
	popq %rdx
	.cfi_adjust_cfa_offset -8
	popq %rsi
	.cfi_adjust_cfa_offset -8
	popq %rdi
	.cfi_adjust_cfa_offset -8
	testl %eax, %eax
	jg .Lsampled_delete
	jz 2b
	ret
.if \index == MEMORY_OPERATORS_NEW
.Lsampled_delete:
	place MEMORY_PLACE_FREE
	jmp *%r11
.endif
end \name
.endm

/* In the order of memory_next.c. */
operator_new _Znwm, 0
operator_new _Znam, 1
operator_new _ZnwmRKSt9nothrow_t, 2
operator_new _ZnamRKSt9nothrow_t, 3
operator_new _ZnwmSt11align_val_t, 4
operator_new _ZnamSt11align_val_t, 5
operator_new _ZnwmSt11align_val_tRKSt9nothrow_t, 6
operator_new _ZnamSt11align_val_tRKSt9nothrow_t, 7
operator_delete _ZdlPv, 8
operator_delete _ZdaPv, 9
operator_delete _ZdlPvm, 10
operator_delete _ZdaPvm, 11
operator_delete _ZdlPvRKSt9nothrow_t, 12
operator_delete _ZdaPvRKSt9nothrow_t, 13
operator_delete _ZdlPvSt11align_val_t, 14
operator_delete _ZdaPvSt11align_val_t, 15
operator_delete _ZdlPvmSt11align_val_t, 16
operator_delete _ZdaPvmSt11align_val_t, 17
operator_delete _ZdlPvSt11align_val_tRKSt9nothrow_t, 18
operator_delete _ZdaPvSt11align_val_tRKSt9nothrow_t, 19
	.hidden memory_operators, memory_operators_own, memory_find_operators, memory_operated

/*
 * CPython's: \api is how its own functions are called, \next what has those behind (struct
 * memory_python). The first argument is theirs. Sizes that pools do not serve come by malloc().
 */

/* rax becomes the bytes of a calloc(): where that is too much, or large, it goes on at \other. */
.macro python_product other
	movq %rdx, %rcx
	movq %rsi, %rax
	mulq %rcx
	movq %rcx, %rdx
	jo \other
	cmpq $MEMORY_POOLS_MAX, %rax
	ja \other
.endm

/* What the thread has left is behind \left when this, or find_own, is done. */
.macro find_hashed
	imulq $MEMORY_THREAD_HASH, %fs:0, %r10
	leaq memory_threads(%rip), %r11
	shrq $MEMORY_THREAD_SHIFT, %r10
	andl $MEMORY_THREAD_MASK, %r10d
.endm

/*
 * What is given to realloc() may be of the C library, which sees then by itself what it becomes,
 * and takes it off the thread's bytes. Whether it has is seen at these.
 */
.macro python_realloc domain, find, left
	pushq %rdi
	.cfi_adjust_cfa_offset 8
	pushq %rdx
	.cfi_adjust_cfa_offset 8
	\find
	pushq \left
	.cfi_adjust_cfa_offset 8
	call *memory_python_\domain+16(%rip)
	\find
	popq %rcx
	.cfi_adjust_cfa_offset -8
	popq %rdx
	.cfi_adjust_cfa_offset -8
	popq %rdi
	.cfi_adjust_cfa_offset -8
	cmpq %rcx, \left
	jne 9f
	subq %rdx, \left
	js 1f
9:	ret
.endm

.macro python api, domain
begin_hot stackcam_\api\()_Malloc
	cmpq $MEMORY_POOLS_MAX, %rsi
	ja 2f
	spend_own %rsi
	js 1f
2:	next stackcam_\api\()_Malloc, memory_python_\domain
without_linker stackcam_\api\()_Malloc
	cmpq $MEMORY_POOLS_MAX, %rsi
	ja 2f
	spend %rsi, %r10
	js 1f
2:	jmp *memory_python_\domain(%rip)
1:	sampled python_\domain\()_malloc
end stackcam_\api\()_Malloc

begin_hot stackcam_\api\()_Calloc
	python_product 2f
	spend_own %rax
	js 1f
2:	next stackcam_\api\()_Calloc, memory_python_\domain+8
without_linker stackcam_\api\()_Calloc
	python_product 2f
	spend %rax, %r10
	js 1f
2:	jmp *memory_python_\domain+8(%rip)
1:	sampled python_\domain\()_calloc
end stackcam_\api\()_Calloc

begin_hot stackcam_\api\()_Realloc
	cmpq $MEMORY_POOLS_MAX, %rdx
	ja 2f
	testq %rsi, %rsi
	jnz 3f
	spend_own %rdx
	js 4f
2:	next stackcam_\api\()_Realloc, memory_python_\domain+16
3:	python_realloc \domain, find_own, %fs:(%r10)
without_linker stackcam_\api\()_Realloc
	cmpq $MEMORY_POOLS_MAX, %rdx
	ja 2f
	testq %rsi, %rsi
	jnz 3f
	spend %rdx, %r10
	js 4f
2:	jmp *memory_python_\domain+16(%rip)
3:	python_realloc \domain, find_hashed, "(%r11,%r10)"
4:	movq %rdx, %rsi
	sampled python_\domain\()_malloc
1:	movq %rax, %rsi
	sampled python_\domain\()_moved
end stackcam_\api\()_Realloc
	.hidden memory_python_\domain, memory_python_\domain\()_malloc
	.hidden memory_python_\domain\()_calloc, memory_python_\domain\()_moved
.endm

python PyObject, obj
python PyMem, mem

/* memory_kept(address) */
	.hidden memory_kept
begin memory_kept
	place MEMORY_PLACE_KEPT
	ret
end memory_kept

	.hidden memory_threads, memory_interval, memory_table
	.irp name, malloc, calloc, valloc, pvalloc, memalign, aligned_alloc, posix_memalign, realloc
	.hidden memory_\name, memory_next_\name
	.endr
	.hidden memory_own
	.hidden memory_weight, memory_free, memory_next_free, memory_next_reallocarray

	.section .rodata.stackcam, "a", @progbits
	.quad 0, 0
	.size stackcam_memory_places, . - stackcam_memory_places

.macro entries_of_python api, domain
	.quad .Lown_stackcam_\api\()_Malloc - stackcam_memory_entries
	.quad memory_python_\domain - stackcam_memory_entries
	.quad .Lown_stackcam_\api\()_Calloc - stackcam_memory_entries
	.quad memory_python_\domain + 8 - stackcam_memory_entries
	.quad .Lown_stackcam_\api\()_Realloc - stackcam_memory_entries
	.quad memory_python_\domain + 16 - stackcam_memory_entries
.endm

	.globl stackcam_memory_entries
	.type stackcam_memory_entries, @object
stackcam_memory_entries:
	.quad memory_start - stackcam_memory_entries
	.quad slots_change - stackcam_memory_entries
	.quad memory_state - stackcam_memory_entries
	.irp name, malloc, calloc, valloc, pvalloc, memalign, aligned_alloc, posix_memalign, realloc, reallocarray, free
	.quad .Lown_\name - stackcam_memory_entries
	.quad memory_next_\name - stackcam_memory_entries
	.endr
	entries_of_python PyObject, obj
	entries_of_python PyMem, mem
	.size stackcam_memory_entries, . - stackcam_memory_entries
	.hidden memory_start, slots_change, memory_state
	.section .note.GNU-stack, "", @progbits
