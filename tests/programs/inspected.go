// SPDX-License-Identifier: Apache-2.0

// Calls functions for stackcam inspect: with panics, stacks that grow, and goroutines that change threads.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

type Order struct {
	ID       int
	Customer string
	password string
	Next     *Order
}

type Failure struct{ code int }

func (f *Failure) Error() string { return "failure " + strconv.Itoa(f.code) }

//go:noinline
func panics(n int) int {
	if n%2 == 0 {
		panic("even")
	}
	return n + 1
}

//go:noinline
func recovers(n int) (r int) {
	defer func() {
		if recover() != nil {
			r = -1
		}
	}()
	return panics(n)
}

//go:noinline
func grows(n int) int {
	var pad [1024]byte
	pad[n%1024] = 1
	if n == 0 {
		return int(pad[0])
	}
	return grows(n-1) + int(pad[n%1024])
}

//go:noinline
func waits(n int) int {
	time.Sleep(time.Millisecond)
	return -n
}

//go:noinline
func handle(o *Order, tag string, token string) (int, error) {
	if o.ID%10 == 9 {
		return 0, &Failure{o.ID}
	}
	return o.ID * 2, nil
}

func main() {
	rounds, _ := strconv.Atoi(os.Args[1])
	done := make(chan int)
	for i := 0; i < rounds; i++ {
		recovers(i)
		handle(&Order{i, "customer" + strconv.Itoa(i%3), "hidden", nil}, "t"+strconv.Itoa(i%2), "hidden")
		for k := 0; k < 4; k++ {
			go func(k int) { done <- grows(10*k) + waits(i) }(k)
		}
		for k := 0; k < 4; k++ {
			<-done
		}
	}
	fmt.Println("done", rounds)
}
