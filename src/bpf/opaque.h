/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_OPAQUE_H
#define BPF_OPAQUE_H

/* The compiler would leave out a mask where it knows what the verifier has forgotten by then. */
#define OPAQUE(variable) asm volatile("" : "+r"(variable))

#endif
