package advice

import (
	"slices"
	"strings"
)

// Nearest is the name that a misspelt one most likely stands for; "" where none
// is near enough.
func Nearest(name string, known []string) string {
	best, least := "", len(name)/3+1
	for _, candidate := range slices.Sorted(slices.Values(known)) {
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d < least || d == least && best == "" {
			best, least = candidate, d
		}
	}
	return best
}

// distance counts the letters to insert, remove or replace (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
