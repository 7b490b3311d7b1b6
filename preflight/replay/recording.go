package replay

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

// Recording reads the recording NAME.txtar of a directory. If its comment begins with "based on: OTHER",
// its sections replace those of the recording OTHER.
func Recording(dir fs.FS, name string) ([]byte, error) {
	data, err := fs.ReadFile(dir, name+".txtar")
	if err != nil {
		return nil, fmt.Errorf("read a recorded host: %w", err)
	}
	archive := txtar.Parse(data)
	base, is := strings.CutPrefix(string(archive.Comment), "based on: ")
	archive.Comment = nil
	if !is {
		return txtar.Format(archive), nil
	}
	base, _, _ = strings.Cut(base, "\n")
	below, err := Recording(dir, base)
	return slices.Concat(below, txtar.Format(archive)), err
}
