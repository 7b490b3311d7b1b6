package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/preflight"
)

func (a *app) survey() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "survey",
		Short: "Write down the facts of this server, for the bundle",
		Long: `Reads what this server is: OS, kernel, installed packages, cgroups, network,
disks, PCI devices. Nothing is changed, and most of it needs no root; what could
not be read is listed under "unknown".

Carry the file to the connected host: airgap bundle --facts DIR then bundles
exactly what this server lacks.`,
		Example: "  airgap survey --file /media/stick/facts/$(hostname).facts.yaml",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out != "" && a.output != asText {
				return usage("airgap survey: --file is always written as YAML; leave --output away")
			}
			facts, err := preflight.Gather(cmd.Context(), host.Local{})
			if err != nil {
				return err
			}
			if out != "" {
				return a.saveFacts(facts, out)
			}
			return a.print(facts, func(w io.Writer) error { return facts.Write(w) })
		},
	}
	cmd.Flags().StringVar(&out, "file", "", "write the facts to this file instead of stdout")
	return cmd
}

func (a *app) saveFacts(facts *preflight.Facts, path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return hint(fmt.Errorf("write facts: %w", err), "remove the old facts first, or choose another name")
	}
	if err != nil {
		return fmt.Errorf("write facts: %w", err)
	}
	if err := errors.Join(facts.Write(f), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write facts: %w", errors.Join(err, os.Remove(path)))
	}
	fmt.Fprintf(a.stderr, "wrote %s: %s %s, kernel %s, %d packages%s\n",
		path, facts.OS.ID, facts.OS.Version, facts.Kernel.Release, len(facts.Packages), withGPUs(facts))
	return nil
}

func withGPUs(facts *preflight.Facts) string {
	if found := gpu.Summary(gpu.Detect(facts.PCI)); found != "" {
		return ", " + found
	}
	return ""
}
