package main

import (
	"cmp"
	"os"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/measure"
	"airgap.dev/airgap/docs"
	"airgap.dev/airgap/internal/advice"
)

func netprobePageCommand(a *app) *cobra.Command {
	var file, language string
	cmd := &cobra.Command{
		Use:   "page -f airgap.yaml",
		Short: "Write the network requirements of the cluster, for the network team",
		Long: `List the connections in the cluster of airgap.yaml: source, destination, port and
protocol. Firewalls between the servers must allow them. Nothing is measured, so the page
can be written long before the installation. It is in Korean with --language ko or in a
Korean locale, as airgap docs.

On the servers, --network-page of airgap preflight --all-hosts or airgap netprobe listen
writes the same page with the measurements and the required changes, in the
same languages.`,
		Example: "  airgap netprobe page -f airgap.yaml --output html > network.html\n  airgap netprobe page --language ko --output html > network.ko.html",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			page, err := measure.Page(file, pageLanguage(language))
			if err != nil {
				return err
			}
			return a.printReport(page, reportWriters{text: page.Text, html: page.HTML})
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "airgap.yaml", "configuration file")
	languageFlag(cmd, &language, "the page")
	return withFormats(cmd, asText, asJSON, asYAML, asHTML)
}

// pageFlags adds --network-page and --language to a command that measures the network.
func pageFlags(cmd *cobra.Command, page *measure.File) {
	cmd.Flags().StringVar(&page.Path, "network-page", "", "HTML file to write for the network team: connections, measurements, required changes")
	languageFlag(cmd, &page.Language, "the page of --network-page")
}

func languageFlag(cmd *cobra.Command, language *string, of string) {
	cmd.Flags().StringVar(language, "language", "", "language of "+of+": en or ko; default: from LC_ALL, LC_MESSAGES or LANG")
}

// pageLanguage is the selected language, or that of the locale.
func pageLanguage(selected string) string {
	return cmp.Or(selected, string(docs.EnvLanguage(os.Getenv)))
}

// checkPage refuses a language without a page, and sets the language of the locale if none is selected.
func checkPage(cmd *cobra.Command, page *measure.File) error {
	if page.Path == "" && cmd.Flags().Changed("language") {
		return advice.Usagef("%s: --language requires --network-page", cmd.CommandPath())
	}
	page.Language = pageLanguage(page.Language)
	return nil
}
