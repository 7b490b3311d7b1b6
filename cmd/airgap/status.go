package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/registry"
)

// status is what this host has of airgap.
type status struct {
	Bundles  []storedBundle `json:"bundles"`
	Steps    []stepStatus   `json:"steps"`
	Registry string         `json:"registry"` // "answers", "silent: …", "none"
	Problems []string       `json:"problems,omitempty"`
}

// stepStatus is the last thing the journal says about a step.
type stepStatus struct {
	Step  string    `json:"step"`
	Event string    `json:"event"`
	Time  time.Time `json:"time"`
	Error string    `json:"error,omitempty"`
}

func (a *app) status() *cobra.Command {
	var keys []string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what airgap has installed on this server",
		Long: `Shows the bundles in this server's store, what the journal says about each step,
and whether the registry answers. Nothing is changed.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := readStatus(cmd.Context(), keys)
			if err != nil {
				return err
			}
			return a.print(s, s.write)
		},
	}
	keyFlags(cmd, &keys)
	return cmd
}

func readStatus(ctx context.Context, keyFiles []string) (*status, error) {
	entries, err := step.OpenJournal(journalFile).Entries()
	if err != nil {
		return nil, err
	}
	s := &status{Steps: lastOfEach(entries), Registry: "none"}
	if stored, err := (registry.Store{Dir: storeDir}).List(); err != nil || len(stored) == 0 {
		return s, err
	}
	keys, err := trustedKeys(keyFiles)
	if err != nil {
		return nil, err
	}
	bundles, err := registry.Store{Dir: storeDir}.Open(keys...)
	if err != nil {
		s.Problems = append(s.Problems, err.Error())
	}
	for _, b := range bundles {
		defer b.Close()
		s.Bundles = append(s.Bundles, describe(b))
	}
	if len(bundles) > 0 {
		s.Registry = registryState(ctx, keyFiles)
	}
	return s, nil
}

// lastOfEach keeps the newest entry of each step, in the order they first ran.
func lastOfEach(entries []step.Entry) []stepStatus {
	var all []stepStatus
	at := map[string]int{}
	for _, e := range entries {
		now := stepStatus{Step: e.Step, Event: e.Event, Time: e.Time, Error: e.Error}
		if i, ok := at[e.Step]; ok {
			all[i] = now
			continue
		}
		at[e.Step] = len(all)
		all = append(all, now)
	}
	return all
}

func registryState(ctx context.Context, keyFiles []string) string {
	s, err := storedSite(keyFiles, "")
	if err != nil {
		return "unknown: " + err.Error()
	}
	client, err := s.registryClient()
	if err != nil {
		return "unknown: " + err.Error()
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := client.Health(ctx); err != nil {
		return "silent: " + err.Error()
	}
	return "answers at " + s.registryAddr()
}

func (s *status) write(w io.Writer) error {
	fmt.Fprintf(w, "registry  %s\n", s.Registry)
	if err := writeBundles(w, s.Bundles); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, e := range s.Steps {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", e.Step, e.Event, e.Time.Local().Format("2006-01-02 15:04:05"), e.Error)
	}
	if len(s.Steps) == 0 {
		fmt.Fprintln(t, "nothing was installed on this host by airgap")
	}
	for _, p := range s.Problems {
		fmt.Fprintf(t, "problem: %s\n", p)
	}
	return t.Flush()
}
