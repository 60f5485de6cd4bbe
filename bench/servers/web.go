// SPDX-License-Identifier: Apache-2.0

// A web server in Go. Each answer is parsed, priced and rendered. Its second argument may be a file: then it profiles
// itself, from its third second on, for as many seconds as the third one says.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"runtime/pprof"
	"sort"
	"strconv"
	"strings"
	"time"
)

type row struct {
	ID    int     `json:"id"`
	Name  string  `json:"name"`
	Price float64 `json:"price"`
}

var order []byte

//go:noinline
func parseOrder(text []byte) []row {
	var rows []row
	if err := json.Unmarshal(text, &rows); err != nil {
		panic(err)
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].Name < rows[j].Name })
	return rows
}

//go:noinline
func discount(r row, level int) float64 {
	if level == 0 {
		return r.Price
	}
	return discount(r, level-1) * 0.99
}

//go:noinline
func priceRows(rows []row) []row {
	for i := range rows {
		rows[i].Price = discount(rows[i], 8)
	}
	return rows
}

//go:noinline
func renderPage(rows []row) string {
	var page strings.Builder
	page.WriteString("<ul>")
	for _, r := range rows {
		fmt.Fprintf(&page, "<li>%s: %.2f</li>\n", strings.ToUpper(r.Name), r.Price)
	}
	page.WriteString("</ul>")
	return page.String()
}

func profile(path string, seconds int) {
	time.Sleep(2 * time.Second)
	file, err := os.Create(path)
	if err != nil {
		panic(err)
	}
	pprof.StartCPUProfile(file)
	time.Sleep(time.Duration(seconds) * time.Second)
	pprof.StopCPUProfile()
	file.Close()
}

func main() {
	rows := make([]row, 0, 400)
	for i := 0; i < 400; i++ {
		rows = append(rows, row{i, fmt.Sprintf("part %d", i*7919%211), float64(i * 13 % 97)})
	}
	order, _ = json.Marshal(rows)
	if len(os.Args) > 3 {
		seconds, _ := strconv.Atoi(os.Args[3])
		go profile(os.Args[2], seconds)
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, renderPage(priceRows(parseOrder(order))))
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
