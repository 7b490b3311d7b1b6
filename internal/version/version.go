// Package version has the version and the commit of this program.
package version

import (
	"fmt"
	"runtime/debug"
	"strconv"
	"time"
)

// release and committed, the time of the commit in seconds since 1970, are
// stamped by the Makefile; a plain `go build` has neither.
var release, committed string //nolint:gochecknoglobals // the linker's -X needs package variables

// String is the release, or the module version of a plain build.
func String() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "devel"
}

// CommitTime is when the commit was made that this program was built from; zero
// for a plain build.
func CommitTime() (time.Time, error) {
	if committed == "" {
		return time.Time{}, nil
	}
	seconds, err := strconv.ParseInt(committed, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the time of this program's commit, by SOURCE_DATE_EPOCH when it was built: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
