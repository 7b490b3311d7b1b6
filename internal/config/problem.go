package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

// Problem is one thing wrong with a configuration file.
type Problem struct {
	File         string `json:"file"`
	Line, Column int    // 1-based
	Path         string `json:"path"` // nodes[0].address
	Message      string `json:"message"`

	unknown bool // a field that does not exist
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

// sorted sorts the problems in the order of the file and keeps one for a
// field: an inline credential in an unknown field is reported once, as a credential.
func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Path, b.Path))
	})
	return slices.CompactFunc(ps, func(a, b Problem) bool {
		return a.Line == b.Line && a.Column == b.Column && a.Path == b.Path
	})
}

// Advise adds the next step to an error of Load. Problems of the file itself are usage errors
// (advice.IsUsage).
func Advise(err error) error {
	if problems, is := errors.AsType[Problems](err); is {
		return advice.Add(advice.Usage(fmt.Errorf("%s in the configuration\n%w", ui.Count(len(problems), "problem"), err)), "airgap bundle --help shows the smallest file, airgap schema lists the fields")
	}
	return advice.Add(err, "name the configuration with -f; airgap bundle --help shows the smallest one")
}
