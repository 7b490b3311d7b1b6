package hostrange

import (
	"fmt"
	"slices"
	"strings"
)

// Join writes the names of hosts in the order of the slice, and shortens names that differ only in a number:
// "node[001-016,044], db[1-2].bank.example". Numbers of different width are not combined, so Expand of each item gives the names back.
func Join(names []string) string {
	var groups []*hostGroup
	by := map[string]*hostGroup{}
	for _, name := range names {
		prefix, digits, suffix := split(name)
		n := number(digits)
		key := fmt.Sprintf("%s %d %s", prefix, len(digits), suffix)
		if n < 0 { // no number, or one that Expand does not take
			key = name
		}
		if by[key] == nil {
			by[key] = &hostGroup{prefix: prefix, suffix: suffix, width: len(digits), first: name}
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

// split returns the number of a name with the text around it: the number at the end, or else the last one of the host
// name, before its domain.
func split(name string) (prefix, digits, suffix string) {
	const all = "0123456789"
	head := strings.TrimRight(name, all)
	if head == name {
		label, _, _ := strings.Cut(name, ".")
		end := strings.LastIndexAny(label, all) + 1
		name, suffix = name[:end], name[end:]
		head = strings.TrimRight(name, all)
	}
	return head, name[len(head):], suffix
}

// hostGroup has hosts with the same name around numbers of the same width.
type hostGroup struct {
	prefix  string
	suffix  string
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
	return g.prefix + "[" + strings.Join(ranges, ",") + "]" + g.suffix
}
