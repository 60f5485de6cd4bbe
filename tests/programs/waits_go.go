// SPDX-License-Identifier: Apache-2.0

// Goroutines that wait in known ways, each by a function of its own: "waits_go TURNS [stay]". Prints for each kind
// how many ns its goroutine has waited, as it measured itself: "chan 41234567 20", with how often. With "stay", it begins
// when it gets a byte, some wait since before, and some wait on.
package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"time"
)

const pause = 5 * time.Millisecond

var turns int
var printing sync.Mutex

type clock struct {
	total time.Duration
	count int
}

func (c *clock) add(since time.Time) {
	c.total += time.Since(since)
	c.count++
}

func (c *clock) print(kind string) {
	printing.Lock()
	fmt.Println(kind, c.total.Nanoseconds(), c.count)
	printing.Unlock()
}

//go:noinline
func receives(in chan int) {
	var c clock
	for i := 0; i < turns; i++ {
		start := time.Now()
		<-in
		c.add(start)
	}
	c.print("chan")
}

//go:noinline
func sendsLate(out chan int) {
	for i := 0; i < turns; i++ {
		sleeps(pause)
		out <- i
	}
}

//go:noinline
func selects(a, b chan int) {
	var c clock
	for i := 0; i < turns; i++ {
		start := time.Now()
		select {
		case <-a:
		case <-b:
		}
		c.add(start)
	}
	c.print("select")
}

//go:noinline
func locks(mutex *sync.Mutex, go1, done chan int) {
	var c clock
	for i := 0; i < turns; i++ {
		<-go1
		start := time.Now()
		mutex.Lock()
		c.add(start)
		mutex.Unlock()
		done <- i
	}
	c.print("mutex")
}

//go:noinline
func holds(mutex *sync.Mutex, go1, done chan int) {
	for i := 0; i < turns; i++ {
		mutex.Lock()
		go1 <- i
		sleeps(pause)
		mutex.Unlock()
		<-done
	}
}

//go:noinline
func reads(conn net.Conn) {
	var c clock
	one := make([]byte, 1)
	for i := 0; i < turns; i++ {
		start := time.Now()
		conn.Read(one)
		c.add(start)
	}
	c.print("network")
}

//go:noinline
func writesLate(conn net.Conn) {
	for i := 0; i < turns; i++ {
		sleeps(pause)
		conn.Write([]byte{1})
	}
}

//go:noinline
func sleeps(d time.Duration) {
	time.Sleep(d)
}

//go:noinline
func accepts(listener net.Listener) {
	listener.Accept()
}

//go:noinline
func waitsForEver(in chan int) {
	<-in
}

//go:noinline
func waitsLater(in chan int) {
	<-in
}

//go:noinline
func sleeper() {
	var c clock
	for i := 0; i < turns; i++ {
		start := time.Now()
		sleeps(pause)
		c.add(start)
	}
	c.print("sleep")
}

func main() {
	turns, _ = strconv.Atoi(os.Args[1])
	stay := len(os.Args) > 2
	var all sync.WaitGroup
	run := func(f func()) {
		all.Add(1)
		go func() {
			defer all.Done()
			f()
		}()
	}
	var mutex sync.Mutex
	in, a, b, go1, done := make(chan int), make(chan int), make(chan int), make(chan int), make(chan int)
	listener, err := net.Listen("unix", "@waits_go-"+strconv.Itoa(os.Getpid()))
	if err != nil {
		panic(err)
	}
	client, err := net.Dial("unix", listener.Addr().String())
	if err != nil {
		panic(err)
	}
	server, err := listener.Accept()
	if err != nil {
		panic(err)
	}
	if stay {
		go waitsForEver(make(chan int))
		fmt.Println("ready")
		os.Stdin.Read(make([]byte, 1))
		go waitsLater(make(chan int))
		go accepts(listener)
	}
	run(func() { receives(in) })
	run(func() { sendsLate(in) })
	run(func() { selects(a, b) })
	run(func() { sendsLate(b) })
	run(func() { locks(&mutex, go1, done) })
	run(func() { holds(&mutex, go1, done) })
	run(func() { reads(server) })
	run(func() { writesLate(client) })
	run(sleeper)
	all.Wait()
	if stay {
		fmt.Println("over")
		os.Stdin.Read(make([]byte, 1))
	}
}
