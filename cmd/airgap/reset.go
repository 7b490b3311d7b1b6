package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/registry"
)

func (a *app) reset() *cobra.Command {
	var yes, wipe bool
	var keys []string
	var node string
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Take back what airgap did to this server",
		Long: `Takes back the steps of install or join, last first: the cluster's membership and
data on this host, the runtime, the settings, the packages that airgap installed,
the registry. The bundle's copy stays unless --wipe-store is given.

Pods, and etcd's data on a control-plane host, are gone afterwards.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := mustBeRoot("reset"); err != nil {
				return err
			}
			if !yes {
				if err := a.confirm("Everything that runs on this host's part of the cluster is lost. Type yes to go on: "); err != nil {
					return err
				}
			}
			return a.runReset(cmd.Context(), keys, node, wipe)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&wipe, "wipe-store", false, "delete the bundles in "+storeDir+" too")
	cmd.Flags().StringVar(&node, "node", "", "which node of airgap.yaml this host is; default: by its addresses")
	keyFlags(cmd, &keys)
	return cmd
}

func (a *app) confirm(question string) error {
	fmt.Fprint(a.stderr, question)
	answer, err := bufio.NewReader(io.LimitReader(a.stdin, 64)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if strings.TrimSpace(answer) != "yes" {
		return usage("not confirmed; nothing was changed")
	}
	return nil
}

func (a *app) runReset(ctx context.Context, keys []string, node string, wipe bool) error {
	release, err := lockHost()
	if err != nil {
		return err
	}
	defer release()
	p := a.newProgress()
	defer p.Close()
	steps, err := resetSteps(keys, node, wipe)
	if err != nil {
		return err
	}
	if len(steps) == 0 {
		a.printf("nothing to take back: airgap did not begin anything on this host\n")
		return nil
	}
	if failed := undoSteps(ctx, steps, p); len(failed) > 0 {
		return hint(errors.Join(failed...), "mend it and run airgap reset again")
	}
	if err := ignoreNotExist(os.Remove(journalFile)); err != nil {
		return err
	}
	a.printf("taken back: %d steps\n", len(steps))
	return nil
}

// resetSteps are the steps that the journal says were begun here, in their
// order. The list of steps is the one that install and join use.
func resetSteps(keys []string, node string, wipe bool) ([]step.Step, error) {
	entries, err := step.OpenJournal(journalFile).Entries()
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	all, err := stepsOfThisHost(keys, node)
	if err != nil {
		return nil, err
	}
	begun := map[string]bool{}
	for _, e := range entries {
		begun[e.Step] = true
	}
	var steps []step.Step
	for _, s := range all {
		if begun[s.Name] && (s.Name != storeStep || wipe) {
			steps = append(steps, s)
		}
	}
	return steps, nil
}

// storeStep is the one step whose undo is asked for separately: copying a
// bundle again may take an hour.
const storeStep = "store"

// stepsOfThisHost are install's on a host with a store, else join's.
func stepsOfThisHost(keyFiles []string, node string) ([]step.Step, error) {
	keys, err := trustedKeys(keyFiles)
	if err != nil {
		return nil, err
	}
	bundles, err := registry.Store{Dir: storeDir}.Open(keys...)
	if len(bundles) == 0 && err == nil {
		s, err := joinedSite(keyFiles, node)
		if err != nil {
			return nil, err
		}
		return s.joinSteps(&hub{}, nil), nil
	}
	if len(bundles) == 0 {
		return nil, err
	}
	newest := newestOf(bundles)
	s, err := newSite(newest.Index(), node)
	if err != nil {
		return nil, err
	}
	return s.installSteps(newest, keys, nil), nil
}

func newestOf(bundles []*bundle.Bundle) *bundle.Bundle {
	newest := bundles[0]
	for _, b := range bundles {
		if b.Index().Created.After(newest.Index().Created) {
			newest = b
		}
	}
	return newest
}
