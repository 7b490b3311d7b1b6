package facts

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
