package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
)

// renewal is the result of registry renew.
type renewal struct {
	Renewed bool      `json:"renewed"`
	Ends    time.Time `json:"ends"` // of the certificate that is there now
}

func (a *app) registryRenew() *cobra.Command {
	pki := trust.PKI{Group: site.ServiceGroup}
	cmd := &cobra.Command{
		Use:   "renew",
		Short: "Renew the registry's certificate when it ends within 30 days; what " + registry.RenewTimer + " runs",
		Long: `Issues the certificate of this host's registry anew when it ends within 30 days, for
the same names, by the authority whose key is on every control-plane host. The
registry serves it from the next connection on. ` + registry.RenewTimer + ` does
this every day.`,
		Example: "  airgap registry renew\n  airgap registry renew --output json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			renewed, ends, err := pki.Renew(time.Now())
			if err != nil {
				return err
			}
			return a.print(renewal{renewed, ends}, func(w io.Writer) error {
				what := "is"
				if renewed {
					what = "was renewed and is"
				}
				_, err := fmt.Fprintf(w, "the registry's certificate %s good until %s\n", what, ends.Format(time.DateOnly))
				return err
			})
		},
	}
	cmd.Flags().StringVar(&pki.Dir, "pki", site.PKIDir, "directory of the certificates and of the authority's key")
	return cmd
}
