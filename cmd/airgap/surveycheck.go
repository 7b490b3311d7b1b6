package main

import (
	"errors"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle/survey"
	"airgap.dev/airgap/internal/advice"
)

func surveyCheckCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE...",
		Short: "List the facts that a survey lacks for a bundle",
		Long: `List the facts that are missing in surveys, and the part of the bundle that needs them.
FILE is the output of airgap survey or of its script. The command fails if a survey is not
enough for a bundle with the right packages. Preflight reads all other missing facts on
the server.`,
		Example: "  airgap survey check facts/*.facts.yaml\n  airgap survey check w1.facts.yaml --output json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return advice.Usagef("airgap survey check: expected at least one file with facts")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := survey.Check(cmd.Context(), args)
			if len(found) == 0 {
				return err
			}
			return errors.Join(a.print(found, found.Write), err)
		},
	}
}
