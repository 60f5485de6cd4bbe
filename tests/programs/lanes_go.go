// SPDX-License-Identifier: Apache-2.0

// Goroutines whose lives are known: "lanes_go MS [stay]". Each kind prints its goroutine's number, and what it measured
// itself, in ns: "sleeps 18 41234567". With "stay" it begins when it gets a byte, and goes on until it gets another one.
package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

var span time.Duration
var printing sync.Mutex

// number is this goroutine's: "goroutine 18 [running]: …"
func number() string {
	text := make([]byte, 64)
	text = text[:runtime.Stack(text, false)]
	return string(bytes.Fields(text)[1])
}

func print(kind string, ns time.Duration) {
	printing.Lock()
	fmt.Println(kind, number(), ns.Nanoseconds())
	printing.Unlock()
}

//go:noinline
func sleeps() {
	start := time.Now()
	time.Sleep(span)
	print("sleeps", time.Since(start))
}

//go:noinline
func receives(from chan int) {
	start := time.Now()
	<-from
	print("receives", time.Since(start))
}

//go:noinline
func sends(to chan int) {
	time.Sleep(span)
	to <- 1
	print("sends", span)
}

// spins needs a thread all the time; several of them share one.
//
//go:noinline
func spins() {
	start := time.Now()
	for time.Since(start) < span {
	}
	print("spins", time.Since(start))
}

// calls is in a system call that the runtime knows nothing of the end of.
//
//go:noinline
func calls() {
	var ends [2]int
	syscall.Pipe(ends[:])
	go func() {
		time.Sleep(span)
		syscall.Write(ends[1], []byte{1})
	}()
	start := time.Now()
	syscall.Read(ends[0], make([]byte, 1))
	print("calls", time.Since(start))
}

//go:noinline
func many(count int) {
	var all sync.WaitGroup
	for i := 0; i < count; i++ {
		all.Add(1)
		go all.Done()
	}
	all.Wait()
	print("many", time.Duration(count))
}

func main() {
	ms, _ := strconv.Atoi(os.Args[1])
	span = time.Duration(ms) * time.Millisecond
	stays := len(os.Args) > 2
	never := make(chan int)
	go func() { <-never }()
	if stays {
		fmt.Println("ready")
		os.Stdin.Read(make([]byte, 1))
	}
	var all sync.WaitGroup
	between := make(chan int)
	for _, kind := range []func(){sleeps, func() { receives(between) }, func() { sends(between) }, spins, spins, calls,
		func() { many(500) }} {
		all.Add(1)
		go func(kind func()) {
			kind()
			all.Done()
		}(kind)
	}
	all.Wait()
	if stays {
		fmt.Println("over")
		os.Stdin.Read(make([]byte, 1))
	}
}
