package host

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
)

// PlanFile describes the changes of WriteFile with the same arguments, for people;
// "" if the file is up to date.
func PlanFile(path string, data []byte, perm fs.FileMode) (string, error) {
	holds, err := FileMatches(path, data, perm)
	if err != nil || holds {
		return "", err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("write %s (new)", path), nil
	}
	return fmt.Sprintf("write %s (changed)", path), nil
}

// PlanFiles is PlanFile for several files, by path, in the order of paths.
func PlanFiles(files map[string][]byte, perm fs.FileMode) ([]string, error) {
	var changes []string
	for _, path := range slices.Sorted(maps.Keys(files)) {
		change, err := PlanFile(path, files[path], perm)
		if err != nil {
			return changes, err
		}
		if change != "" {
			changes = append(changes, change)
		}
	}
	return changes, nil
}
