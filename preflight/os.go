package preflight

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"airgap.dev/airgap/internal/enterprise"
)

// OS is the operating system as /etc/os-release names it.
type OS struct {
	ID      string   `yaml:"id" json:"id"`
	IDLike  []string `yaml:"idLike,omitempty" json:"idLike,omitempty"`
	Version string   `yaml:"version" json:"version"`
	Name    string   `yaml:"name" json:"name"` // for people
}

// atLeast judges a system by its version within its major; what only says its major is the
// newest of it.
func (o OS) atLeast(minor int) bool {
	_, text, found := strings.Cut(o.Version, ".")
	have, err := strconv.Atoi(text)
	return !found || err == nil && have >= minor
}

// Enterprise names the Enterprise Linux major: "el9"; "" for anything else. A system that
// only says ID_LIKE="rhel" may have other packages.
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
		return fmt.Errorf("read /etc/os-release: no ID in it")
	}
	return nil
}

// parseOSRelease reads the shell-like assignments of os-release(5).
func parseOSRelease(text string) OS {
	values := enterprise.Fields(text)
	return OS{ID: values["ID"], IDLike: strings.Fields(values["ID_LIKE"]), Version: values["VERSION_ID"], Name: values["PRETTY_NAME"]}
}

var osSupported = Check{
	ID: "os-supported", Title: "Operating system", Source: "airgap: RPMs of Enterprise Linux 8 to 10",
	Breaks: "The bundle's packages are built for another system.",
	Needs:  []string{"os"}, Run: judgeOS,
}

func judgeOS(f *Facts, w *Want) Result {
	el := f.OS.Enterprise()
	found := fmt.Sprintf("%s (%s %s)", f.OS.Name, f.OS.ID, f.OS.Version)
	switch {
	case enterprise.Of(el) == enterprise.Release{}:
		return Result{Fail, found, "RHEL, Rocky Linux, AlmaLinux, Oracle Linux, Navix, MIRACLE LINUX or CentOS Stream 8, 9 or 10", "use a supported operating system"}
	case w.OS != "" && w.OS != el:
		return Result{Fail, found, w.OS + ", which the bundle was made for", "make a bundle with packages.os: " + el}
	default:
		return pass("%s", found)
	}
}
