package nextboot

import (
	"math"
	"strconv"
	"strings"
)

// Pages are the huge pages that the kernel reserves at boot.
type Pages struct {
	usual  int64           // bytes of a page of the default size
	number map[int64]int64 // by size
	source string          // the last parameter or sysctl
	sysctl bool
}

// HugePages reads the parameters of a command line. usual is the default size of a page, which a
// parameter can change.
func HugePages(cmdline string, usual int64) *Pages {
	if size, ok := Bytes(Last(cmdline, "default_hugepagesz").Value); ok && size > 0 {
		usual = size
	}
	pages := &Pages{usual: usual, number: map[int64]int64{}}
	size := usual
	for _, p := range Parameters(cmdline) {
		switch p.Name {
		case "hugepagesz", "default_hugepagesz":
			size, _ = Bytes(p.Value)
		case "hugepages":
			pages.number[size], pages.source = countPages(p.Value), p.Text
		}
	}
	return pages
}

// Set replaces the number of pages of the default size by that of vm.nr_hugepages. Other text than a
// number changes nothing.
func (p *Pages) Set(number, source string) {
	if n, err := strconv.ParseInt(number, 10, 32); err == nil && n >= 0 {
		p.number[p.usual], p.source, p.sysctl = n, source, true
	}
}

// Bytes are all reserved bytes, and the source; from is the place of the command line.
func (p *Pages) Bytes(from string) (total int64, source string) {
	source = p.source
	if !p.sysctl {
		source += " in " + from
	}
	for size, n := range p.number {
		if size > 0 && (n > math.MaxInt64/size || total > math.MaxInt64-n*size) {
			return math.MaxInt64, source
		}
		total += n * size
	}
	return total, source
}

// countPages parses a number of pages, or one per NUMA node: "0:512,1:512".
func countPages(text string) (total int64) {
	for part := range strings.SplitSeq(text, ",") {
		_, number, perNode := strings.Cut(part, ":")
		if !perNode {
			number = part
		}
		n, _ := strconv.ParseInt(number, 10, 32)
		total += max(0, n)
	}
	return total
}
