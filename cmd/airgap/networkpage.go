package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/measure"
	"airgap.dev/airgap/docs"
)

func netprobePageCommand(a *app) *cobra.Command {
	var file, language string
	cmd := &cobra.Command{
		Use:   "page -f airgap.yaml",
		Short: "Write the network requirements of the cluster, for the network team",
		Long: `List the connections in the cluster of airgap.yaml: source, destination, port and
protocol. Firewalls between the servers must allow them. Nothing is measured, so the page
can be written long before the installation. --language ko writes it in Korean.

On the servers, --network-page of airgap preflight --all-hosts or airgap netprobe listen
writes the same page with the measurements and the required changes.`,
		Example: "  airgap netprobe page -f airgap.yaml --output html > network.html\n  airgap netprobe page --language ko --output html > network.ko.html",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			page, err := measure.Page(file, language)
			if err != nil {
				return err
			}
			return a.printReport(page, reportWriters{text: page.Text, html: page.HTML})
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "airgap.yaml", "configuration file")
	cmd.Flags().StringVar(&language, "language", string(docs.English), "language of the page: en or ko")
	return withFormats(cmd, asText, asJSON, asYAML, asHTML)
}

// pageFlag adds --network-page to a command that measures the network.
func pageFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "network-page", "", "HTML file to write for the network team: connections, measurements, required changes")
}
