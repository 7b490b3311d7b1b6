package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/e2e/bench"
	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/scenarios"
)

// program is the airgap binary from `make build`, relative to this module.
const program = "../dist/airgap"

func prepareCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "prepare",
		Short: "Build the upstream and the servers' disk image for the scenarios, once",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := scenario.Prepare(cmd.Context(), cmd.ErrOrStderr())
			return err
		},
	}
}

func runCommand() *cobra.Command {
	var hosts string
	cmd := &cobra.Command{
		Use:   "run [SCENARIO...]",
		Short: "Run scenarios: " + strings.Join(names(), ", ") + "; default: all",
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := chosen(args)
			if err != nil {
				return err
			}
			if hosts != "" {
				return runOnHosts(cmd, hosts, chosen, len(args) > 0)
			}
			return runEach(cmd, chosen, func(s scenario.Scenario) error {
				return scenario.Run(cmd.Context(), s, program, cmd.ErrOrStderr(), false)
			})
		},
	}
	cmd.Flags().StringVar(&hosts, "hosts", "", hostsHelp)
	return cmd
}

const hostsHelp = "on the hosts in this `FILE`, through SSH (lab/README.md)"

func names() []string {
	var all []string
	for _, s := range scenarios.All() {
		all = append(all, s.Name)
	}
	return all
}

// chosen returns the scenarios in args, or all.
func chosen(args []string) ([]scenario.Scenario, error) {
	for _, a := range args {
		if !slices.Contains(names(), a) {
			return nil, fmt.Errorf("unknown scenario %q; choose from %s", a, strings.Join(names(), ", "))
		}
	}
	return slices.DeleteFunc(scenarios.All(), func(s scenario.Scenario) bool {
		return len(args) > 0 && !slices.Contains(args, s.Name)
	}), nil
}

// runOnHosts runs the scenarios that do not need the lab. If named is set, it returns an
// error before it starts if one of them needs the lab. Else it prints and skips them.
func runOnHosts(cmd *cobra.Command, file string, chosen []scenario.Scenario, named bool) error {
	var can []scenario.Scenario
	var cannot []error
	for _, s := range chosen {
		if err := s.Elsewhere(); err != nil {
			cannot = append(cannot, err)
			continue
		}
		can = append(can, s)
	}
	why := errors.Join(cannot...)
	if named && why != nil {
		return why
	}
	hosts, err := lab.ReadHosts(file)
	if err != nil {
		return err
	}
	if why != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), why)
	}
	return runEach(cmd, can, func(s scenario.Scenario) error {
		return scenario.RunOnHosts(cmd.Context(), s, hosts, program, cmd.ErrOrStderr())
	})
}

func runEach(cmd *cobra.Command, all []scenario.Scenario, run func(scenario.Scenario) error) error {
	var failed []error
	for _, s := range all {
		fmt.Fprintf(cmd.ErrOrStderr(), "=== %s: %s\n", s.Name, s.Title)
		if err := run(s); err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "FAIL %v\n", err)
			failed = append(failed, fmt.Errorf("scenario %s failed", s.Name))
		}
	}
	fmt.Fprintf(os.Stdout, "%d passed, %d failed\n", len(all)-len(failed), len(failed))
	return errors.Join(failed...)
}

func demoCommand() *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show an installation on a terminal",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return scenario.Demo(cmd.Context(), program, cmd.ErrOrStderr(), keep)
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the servers running until Ctrl-C")
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
	cmd.Flags().IntVar(&large, "large", 0, "instead measure a bundle of so many GB, which needs that much disk space")
	return cmd
}
