package preflight

import (
	"context"
	"regexp"
	"strings"
)

// Iptables is the backend of the host's iptables command, and the use of the legacy backend.
type Iptables struct {
	Backend string `yaml:"backend,omitempty" json:"backend,omitempty"` // "nf_tables" or "legacy"; "" without iptables
	// Legacy are the tables of the legacy backend in the kernel.
	Legacy []string `yaml:"legacy,flow,omitempty" json:"legacy,omitempty"`
}

var iptablesVersion = regexp.MustCompile(`^iptables v[0-9.]+ \((nf_tables|legacy)\)`)

// readIptables treats a version without a backend in parentheses as legacy: it is older than 1.8.
func readIptables(ctx context.Context, r reader, f *Facts) error {
	for _, file := range []string{"proc/net/ip_tables_names", "proc/net/ip6_tables_names"} {
		text, err := r.optional(file) // exists if the module of the legacy backend is loaded
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
	ID: "iptables-backend", Title: "Only the nf_tables backend of iptables is in use", Source: "calico#3709; kubernetes-sigs/iptables-wrappers",
	Breaks: "The two backends do not see each other's rules: one drops packets that the other accepts.",
	Needs:  []string{"iptables"}, Run: judgeIptables,
}

func judgeIptables(f *Facts, _ *Want) Result {
	switch {
	case f.Iptables.Backend == "legacy":
		return Result{Warn, "iptables uses the legacy backend", "nf_tables, as in Enterprise Linux",
			"find its package with alternatives --display iptables; use the distribution's iptables-nft"}
	case len(f.Iptables.Legacy) > 0:
		return Result{Warn, "the kernel has tables of the legacy backend: " + strings.Join(f.Iptables.Legacy, ", "), "only nf_tables rules",
			"find the program that created them (iptables-legacy-save lists the rules), switch it to nf_tables, then reboot"}
	case f.Iptables.Backend == "":
		return pass("no iptables yet")
	default:
		return pass("%s", f.Iptables.Backend)
	}
}
