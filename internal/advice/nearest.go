package advice

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

const (
	maxTyped  = 64 // longer names are no typing mistakes, and cost time
	minPrefix = 3  // a shorter prefix fits too many names
)

// DidYouMean suggests the known name that is nearest to a mistyped one, or the only one that
// begins with it: `; did you mean "swap"?`, or nothing.
func DidYouMean(typed string, known []string) string {
	near := Nearest(typed, known)
	if near == "" {
		near = completed(typed, known)
	}
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", near)
}

// Nearest is the name that a misspelt one most likely stands for; "" where none
// is near enough. Names with other digits are other names: w1 is not a misspelt w2.
func Nearest(name string, known []string) string {
	if len(name) > maxTyped {
		return ""
	}
	typed, best := []rune(strings.ToLower(name)), ""
	least := limit(len(typed)) + 1
	for _, candidate := range slices.Sorted(slices.Values(known)) {
		lower := []rune(strings.ToLower(candidate))
		if len(lower) >= len(typed)+least || len(typed) >= len(lower)+least || digits(typed) != digits(lower) {
			continue
		}
		if d := distance(typed, lower); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// limit is the largest number of mistakes in a name with n letters: with more, most
// suggestions are nonsense.
func limit(n int) int {
	switch {
	case n < minPrefix:
		return 0
	case n < 5:
		return 1
	default:
		return max(2, n/3)
	}
}

func digits(name []rune) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return r
		}
		return -1
	}, string(name))
}

// completed is the only known name that begins with typed, or "".
func completed(typed string, known []string) string {
	var found []string
	for _, candidate := range known {
		if len(typed) >= minPrefix && strings.HasPrefix(strings.ToLower(candidate), strings.ToLower(typed)) {
			found = append(found, candidate)
		}
	}
	slices.Sort(found)
	if found = slices.Compact(found); len(found) != 1 {
		return ""
	}
	return found[0]
}

// distance counts the letters to insert, remove, replace, or swap with their neighbour
// (Damerau and Levenshtein, optimal string alignment).
func distance(a, b []rune) int {
	before, above := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := range a {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range b {
			replaced := above[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above = above, row
	}
	return above[len(b)]
}
