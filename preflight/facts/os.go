package facts

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"airgap.dev/airgap/internal/enterprise"
)

// OS is the operating system, from /etc/os-release.
type OS struct {
	ID      string   `yaml:"id" json:"id"`
	IDLike  []string `yaml:"idLike,omitempty" json:"idLike,omitempty"`
	Version string   `yaml:"version" json:"version"`
	Name    string   `yaml:"name" json:"name"` // for display
}

// AtLeast reports whether the minor version is at least minor. A version without a minor counts
// as the newest one.
func (o OS) AtLeast(minor int) bool {
	_, text, found := strings.Cut(o.Version, ".")
	have, err := strconv.Atoi(text)
	return !found || err == nil && have >= minor
}

// Enterprise is the Enterprise Linux major version: "el9"; "" for any other system. A system with
// only ID_LIKE="rhel" can have other packages.
func (o OS) Enterprise() string {
	return enterprise.Name(o.Version, o.ID)
}

func readOS(_ context.Context, r reader, f *Facts) error {
	text, err := r.text("etc/os-release")
	if err != nil {
		text, err = r.text("usr/lib/os-release")
	}
	if err != nil {
		return err
	}
	f.OS = parseOSRelease(text)
	if f.OS.ID == "" {
		return fmt.Errorf("read /etc/os-release: ID is missing")
	}
	return nil
}

// parseOSRelease reads the format of os-release(5).
func parseOSRelease(text string) OS {
	values := enterprise.Fields(text)
	return OS{ID: values["ID"], IDLike: strings.Fields(values["ID_LIKE"]), Version: values["VERSION_ID"], Name: values["PRETTY_NAME"]}
}
