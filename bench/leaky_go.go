// SPDX-License-Identifier: Apache-2.0

// leaky_go map|goroutine: see bench/leaks.
package main

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

var sessions = map[string][]byte{}

//go:noinline
func plantedMap(step int) {
	for i := 0; i < 60; i++ {
		sessions[fmt.Sprint("session ", step*60+i)] = make([]byte, 1000)
	}
}

// Goroutines that wait for an answer that never comes, each with its buffer.
//
//go:noinline
func plantedGoroutine() {
	for i := 0; i < 6; i++ {
		buffer := make([]byte, 10000)
		answer := make(chan int)
		go func() {
			buffer[<-answer] = 1
		}()
	}
}

//go:noinline
func cacheAtStart() [][]byte {
	cache := [][]byte{}
	for i := 0; i < 30000; i++ {
		cache = append(cache, make([]byte, 1000))
	}
	return cache
}

var slots [100][][]byte

//go:noinline
func window(step int) {
	slots[step%100] = nil
	for i := 0; i < 50; i++ {
		slots[step%100] = append(slots[step%100], make([]byte, 10000))
	}
}

var sink []byte

//go:noinline
func churn() {
	for i := 0; i < 500; i++ {
		sink = make([]byte, 100+i*7)
	}
}

func main() {
	cache := cacheAtStart()
	for step := 0; step < 600; step++ {
		churn()
		window(step)
		if len(os.Args) > 1 && os.Args[1] == "map" {
			plantedMap(step)
		} else {
			plantedGoroutine()
		}
		time.Sleep(10 * time.Millisecond)
	}
	// as in a program that serves /debug/pprof: without a mention of it, the linker turns the profile off
	runtime.MemProfile(nil, len(cache) == 0)
}
