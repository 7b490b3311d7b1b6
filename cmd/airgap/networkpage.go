package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/measure"
)

func netprobePageCommand(a *app) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "page -f airgap.yaml",
		Short: "Write down what the network has to carry, for its owners",
		Long: `Says of the cluster of airgap.yaml who talks to whom, on which port and by which
protocol: the rules that firewalls between the servers have to have. Nothing is
measured, so it can be handed over long before the visit. On the servers
--network-page of airgap preflight --all-hosts, or of airgap netprobe listen, writes
the same page with what was measured and what has to be changed.`,
		Example: "  airgap netprobe page -f airgap.yaml --output html > network.html",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			page, err := measure.Page(file)
			if err != nil {
				return err
			}
			return a.printReport(page, forms{text: page.Text, html: page.HTML})
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "airgap.yaml", "configuration")
	return gives(cmd, asText, asJSON, asYAML, asHTML)
}

// pageFlag is where a command that measures writes the page.
func pageFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "network-page", "", "file to write for the network's owners, as HTML: who talks to whom, what was measured, what has to be changed")
}
