package config

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing wrong with a configuration file.
type Problem struct {
	File         string `json:"file"`
	Line, Column int    // 1-based
	Path         string `json:"path"` // nodes[0].address
	Message      string `json:"message"`
}

func (p Problem) String() string {
	where := fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	if p.Path == "" {
		return where + ": " + p.Message
	}
	return where + ": " + p.Path + ": " + p.Message
}

// Problems is everything wrong with a file, in the order of its lines.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// dedup leaves one problem for a place: an inline credential in an unknown
// field is told once, as what it is.
func (ps Problems) dedup() Problems {
	seen := map[[2]int]bool{}
	return slices.DeleteFunc(ps, func(p Problem) bool {
		at := [2]int{p.Line, p.Column}
		again := seen[at]
		seen[at] = true
		return again
	})
}

// orNil sorts the problems; none at all is no error.
func (ps Problems) orNil() error {
	if len(ps) == 0 {
		return nil
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return ps
}
