package ui

import (
	"os"

	"golang.org/x/term"
)

// Width returns the columns of a terminal, or otherwise for a file that is not a terminal.
func Width(f *os.File, otherwise int) int {
	if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
		return columns
	}
	return otherwise
}
