// Package hostrange expands the ranges in names and addresses of hosts: node[001-100].
package hostrange

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Max is the number of hosts in a list, as of nodes in a Kubernetes cluster.
const Max = 5000

// maxName is more than the part of a name or an address outside of its ranges needs.
const maxName = 300

// Has reports whether a text has a range, or the beginning of one.
func Has(text string) bool { return strings.ContainsAny(text, "[]") }

// Expand returns the texts for a text with at most one range, or the text itself. A range has
// numbers and spans of numbers: node[001-040,042].
func Expand(text string) ([]string, error) {
	if strings.Count(text, "[") > 1 {
		return nil, fmt.Errorf("%.60q has two ranges: want one, such as node[001-100]; write an item for each rack", text)
	}
	return expand(text, func(inside string) ([]string, error) {
		var all []string
		for span := range strings.SplitSeq(inside, ",") {
			first, last, is := strings.Cut(span, "-")
			if !is {
				last = first
			}
			numbers, err := count(first, last, 1)
			if err != nil || len(all)+len(numbers) > Max {
				return nil, fmt.Errorf("[%.60s] is not a range of at most %d numbers: want FIRST-LAST of the same width such as [001-100], or several such as [1-40,42]", inside, Max)
			}
			all = append(all, numbers...)
		}
		return all, nil
	})
}

// ExpandAnsible returns the texts for a text with ranges in the form of Ansible: node[01:50],
// node[01:50:2], rack[a:f]n[1:4].
func ExpandAnsible(text string) ([]string, error) {
	return expand(text, func(inside string) ([]string, error) {
		wrong := fmt.Errorf("[%.60s] is not a range of at most %d hosts: want FIRST:LAST of the same width such as [001:100], FIRST:LAST:STEP, or letters such as [a:f]", inside, Max)
		parts, step := strings.Split(inside, ":"), 1
		if len(parts) == 3 {
			n, err := strconv.Atoi(parts[2])
			if err != nil || n < 1 || n > Max {
				return nil, wrong
			}
			step, parts = n, parts[:2]
		}
		if len(parts) != 2 {
			return nil, wrong
		}
		count := count
		if isLetter(parts[0]) && isLetter(parts[1]) {
			count = countLetters
		}
		all, err := count(parts[0], parts[1], step)
		if err != nil {
			return nil, wrong
		}
		return all, nil
	})
}

// expand replaces each range of a text, the first one slowest.
func expand(text string, values func(inside string) ([]string, error)) ([]string, error) {
	all, outside := []string{""}, 0
	for rest := text; ; {
		before, after, is := strings.Cut(rest, "[")
		inside, tail, closed := strings.Cut(after, "]")
		if strings.Contains(before, "]") || is && (!closed || strings.Contains(inside, "[")) {
			return nil, fmt.Errorf("%.60q has a bracket without its pair", text)
		}
		if !is {
			return combine(all, []string{before}), nil
		}
		if outside += len(before); outside+len(tail) > maxName {
			return nil, fmt.Errorf("%.60q is too long for a name or an address", text)
		}
		some, err := values(inside)
		if err != nil {
			return nil, err
		}
		if len(all)*len(some) > Max {
			return nil, fmt.Errorf("%.60q stands for more than %d hosts", text, Max)
		}
		all, rest = combine(combine(all, []string{before}), some), tail
	}
}

func combine(heads, tails []string) []string {
	all := make([]string, 0, len(heads)*len(tails))
	for _, h := range heads {
		for _, t := range tails {
			all = append(all, h+t)
		}
	}
	return all
}

var errNoRange = fmt.Errorf("not a range")

// count returns the numbers from first to last. The width of first is that of all if it begins with 0.
func count(first, last string, step int) ([]string, error) {
	from, to := number(first), number(last)
	padded := len(first) > 1 && first[0] == '0' || len(last) > 1 && last[0] == '0'
	if from < 0 || to < from || (to-from)/step >= Max || padded && len(first) != len(last) {
		return nil, errNoRange
	}
	var all []string
	for n := from; n <= to; n += step {
		all = append(all, fmt.Sprintf("%0*d", len(first), n))
	}
	return all, nil
}

// number is a text of at most nine digits; -1 if it is none.
func number(text string) int {
	if text == "" || len(text) > 9 || strings.Trim(text, "0123456789") != "" {
		return -1
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

const letters = "abcdefghijklmnopqrstuvwxyz"

func isLetter(text string) bool { return len(text) == 1 && strings.Contains(letters, text) }

func countLetters(first, last string, step int) ([]string, error) {
	all := strings.Split(letters, "")
	from, to := slices.Index(all, first), slices.Index(all, last)
	if to < from {
		return nil, errNoRange
	}
	var some []string
	for n := from; n <= to; n += step {
		some = append(some, all[n])
	}
	return some, nil
}
