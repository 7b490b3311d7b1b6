package survey

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle/plan"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight/facts"
)

// need is a use of facts on the connected host.
type need struct {
	facts    []string
	purpose  string
	required bool // the bundle cannot be right without them
}

func needs() []need {
	return []need{
		{[]string{"os", "packages", "streams"}, "the selection of packages", true},
		{[]string{"kernel", "cgroup"}, "the versions of Kubernetes and of the runtime", true},
		{[]string{"pci", "secureBoot", "nextKernel"}, "the driver of NVIDIA GPUs", false},
		{[]string{"runfile", "brought"}, "the packages of an earlier bundle or of NVIDIA's installer", false},
		{[]string{"units"}, "the warning about fapolicyd", false},
		{[]string{"cryptoPolicy", "security"}, "the signatures of packages that rpm accepts", false},
		{[]string{facts.DNFVariablesFact}, "the addresses of package repositories", false},
		{[]string{"filesystems", "usb", "media"}, "the warnings about the USB drive", false},
		{[]string{"identity", "links"}, "the warning about cloned servers", false},
	}
}

// Checked is the result for one file with facts.
type Checked struct {
	File     string    `json:"file"`
	Host     string    `json:"host"`
	Redacted bool      `json:"redacted"`
	Enough   bool      `json:"enough"` // for a bundle with the right packages
	Missing  []Missing `json:"missing,omitempty"`
	// Later is the number of other facts that are missing: preflight reads them on the server.
	Later int `json:"later"`
}

// Missing are facts that a part of the bundle needs.
type Missing struct {
	Facts    []string `json:"facts"`
	For      string   `json:"for"`
	Reasons  []string `json:"reasons"`
	Required bool     `json:"required"`
}

// Checks are the results for several files.
type Checks []Checked

// Check reports which facts are missing in files with facts, and for which part of the bundle.
// With an error it also returns the results.
func Check(ctx context.Context, files []string) (Checks, error) {
	all := Checks{}
	var short []string
	for _, file := range files {
		f, err := plan.LoadFacts(ctx, file)
		if err != nil {
			return all, err
		}
		one := check(file, f)
		if !one.Enough {
			short = append(short, file)
		}
		all = append(all, one)
	}
	if len(short) > 0 {
		return all, advice.Add(fmt.Errorf("check facts: not enough for a bundle: %s", strings.Join(short, ", ")), "run airgap survey as root on these servers again; with --redact it keeps the facts that a bundle needs")
	}
	return all, nil
}

func check(file string, f *facts.Facts) Checked {
	c := Checked{File: file, Host: f.Host, Enough: true}
	c.Redacted = slices.ContainsFunc(f.Unknown, func(u facts.Unknown) bool { return u.Reason == Redacted })
	missing := map[string][]string{} // the reasons by fact
	for _, name := range f.NotSurveyed(facts.Names()...) {
		missing[name] = []string{"its survey is from an older airgap"}
	}
	for _, u := range f.Unknown {
		missing[u.Fact] = append(missing[u.Fact], u.Reason)
	}
	if len(f.Packages) == 0 && missing["packages"] == nil {
		missing["packages"] = []string{"the file has no packages"}
	}
	for _, n := range needs() {
		m := Missing{For: n.purpose, Required: n.required}
		for _, name := range n.facts {
			if reasons, is := missing[name]; is {
				m.Facts, m.Reasons = append(m.Facts, name), append(m.Reasons, reasons...)
				delete(missing, name)
			}
		}
		if len(m.Facts) > 0 {
			slices.Sort(m.Reasons)
			m.Reasons = slices.Compact(m.Reasons)
			c.Missing, c.Enough = append(c.Missing, m), c.Enough && !n.required
		}
	}
	c.Later = len(missing)
	return c
}

// Write prints one paragraph for each file.
func (all Checks) Write(w io.Writer) error {
	var errs []error
	for _, c := range all {
		state := "enough for a bundle"
		if !c.Enough {
			state = "not enough for a bundle"
		}
		if c.Redacted {
			state += ", redacted"
		}
		_, err := fmt.Fprintf(w, "%s (%s): %s\n", c.File, c.Host, state)
		errs = append(errs, err)
		for _, m := range c.Missing {
			_, err := fmt.Fprintf(w, "  missing: %s, for %s: %s\n", strings.Join(m.Facts, ", "), m.For, strings.Join(m.Reasons, "; "))
			errs = append(errs, err)
		}
		if c.Later > 0 {
			_, err := fmt.Fprintf(w, "  %s more: preflight reads them on the server\n", ui.Count(c.Later, "missing fact"))
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
