package gpu

import "strings"

// WasSetUp reports whether steps of this package have changed the host and their undo has not run.
func (s Setup) WasSetUp() bool {
	for _, file := range []string{modulesFile, nouveauUndo, runfileUndo, unitsUndo, migUndo, cdiUndo, runtimeUndo} {
		if s.has(strings.TrimPrefix(file, "/")) {
			return true
		}
	}
	return false
}
