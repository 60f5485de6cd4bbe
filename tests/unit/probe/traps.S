/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions whose probes are easily put in the wrong place, with what is right for each in the section
 * .truth: start, entry, words, cost, exit, up to three exits (0: none). exit and exits are those of
 * --exit=ret.
 */
#define FAST 0
#define SLOW 1
#define RET 1
#define INFERRED 2

	.macro function name
	.p2align 4
	.globl \name
	.type \name, @function
\name:
	.endm

	.macro truth name, entry, words, cost, exit, one=0, two=0, three=0
	.size \name, . - \name
	.pushsection .truth, "a"
	.quad \name, \entry, \words, \cost, \exit, \one, \two, \three
	.popsection
	.endm

	.text
	.globl _start
_start:
	hlt

	function callee
1:	push %rbp
	pop %rbp
2:	ret
	truth callee, 1b, 0, FAST, RET, 2b

	/* they call nothing; what can be told of return probes: all as it should be, */
	function leaf_frame
1:	push %rbp
	mov %rsp, %rbp
	mov -8(%rbp), %rax
	pop %rbp
2:	ret
	truth leaf_frame, 1b, 0, FAST, RET, 2b

	/* with two ends, and something of its own where the return address would be if all were pushed, */
	function leaf_early
1:	push %rbx
	test %rdi, %rdi
	je 3f
	pop %rbx
2:	ret
3:	mov (%rsp), %rax
	pop %rbx
4:	ret
	truth leaf_early, 1b, 0, FAST, RET, 2b, 4b

	/* on another stack behind it, */
	function leaf_switches
1:	push %rbx
	mov %rsp, (%rdi)
	mov %rsi, %rsp
	pop %rbx
2:	ret
	truth leaf_switches, 1b, 0, FAST, RET, 2b

	/* looking at its caller, */
	function leaf_looks
1:	push %rbx
	mov 8(%rsp), %rax
	pop %rbx
2:	ret
	truth leaf_looks, 1b, 0, FAST, RET, 2b

	function leaf_looks_by_frame
1:	push %rbp
	mov %rsp, %rbp
	mov 8(%rbp), %rax
	pop %rbp
2:	ret
	truth leaf_looks_by_frame, 1b, 0, FAST, RET, 2b

	/* the same behind its first end, where only the way there tells how deep it is, */
	function leaf_looks_late
1:	push %rbx
	test %rdi, %rdi
	je 3f
	pop %rbx
2:	ret
3:	mov 8(%rsp), %rax
	pop %rbx
4:	ret
	truth leaf_looks_late, 1b, 0, FAST, RET, 2b, 4b

	/* by a copy of the frame pointer, as what walks the stack does, */
	function leaf_walks
1:	push %rbp
	mov %rsp, %rbp
	mov %rbp, %rdx
3:	mov 8(%rdx), %rax
	mov (%rdx), %rdx
	test %rdx, %rdx
	jne 3b
	pop %rbp
2:	ret
	truth leaf_walks, 1b, 0, FAST, RET, 2b

	/* calling what does, */
	function leaf_calls_walker
1:	push %rbx
	call leaf_walks
	pop %rbx
2:	ret
	truth leaf_calls_walker, 1b, 0, FAST, RET, 2b

	/* taking it off the stack and putting it back, */
	function leaf_pops
	pop %rax
1:	push %rax
2:	ret
	truth leaf_pops, leaf_pops, 0, SLOW, RET, 2b

	/* calling a thunk, of its own or of all, through which it calls anything, */
	function __x86_indirect_thunk_rax
	call 1f
2:	pause
	lfence
	jmp 2b
1:	mov %rax, (%rsp)
	ret
	.size __x86_indirect_thunk_rax, . - __x86_indirect_thunk_rax
	function leaf_calls_thunk
1:	push %rbx
	call __x86_indirect_thunk_rax
	pop %rbx
2:	ret
	truth leaf_calls_thunk, 1b, 0, FAST, RET, 2b

	function leaf_thunk_inline
1:	push %rbx
	jmp 6f
3:	call 5f
4:	pause
	lfence
	jmp 4b
5:	mov %rax, (%rsp)
7:	ret
6:	call 3b
	pop %rbx
2:	ret
	truth leaf_thunk_inline, 1b, 0, FAST, RET, 2b, 7b

	/* which is left by such a thunk */
	function tail_thunk_inline
1:	push %rbx
	lea callee(%rip), %rax
	pop %rbx
	call 5f
4:	pause
	lfence
	jmp 4b
5:	mov %rax, (%rsp)
2:	ret
	truth tail_thunk_inline, 1b, 0, FAST, RET, 2b

	/* and in the kernel, where it may get a handler */
	function leaf_leaves
1:	push %rbx
	syscall
	pop %rbx
2:	ret
	truth leaf_leaves, 1b, 0, FAST, RET, 2b

	/* a push behind the landing mark */
	function cet
	endbr64
1:	push %rbx
	xor %ebx, %ebx
	pop %rbx
2:	ret
	truth cet, 1b, 0, FAST, RET, 2b

	/* a branch is as good; both ends count, the second one with a prefix */
	function branches
	endbr64
	mov %rdi, %rax
	test %rax, %rax
1:	je 3f
	inc %rax
2:	ret
3:	dec %rax
4:	rep ret
	truth branches, 1b, 0, FAST, RET, 2b, 4b

	/* a loop leads back between the beginning and the branch */
	function loops
1:	xor %eax, %eax
2:	dec %rdi
	jne 2b
3:	ret
	truth loops, 1b, 0, SLOW, RET, 3b

	/* the same right behind the landing mark, from far away */
	function loops_far
1:	endbr64
2:	nop
	dec %rdi
	je 3f
	.skip 200, 0x90
	jmp 2b
3:	ret
	truth loops_far, 1b, 0, SLOW, RET, 3b

	/* the stack pointer has moved by a known number of words */
	function moved
	sub $24, %rsp
1:	call callee
	add $24, %rsp
2:	ret
	truth moved, 1b, 3, FAST, RET, 2b

	/* no place is known: the stack pointer comes from elsewhere */
	function aligned
1:	and $-32, %rsp
	call callee
	ud2
	truth aligned, 1b, 0, SLOW, RET

	/* the only place that would be cheap is its end */
	function tail
1:	mov %rdi, %rax
2:	jmp callee
	truth tail, 1b, 0, SLOW, RET, 2b

	function thunk
1:	jmp callee
	truth thunk, 1b, 0, FAST, RET

	/* it ends as it begins, */
	function empty
1:	ret
	truth empty, 1b, 0, SLOW, RET

	/* or returns by a thunk that only returns */
	function __x86_return_thunk
	call 1f
2:	pause
	lfence
	jmp 2b
1:	lea 8(%rsp), %rsp
	ret
	.size __x86_return_thunk, . - __x86_return_thunk
	function returns_by_thunk
1:	push %rbx
	pop %rbx
2:	jmp __x86_return_thunk
	truth returns_by_thunk, 1b, 0, FAST, RET, 2b

	/* its end comes with its frame taken down again, on one of the two ways */
	function tail_framed
1:	push %rbx
	test %rdi, %rdi
	je 3f
	sub $16, %rsp
	call callee
	add $16, %rsp
3:	pop %rbx
2:	jmp callee
	truth tail_framed, 1b, 0, FAST, RET, 2b

	/* a branch that may end it, and may not: cannot be seen */
	function tail_branch
	test %rdi, %rdi
1:	jne callee
	ret
	truth tail_branch, 1b, 0, FAST, INFERRED

	function tail_method
1:	mov (%rdi), %rax
2:	jmp *16(%rax)
	truth tail_method, 1b, 0, SLOW, RET, 2b

	/* a switch, relative: who knows that no case is the comparison itself? */
	function switch_relative
1:	cmp $1, %edi
	ja 4f
	lea table(%rip), %rdx
	movslq (%rdx, %rdi, 4), %rax
	add %rdx, %rax
	jmp *%rax
2:	mov $1, %eax
3:	ret
4:	xor %eax, %eax
5:	ret
	truth switch_relative, 1b, 0, SLOW, RET, 3b, 5b
	.pushsection .rodata
table:	.long 2b - table, 4b - table
	.popsection

	/* and one that the compiler marked */
	function switch_marked
	push %rbx
	notrack jmp *%rax
	pop %rbx
2:	ret
	truth switch_marked, switch_marked, 0, FAST, RET, 2b

	/* a table of cases, or of functions? */
	function switch_or_call
1:	jmp *table(, %rdi, 8)
	ret
	truth switch_or_call, 1b, 0, SLOW, INFERRED

	/* it has a frame: it cannot be a call that ends it */
	function goto_computed
1:	push %rbp
	mov %rsp, %rbp
	jmp *table(, %rdi, 8)
	leave
2:	ret
	truth goto_computed, 1b, 0, FAST, RET, 2b

	/* without its return address on the stack: to where it was popped, or anywhere */
	function returns_by_jump
1:	pop %rcx
	lea 1(%rdi), %eax
	jmp *%rcx
	truth returns_by_jump, 1b, 0, SLOW, INFERRED

	/* a part elsewhere that comes back, and one that returns */
	function split
1:	push %rbx
	test %rdi, %rdi
	js split.cold
2:	pop %rbx
3:	ret
	.size split, . - split
	.type split.cold, @function
split.cold:
	call callee
	test %eax, %eax
	js 2b
	pop %rbx
4:	ret
	.size split.cold, . - split.cold
	.pushsection .truth, "a"
	.quad split, 1b, 0, FAST, RET, 3b, 4b, 0
	.popsection

	/* bytes that are no code: the rest cannot be read */
	function with_data
1:	push %rbx
	pop %rbx
	ret
	.byte 0x06, 0x07, 0xff, 0xff
	truth with_data, 1b, 0, FAST, INFERRED

	/* a jump into the middle of an instruction: so it is not what was read */
	function odd
1:	push %rbx
	test %rdi, %rdi
	je 2f + 1
2:	mov $0x5bc35b, %eax
	pop %rbx
	ret
	truth odd, 1b, 0, FAST, INFERRED

	/* the stack is another one */
	function switches_stack
1:	mov %rdi, %rsp
	jmp callee
	truth switches_stack, 1b, 0, SLOW, INFERRED

	/* what is between takes its time */
	function fills
1:	mov %rdx, %rcx
	rep stosb
	push %rbx
	pop %rbx
2:	ret
	truth fills, 1b, 0, SLOW, RET, 2b

	/* pause is a nop with a prefix; xchg %rax, %r8 has the same opcode */
	function exchanges
1:	mov %rdi, %rax
	.byte 0x49, 0x90
	push %rbx
	pop %rbx
2:	ret
	truth exchanges, 1b, 0, SLOW, RET, 2b

	/* a label on the way: someone may jump there */
	function labelled
1:	mov %rdi, %rax
	.globl labelled_entry
labelled_entry:
	push %rbx
	pop %rbx
2:	ret
	truth labelled, 1b, 0, SLOW, RET, 2b

	/* no probe can be on the first instruction, which only computes: the next one stands for it */
	function locked
	lock incl (%rdi)
1:	mov $1, %eax
2:	ret
	truth locked, 1b, 0, SLOW, RET, 2b

	/* and that is the end */
	function locked_end
	lock incl (%rdi)
1:	ret
	truth locked_end, 1b, 0, SLOW, RET

	/* refused: the first instruction */
	function begins_in_kernel
	syscall
	ret
	.size begins_in_kernel, . - begins_in_kernel

	function dies
	ud2
	.size dies, . - dies

	/* refused: within another one; without a size */
	function outer
	push %rbx
	.globl inner
	.type inner, @function
inner:	pop %rbx
	ret
	.size inner, . - inner
	.size outer, . - outer

	function sizeless
	ret

	/* a nop of five bytes, which some kernels replace */
	function patchable
	endbr64
	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00
	push %rbx
	pop %rbx
	ret
	.size patchable, . - patchable

	/* many names; the best is the global one that is short and not reserved */
	function __reserved
	.weak aweak
	.type aweak, @function
aweak:
	.globl longer_name
	.type longer_name, @function
longer_name:
	.globl name
	.type name, @function
name:
	push %rbx
	pop %rbx
	ret
	.size __reserved, . - __reserved
	.size aweak, . - __reserved
	.size longer_name, . - __reserved
	.size name, . - __reserved

	/* C++: ns::f<int, int>(int) calls nothing; ns::g() calls only that; ns::h() calls by pointer */
	function _ZN2ns1fIiiEEvi
	push %rbx
	pop %rbx
	ret
	.size _ZN2ns1fIiiEEvi, . - _ZN2ns1fIiiEEvi
	function _ZN2ns1gEv
	push %rbx
	call _ZN2ns1fIiiEEvi
	pop %rbx
	ret
	.size _ZN2ns1gEv, . - _ZN2ns1gEv
	function _ZN2ns1hEv
	push %rbx
	call *%rdi
	pop %rbx
	ret
	.size _ZN2ns1hEv, . - _ZN2ns1hEv

	.section .note.GNU-stack, "", @progbits
