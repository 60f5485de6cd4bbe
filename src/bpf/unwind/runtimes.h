/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_UNWIND_RUNTIMES_H
#define BPF_UNWIND_RUNTIMES_H

/*
 * The steps of all runtimes. A mapping of a process may belong to one (struct unwind_mapping); then
 * its step is asked first, with the walk at a frame in that mapping. It may
 *
 *	- push frames that this native frame runs (an interpreter's function), one in each call:
 *	  UNWIND_AGAIN, and at last UNWIND_NATIVE, so that the native frame follows by its own rule;
 *	- push what the code itself is, and move to the caller (JIT code): UNWIND_MOVED, by
 *	  unwind_return_to();
 *	- end the walk, by unwind_stop(): UNWIND_ENDED.
 *
 * What it knows of the process is the block of data of the mapping (unwind_data(); NAME_abi.h),
 * written by src/runtime/NAME/. What it remembers from frame to frame is
 * w->state[UNWIND_RUNTIME_NAME].
 *
 * All that it reads is the target's own memory, which may hold anything and may change meanwhile:
 * each step is short, has no loop without a small constant bound, and does not trust what it finds.
 */

#include "bpf/unwind/unwind.h"

#include "bpf/runtime/go/go.h"
#include "bpf/runtime/hotspot/hotspot.h"
#include "bpf/runtime/hotspot/restart.h"
#include "bpf/runtime/lua/lua.h"
#include "bpf/runtime/lua/restart.h"
#include "bpf/runtime/luajit/luajit.h"
#include "bpf/runtime/luajit/restart.h"
#include "bpf/runtime/python/python.h"
#include "bpf/runtime/python/restart.h"
#include "bpf/runtime/v8/v8.h"
#include "bpf/runtime/v8/restart.h"

#endif
