package hostrange

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Join writes the names of hosts in the order of the slice, and shortens names that differ only in a number:
// "node[001-016,044], db1". Numbers of different width are not combined, so Expand of each item gives the names back.
func Join(names []string) string {
	var groups []*hostGroup
	by := map[string]*hostGroup{}
	for _, name := range names {
		digits := len(name) - len(strings.TrimRight(name, "0123456789"))
		n, err := strconv.Atoi(name[len(name)-digits:])
		key := fmt.Sprintf("%s %d", name[:len(name)-digits], digits)
		if err != nil { // no number, or one that does not fit
			key = name
		}
		if by[key] == nil {
			by[key] = &hostGroup{prefix: name[:len(name)-digits], width: digits, first: name}
			groups = append(groups, by[key])
		}
		by[key].numbers = append(by[key].numbers, n)
	}
	var all []string
	for _, g := range groups {
		all = append(all, g.String())
	}
	return strings.Join(all, ", ")
}

// hostGroup has hosts with the same name before numbers of the same width.
type hostGroup struct {
	prefix  string
	first   string // the whole name of its first host
	width   int
	numbers []int
}

func (g hostGroup) String() string {
	slices.Sort(g.numbers)
	g.numbers = slices.Compact(g.numbers)
	if len(g.numbers) == 1 {
		return g.first
	}
	var ranges []string
	for i := 0; i < len(g.numbers); {
		end := i
		for end+1 < len(g.numbers) && g.numbers[end+1] == g.numbers[end]+1 {
			end++
		}
		one := fmt.Sprintf("%0*d", g.width, g.numbers[i])
		if end > i {
			one += fmt.Sprintf("-%0*d", g.width, g.numbers[end])
		}
		ranges, i = append(ranges, one), end+1
	}
	return g.prefix + "[" + strings.Join(ranges, ",") + "]"
}
