package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/exitcode"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/verify/nodereport"
)

// compliance is what this host has of the baseline.
type compliance struct {
	Benchmark string            `json:"benchmark"`
	Controls  []kubeadm.Finding `json:"controls"`
	LeftOpen  []kubeadm.Open    `json:"leftOpen"`
}

func (a *app) compliance() *cobra.Command {
	var keys []string
	cmd := &cobra.Command{
		Use:   "compliance",
		Short: "Compare this server with the compliance baseline",
		Long: `Reads back what this server effectively has of the compliance baseline: arguments
of the programs that run, what the files say that these name, the kubelet's
configuration as the kubelet itself reports it, modes of files. The numbers
are those of the ` + kubeadm.Benchmark + `. A value that airgap.yaml
chooses is shown as chosen, one that could not be read as unknown. Nothing is
changed.

Exit code 4 when something differs from both, or is unknown.`,
		Example: "  airgap compliance\n  airgap compliance --output json > $(hostname).json",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runCompliance(cmd.Context(), keys) },
	}
	keyFlags(cmd, &keys)
	return cmd
}

func (a *app) runCompliance(ctx context.Context, keys []string) error {
	if err := hostcheck.MustBeRoot("compliance"); err != nil {
		return err
	}
	c, err := hostConfig(keys)
	if err != nil {
		return err
	}
	found, err := kubeadm.Compliance(ctx, site.ThisMachine(), c.Kubernetes, nodereport.LocalKubelet().Config)
	if err != nil {
		return err
	}
	here := slices.DeleteFunc(found, func(f kubeadm.Finding) bool { return f.State == kubeadm.Elsewhere })
	if len(here) == 0 {
		return advice.Add(errors.New("read the baseline back: nothing of a cluster is on this host"), "run it on a node")
	}
	result := compliance{kubeadm.Benchmark, here, kubeadm.LeftOpen()}
	if err := a.print(result, result.write); err != nil {
		return err
	}
	if result.count(kubeadm.Differs)+result.count(kubeadm.Unknown) > 0 {
		return &coded{exitcode.Verify, errShown}
	}
	return nil
}

func (c compliance) count(s kubeadm.State) int {
	n := 0
	for _, f := range c.Controls {
		if f.State == s {
			n++
		}
	}
	return n
}

func (c compliance) write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range c.Controls {
		what := fmt.Sprintf("%s %s", f.Part, f.Name)
		if f.Part == kubeadm.Files || f.Part == kubeadm.Contents {
			what = f.Name
		}
		found := cmp.Or(f.Found, "not set")
		if f.State != kubeadm.Holds {
			found += ", want " + f.Wanted()
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", f.State, f.ID, what, found)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s: %d hold, %d chosen in airgap.yaml, %d differ, %d unknown; %d recommendations are left open, with reasons (--output json)\n",
		c.Benchmark, c.count(kubeadm.Holds), c.count(kubeadm.Chosen), c.count(kubeadm.Differs), c.count(kubeadm.Unknown), len(c.LeftOpen))
	return err
}

// hostConfig is the configuration of the cluster that this host belongs to:
// from the index that it joined with, or from the bundle in its store.
func hostConfig(keys []string) (*config.Cluster, error) {
	if !site.Exists(site.IndexDir) {
		s, err := site.Stored(keys, "")
		if err != nil {
			return nil, err
		}
		return s.Config, nil
	}
	t, err := site.TrustedKeys(keys, site.IndexDir)
	if err != nil {
		return nil, err
	}
	index, err := bundle.ReadIndex(site.IndexDir, t.Keys...)
	if err != nil {
		return nil, t.Explain(err)
	}
	return config.ParseStored("airgap.yaml of bundle "+index.Name, []byte(index.Config))
}
