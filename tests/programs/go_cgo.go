// SPDX-License-Identifier: Apache-2.0
// Works in C, and in Go that C has called: go_cgo SECONDS.
package main

/*
#include <stdint.h>

extern uint64_t called_back(uint64_t n);

static __attribute__((noinline)) uint64_t c_spin(uint64_t n)
{
	volatile uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += i * i;
	return sum;
}

static __attribute__((noinline)) uint64_t c_work(uint64_t n)
{
	return c_spin(n) + 1;
}

static __attribute__((noinline)) uint64_t c_calls_back(uint64_t n)
{
	return called_back(n) + 1;
}
*/
import "C"

import (
	"os"
	"strconv"
	"sync"
	"time"
)

//go:noinline
func goSpin(n uint64) (sum uint64) {
	for i := uint64(0); i < n; i++ {
		sum = sum*6364136223846793005 + i
	}
	return
}

//export called_back
func called_back(n C.uint64_t) C.uint64_t {
	return C.uint64_t(goSpin(uint64(n))) + C.c_spin(n/2)
}

//go:noinline
func inC(n uint64) uint64 { return uint64(C.c_work(C.uint64_t(n))) + 1 }

//go:noinline
func throughC(n uint64) uint64 { return uint64(C.c_calls_back(C.uint64_t(n))) + 1 }

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	var wait sync.WaitGroup
	for i := 0; i < 2; i++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for time.Now().Before(end) {
				inC(200000)
				throughC(200000)
			}
		}()
	}
	wait.Wait()
}
