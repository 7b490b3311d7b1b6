package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/e2e/bench"
	"airgap.dev/airgap/e2e/scenario"
)

// program is the airgap binary that `make build` makes, seen from this module.
const program = "../dist/airgap"

func prepareCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "prepare",
		Short: "Build what the scenarios need, once: upstream and the servers' disk",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := scenario.Prepare(cmd.Context(), cmd.ErrOrStderr())
			return err
		},
	}
}

func runCommand() *cobra.Command {
	var names []string
	for _, s := range scenario.All() {
		names = append(names, s.Name)
	}
	return &cobra.Command{
		Use:   "run [SCENARIO...]",
		Short: "Run scenarios: " + strings.Join(names, ", ") + "; all when none is named",
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, a := range args {
				if !slices.Contains(names, a) {
					return fmt.Errorf("no scenario %q; there are %s", a, strings.Join(names, ", "))
				}
			}
			var failed []error
			passed := 0
			for _, s := range scenario.All() {
				if len(args) > 0 && !slices.Contains(args, s.Name) {
					continue
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "=== %s: %s\n", s.Name, s.Title)
				if err := scenario.Run(cmd.Context(), s, program, cmd.ErrOrStderr(), false); err != nil {
					fmt.Fprintf(cmd.ErrOrStderr(), "FAIL %v\n", err)
					failed = append(failed, fmt.Errorf("scenario %s failed", s.Name))
					continue
				}
				passed++
			}
			fmt.Fprintf(os.Stdout, "%d passed, %d failed\n", passed, len(failed))
			return errors.Join(failed...)
		},
	}
}

func demoCommand() *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the main job on a terminal",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return scenario.Demo(cmd.Context(), program, cmd.ErrOrStderr(), keep)
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the servers up until Ctrl-C")
	return cmd
}

func benchCommand() *cobra.Command {
	var large int
	cmd := &cobra.Command{
		Use:   "bench [PART...]",
		Short: "Measure against limits and other tools, one line a figure",
		RunE: func(cmd *cobra.Command, only []string) error {
			if large > 0 {
				return bench.Large(cmd.Context(), program, large, cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			return bench.Run(cmd.Context(), program, only, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().IntVar(&large, "large", 0, "measure a bundle of so many GB instead, which wants that much disk")
	return cmd
}
