package client

import (
	"fmt"
	"io"
	"strings"
)

// Write writes the result as a table.
func (r *Result) Write(w io.Writer) error {
	var b strings.Builder
	for i, t := range r.Targets {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s %s\n", t.Kind, t.Address)
		for _, test := range t.Tests {
			fmt.Fprintf(&b, "  %-6s  %-10s  %s\n", test.State, test.Test, test.Found)
			if test.Fix != "" && test.State != OK {
				fmt.Fprintf(&b, "  %-6s  %-10s  fix: %s\n", "", "", test.Fix)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
