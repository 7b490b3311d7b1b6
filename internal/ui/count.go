package ui

import "strconv"

// Count counts things: 1 problem, 2 problems.
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
