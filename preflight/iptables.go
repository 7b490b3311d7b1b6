package preflight

import (
	"context"
	"regexp"
	"strings"
)

// Iptables is which of its two kinds the host's command is, and whether the older one is
// in use.
type Iptables struct {
	Backend string `yaml:"backend,omitempty" json:"backend,omitempty"` // "nf_tables" or "legacy"; "" where there is no iptables
	// Legacy are the tables that the older kind has in the kernel.
	Legacy []string `yaml:"legacy,flow,omitempty" json:"legacy,omitempty"`
}

var iptablesVersion = regexp.MustCompile(`^iptables v[0-9.]+ \((nf_tables|legacy)\)`)

// readIptables: a version without the kind in brackets is older than 1.8, and legacy.
func readIptables(ctx context.Context, r reader, f *Facts) error {
	for _, file := range []string{"proc/net/ip_tables_names", "proc/net/ip6_tables_names"} {
		text, err := r.optional(file) // there once the older kind's module is loaded
		if err != nil {
			return err
		}
		f.Iptables.Legacy = append(f.Iptables.Legacy, strings.Fields(text)...)
	}
	if !r.has("iptables") {
		return nil
	}
	out, err := r.output(ctx, "iptables", "--version")
	if err != nil {
		return err
	}
	f.Iptables.Backend = "legacy"
	if m := iptablesVersion.FindStringSubmatch(out); m != nil {
		f.Iptables.Backend = m[1]
	}
	return nil
}

var iptablesBackend = Check{
	ID: "iptables-backend", Title: "One kind of iptables", Source: "calico#3709; kubernetes-sigs/iptables-wrappers",
	Breaks: "Rules of the two kinds do not see each other: what one accepts, the other drops.",
	Needs:  []string{"iptables"}, Run: judgeIptables,
}

func judgeIptables(f *Facts, _ *Want) Result {
	switch {
	case f.Iptables.Backend == "legacy":
		return Result{Warn, "iptables is of the old kind (legacy)", "nf_tables, as Enterprise Linux has it",
			"alternatives --display iptables shows where it comes from; use the distribution's iptables-nft"}
	case len(f.Iptables.Legacy) > 0:
		return Result{Warn, "the kernel holds tables of the old kind: " + strings.Join(f.Iptables.Legacy, ", "), "rules of nf_tables alone",
			"find what made them (iptables-legacy-save), have it use nf_tables, then reboot"}
	case f.Iptables.Backend == "":
		return pass("none yet")
	default:
		return pass("%s", f.Iptables.Backend)
	}
}
