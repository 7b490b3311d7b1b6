package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/internal/config"
)

func schemaCommand(a *app) *cobra.Command {
	return withFormats(&cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of airgap.yaml",
		Long: `Print the JSON schema of airgap.yaml, for completion and validation in editors. Editors
with yaml-language-server read it through this line in airgap.yaml:

  # yaml-language-server: $schema=airgap.schema.json`,
		Example: "  airgap schema > airgap.schema.json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			data, err := config.Schema()
			if err != nil {
				return err
			}
			_, err = a.stdout.Write(append(data, '\n'))
			return err
		},
	}, asText, asJSON)
}
