// Package compliance compares this host with the compliance baseline.
package compliance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/verify/nodereport"
)

// Result contains the state of the controls on this host.
type Result struct {
	Benchmark string              `json:"benchmark"`
	Controls  []kubeadm.Finding   `json:"controls"`
	LeftOpen  []kubeadm.Exception `json:"leftOpen"`
}

// Read reads the effective settings of this host. keys are the values of --require-key.
func Read(ctx context.Context, keys []string) (Result, error) {
	if err := hostcheck.MustBeInstalled("compliance"); err != nil {
		return Result{}, err
	}
	c, err := site.LocalConfig(keys)
	if err != nil {
		return Result{}, err
	}
	found, err := kubeadm.Compliance(ctx, site.ThisMachine(), c.Kubernetes, nodereport.LocalKubelet().Config)
	if err != nil {
		return Result{}, err
	}
	here := slices.DeleteFunc(found, func(f kubeadm.Finding) bool { return f.State == kubeadm.Elsewhere })
	if len(here) == 0 {
		return Result{}, advice.Add(errors.New("read the baseline: this host has no files of a cluster"), "run airgap compliance on a node")
	}
	return Result{kubeadm.Benchmark, here, kubeadm.Exceptions()}, nil
}

// Compliant reports whether no control differs or is unknown.
func (r Result) Compliant() bool { return r.count(kubeadm.Differs)+r.count(kubeadm.Unknown) == 0 }

func (r Result) count(s kubeadm.State) int {
	n := 0
	for _, f := range r.Controls {
		if f.State == s {
			n++
		}
	}
	return n
}

// Write prints one line for each control, and their numbers.
func (r Result) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range r.Controls {
		name := fmt.Sprintf("%s %s", f.Part, f.Name)
		if f.Part == kubeadm.Files || f.Part == kubeadm.Contents {
			name = f.Name
		}
		found := cmp.Or(f.Found, "not set")
		if f.State != kubeadm.Compliant {
			found += ", want " + f.Expected()
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", f.State, f.ID, name, found)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s: %d compliant, %d chosen in airgap.yaml, %d differ, %d unknown; %d recommendations are left open, with reasons (--output json)\n",
		r.Benchmark, r.count(kubeadm.Compliant), r.count(kubeadm.Chosen), r.count(kubeadm.Differs), r.count(kubeadm.Unknown), len(r.LeftOpen))
	return err
}
