/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_FILTER_ABI_H
#define BPF_FILTER_ABI_H

/* Whether a process is meant: what the map filter_wanted holds for its pid. */
enum filter_answer {
	FILTER_NO = 0,
	FILTER_YES = 1,
	FILTER_ASK = 2,
	FILTER_AT_EXEC = 3 /* only in the map: not yet, but once it executes a program */
};

#endif
