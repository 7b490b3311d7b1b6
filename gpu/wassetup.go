package gpu

import "strings"

// WasSetUp tells whether steps of this package have changed the host, and nothing has
// taken that back.
func (s Setup) WasSetUp() bool {
	for _, file := range []string{modulesFile, nouveauUndo, runfileUndo, unitsUndo, migUndo, cdiUndo, runtimeUndo} {
		if s.has(strings.TrimPrefix(file, "/")) {
			return true
		}
	}
	return false
}
